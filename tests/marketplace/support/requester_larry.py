"""A requester who works with larry 0.2, which names Amazon's address in its own code. Prints the results.

python requester_larry.py publish URL | review HIT_ID
"""

import json
import sys

import larry.mturk as mturk


def publish(url: str) -> dict[str, object]:
    mturk.use_sandbox()
    hit = mturk.create_hit(
        title="Rate a sentence",
        description="Read one sentence.",
        reward_cents=50,
        max_assignments=2,
        lifetime=3600,
        external_question=url,
        annotation={"batch": ["ü", 7]},
        qualification_requirements=[mturk.build_locale_requirement("In", locales=["US", "DE"])],
    )
    return {"balance": mturk.get_account_balance(), "hit": hit.hit_id, "url": mturk.client.meta.endpoint_url}


def review(hit_id: str) -> dict[str, object]:
    hit = mturk.get_hit(hit_id)
    submitted = list(mturk.list_assignments_for_hit(hit_id))
    mturk.approve(submitted[0].assignment_id, feedback="Thanks.")
    mturk.expire_hit(hit_id)
    return {
        "annotation": mturk.retrieve_requester_annotation(hit_id=hit_id),
        "answers": [assignment.answer for assignment in submitted],
        "statuses": [each.status for each in mturk.list_assignments_for_hit(hit_id)],
        "listed": [each.hit_id for each in mturk.list_hits()],
        "reward": hit["Reward"],
        "state": mturk.get_hit(hit_id).status,
    }


if __name__ == "__main__":
    print(json.dumps({"publish": publish, "review": review}[sys.argv[1]](sys.argv[2])))
