"""Something wrong for each operation about a running study, and what the client's exception says about it."""

from __future__ import annotations

from tests.client.support.calls import DUE
from tests.client.support.wrong_calls import Wrong

ON_THE_WORK: dict[str, Wrong] = {
    "platforms_publish": (
        lambda w: w.live.publish("crowd"),
        "platform: “crowd” cannot be used. Choose one of mturk, prolific, panel.",
    ),
    "platforms_study": (
        lambda w: w.hits.transport.get("studies/none/platform/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "platforms_audience": (lambda w: w.live.audience("mturk"), "There is no platform “mturk” with filters."),
    "platforms_add_ratings": (
        lambda w: w.live.add_ratings(0),
        "status: This study is on no platform. Publish it first.",
    ),
    "platforms_budget": (lambda w: w.live.set_budget("-1"), "budget: It is less than 0. Send 0 or more."),
    "platforms_compensate": (
        lambda w: w.live.compensate(999, amount="0", reason=""),
        "reason: It is empty. Write a text.",
    ),
    "platforms_continue": (
        lambda w: w.live.continue_publishing(),
        "status: This study is on no platform. Publish it first.",
    ),
    "platforms_delete": (lambda w: w.live.delete_postings(), "status: This study is on no platform. Publish it first."),
    "platforms_differences": (
        lambda w: w.hits.transport.get("studies/none/platform/differences/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "platforms_end": (lambda w: w.live.end(), "status: This study is on no platform. Publish it first."),
    "platforms_extend": (lambda w: w.live.extend(0), "status: This study is on no platform. Publish it first."),
    "platforms_fetch": (
        lambda w: w.live.fetch(999),
        "outside: There is no work 999 that only the platform has. Get what can be repaired from",
    ),
    "platforms_replace_lost": (
        lambda w: w.live.replace_lost(),
        "status: This study is on no platform. Publish it first.",
    ),
    "platforms_sync": (lambda w: w.live.sync(), "status: This study is on no platform. Publish it first."),
    "submissions_list": (
        lambda w: list(w.live.submissions(show="best")),
        "show: “best” cannot be used. Choose one of all, flagged, excluded, rules, extra, included,",
    ),
    "submissions_get": (
        lambda w: w.live.submission(999),
        "id: There is no submission “999” that you can see. Get the list: /api/v1/studies/live/submissions/",
    ),
    "submissions_approve": (
        lambda w: w.live.approve(999),
        "id: There is no submission “999” that you can see. Get the list: /api/v1/studies/live/submissions/",
    ),
    "submissions_bonus": (
        lambda w: w.live.bonus(999, amount="-1", reason=""),
        "id: There is no submission “999” that you can see. Get the list: /api/v1/studies/live/submissions/",
    ),
    "submissions_exclude": (
        lambda w: w.live.exclude(999),
        "id: There is no submission “999” that you can see. Get the list: /api/v1/studies/live/submissions/",
    ),
    "submissions_include": (
        lambda w: w.live.include(999),
        "id: There is no submission “999” that you can see. Get the list: /api/v1/studies/live/submissions/",
    ),
    "submissions_reject": (
        lambda w: w.live.reject(999, reason=""),
        "id: There is no submission “999” that you can see. Get the list: /api/v1/studies/live/submissions/",
    ),
    "submissions_approve_many": (
        lambda w: w.live.approve([999]),
        "ids: 1 submission of the list is not in this study. Leave out: 999.",
    ),
    "submissions_bonus_many": (
        lambda w: w.live.bonus([999], amount="0.005", reason="x"),
        "amount: It has more than 2 decimals. Round it to 2 decimals.",
    ),
    "submissions_exclude_many": (lambda w: w.live.exclude([]), "ids: It is too short. Send at least 1 entry."),
    "submissions_include_many": (
        lambda w: w.live.include(["first"]),  # type: ignore[list-item]  # that is what is wrong
        "ids.1: It is not a whole number. Send a number without decimals.",
    ),
    "submissions_reject_many": (lambda w: w.live.reject([999], reason=" "), "reason: It is empty. Write a text."),
    "decisions_upload": (
        lambda w: w.live.decide([{"Assignment": "A1", "Approve": "x"}]),
        "items, column AssignmentId: There is no column “AssignmentId”. Download the results file again and",
    ),
    "decisions_file": (
        lambda w: w.hits.transport.download("studies/none/decisions.csv", w.folder / "x.csv", progress=False),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "coding_list": (
        lambda w: list(w.hits.transport.rows("studies/live/coding/", differ="perhaps")),
        "This type of study has no answers to settle.",
    ),
    "coding_settle": (lambda w: w.live.coding.settle("s0", []), "This type of study has no answers to settle."),
    "edits_list": (
        lambda w: list(w.hits.transport.rows("studies/live/edits/", submission="first")),
        "submission: “first” cannot be used. Write a whole number from 1.",
    ),
    "workers_list": (
        lambda w: list(w.hits.transport.rows("studies/live/workers/", excluded="perhaps")),
        "excluded: “perhaps” is neither true nor false. Write excluded=true, or leave it out.",
    ),
    "workers_get": (
        lambda w: w.live.worker("w-none"),
        "pseudonym: There is no worker “w-none” that you can see. Get the list: /api/v1/studies/live/workers/",
    ),
    "workers_exclude": (
        lambda w: w.live.exclude_worker("w-none"),
        "pseudonym: There is no worker “w-none” that you can see. Get the list: /api/v1/studies/live/workers/",
    ),
    "workers_include": (
        lambda w: w.live.include_worker("w-none"),
        "pseudonym: There is no worker “w-none” that you can see. Get the list: /api/v1/studies/live/workers/",
    ),
    "workers_message": (lambda w: w.live.message("w-none", ""), "text: It is empty. Write a text."),
    "workers_message_all": (
        lambda w: w.live.message_all("Thanks"),
        "status: This study is on no platform that passes on messages. Write to them yourself.",
    ),
    "payments_list": (
        lambda w: list(w.live.payments(state="rich")),
        "state: “rich” cannot be used. Choose one of to_pay, to_approve, waiting, paid, partly_paid,",
    ),
    "payments_totals": (
        lambda w: w.hits.transport.get("studies/none/payments/totals/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "payments_due": (
        lambda w: w.live.due("w-none"),
        "This study has no worker “w-none”. Get the list: /api/v1/studies/live/workers/",
    ),
    "payments_mark_paid": (
        lambda w: w.live.mark_paid(DUE),
        "total: Nothing was marked as paid: the total changed while you looked. It is 0 hits and $0.00 now.",
    ),
    "payments_file": (
        lambda w: w.live.payment_file(w.folder / "p.csv", state="rich"),
        "state: “rich” cannot be used. Choose one of to_pay, to_approve, waiting, paid, partly_paid,",
    ),
    "quality_get": (
        lambda w: w.hits.transport.get("studies/none/quality/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "quality_check": (
        lambda w: w.hits.transport.post("studies/none/quality/check/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "quality_rules_get": (
        lambda w: w.hits.transport.get("studies/none/quality/rules/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "quality_rules_change": (
        lambda w: w.draft.set_quality_rules(exclude={"lazy": 1}),
        "exclude.lazy: There is no “lazy”. Known: gold_share_below, flags, different_flags.",
    ),
    "quality_queue": (
        lambda w: w.hits.transport.get("studies/none/review-queue/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "ratings_list": (
        lambda w: list(w.hits.transport.rows("studies/live/ratings/", cursor="x")),
        "cursor: This cursor cannot be read. Use the address in “next” as it is.",
    ),
    "exports_list": (
        lambda w: w.hits.transport.get("studies/none/exports/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "exports_make": (
        lambda w: w.live.make_export("longest", format="doc"),
        "kind: “longest” cannot be used. Choose one of long, wide, diversity-eval, outputs, offers, turns,",
    ),
    "exports_file": (
        lambda w: w.live.download("longest", w.folder / "long.csv"),
        "There is no export longest.csv. See the list of exports.",
    ),
    "reports_get": (
        lambda w: w.hits.transport.get("studies/live/report/", older="perhaps"),
        "older: “perhaps” is neither true nor false. Write older=true, or leave it out.",
    ),
    "reports_page": (
        lambda w: w.hits.transport.get("studies/none/report.html"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "reports_paper": (
        lambda w: w.hits.transport.get("studies/live/paper.zip", older="perhaps"),
        "older: “perhaps” is neither true nor false. Write older=true, or leave it out.",
    ),
}
