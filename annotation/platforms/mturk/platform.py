"""MTurk as a platform: one posting for each hit, or several of at most nine assignments if the hit needs more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, PlatformCall, Posting, Study
from annotation.platforms.base import (
    BadArrival,
    Call,
    Claim,
    Finish,
    Json,
    Platform,
    PlatformTrouble,
    PostingGone,
    Reported,
    Search,
    annotation_of,
    posting_url,
    unposted_hits,
)
from annotation.platforms.costs import MTURK, Cost, Fees, Offered, cost_of, parts_of, reward_problems
from annotation.platforms.mturk import api
from annotation.platforms.mturk.config import MturkConfig, MturkForm
from common.problems import Problem, invalid
from common.words import money

MOST_PER_PAGE = 100
MOST_FEEDBACK = 1024
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
#: Codes of a HIT that does not exist.
GONE = ("HITDoesNotExist", "HITNotExist")
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
OutsideState = OutsideAssignment.State
_STATES = {"Submitted": OutsideState.SUBMITTED, "Approved": OutsideState.APPROVED, "Rejected": OutsideState.REJECTED}


class Mturk(Platform):
    """The endpoint of HITSERVER_MTURK_ENDPOINT, through a boto3 client."""

    name = "mturk"
    title = "MTurk"
    form = MturkForm
    unit = "HIT"
    qualifies = True
    task = "HIT"
    way_out = "Please return this HIT."
    token_field = "UniqueRequestToken"  # noqa: S105 - the name of a parameter
    #: The endpoint remembers tokens for 24 hours.
    token_life = timedelta(hours=23)

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def connected(cls) -> Mturk:
        return cls.of(api.Account.from_settings())

    @classmethod
    def offline(cls) -> Mturk:
        return cls(None)

    @classmethod
    def of(cls, account: api.Account) -> Mturk:
        return cls(api.client_for(account))

    def call(self, operation: str, **params: Any) -> Json:
        return api.call(self._client, operation, params)

    def pages(self, operation: str, key: str, *, most: int | None = None, **params: Any) -> Iterator[Json]:
        """All entries of a list, read page by page. The list may change in between.

        MTurk names a next page until one is empty. With ``most`` entries there can be no more, so none is asked for.
        """
        token: str | None = None
        found = 0
        while True:
            more = {"NextToken": token} if token else {}
            answer = self.call(operation, MaxResults=MOST_PER_PAGE, **more, **params)
            rows = answer.get(key, ())
            found += len(rows)
            yield from rows
            token = answer.get("NextToken")
            if not token or (most is not None and found >= most and len(rows) < MOST_PER_PAGE):
                return

    def endpoint(self) -> str:
        return str(django_settings.MTURK_ENDPOINT)

    def balance(self) -> Decimal:
        return Decimal(str(self.call("get_account_balance")["AvailableBalance"]))

    @staticmethod
    def kept(answer: Json) -> Json:
        """The ids in the answer."""
        hit = answer.get("HIT", {})
        found: Json = {name: answer[name] for name in ("HITTypeId", "NotifyWorkersFailureStatuses") if name in answer}
        if "QualificationType" in answer:
            found["QualificationTypeId"] = answer["QualificationType"]["QualificationTypeId"]
        return found | {name: hit[name] for name in ("HITId", "HITTypeId", "HITGroupId") if name in hit}

    # --- before anything is posted ---

    def problems(self, study: Study, settings: Json, offered: Sequence[Offered]) -> list[Problem]:
        problems = reward_problems(sorted({each.reward for each in offered}))
        if any(each.reward <= 0 for each in offered):
            problems.append(Problem("reward", "A hit pays nothing.", "MTurk needs a reward of at least $0.01."))
        return problems

    def fees(self) -> Fees:
        return fees_of(self.endpoint())

    def cost(self, offered: Sequence[Offered], settings: Json) -> Cost:
        config = MturkConfig(**settings)
        return cost_of(offered, fees=self.fees(), split=config.split, masters=config.masters)

    def remarks(self, offered: Sequence[Offered], settings: Json) -> list[str]:
        if not settings["split"]:
            return []
        saved = self.cost(offered, settings | {"split": False}).total - self.cost(offered, settings).total
        return [f"Offered in HITs of at most 9, which saves {money(saved)}."] if saved > 0 else []

    # --- publish ---

    def plan(self, study: Study, settings: Json) -> list[Posting]:
        split = MturkConfig(**settings).split
        return [
            Posting(study=study, hit=hit, platform=self.name, part=part, wanted=wanted, reward=hit.reward)
            for hit in unposted_hits(study, self.name)
            for part, wanted in enumerate(parts_of(hit.wanted, split=split))
        ]

    def publish(self, posting: Posting, settings: Json) -> Sequence[Call]:
        """The calls for the HIT type (one for each reward: the platform reuses identical types), then for the HIT."""
        config, reward = MturkConfig(**settings), posting.pays
        hit_type = Call(
            key=f"hit-type/{posting.study_id}/{reward}",
            operation="create_hit_type",
            params=lambda done: config.hit_type(posting.study, reward),
            with_token=False,
        )
        hit = Call(
            key=f"hit/{posting.pk}",
            operation="create_hit_with_hit_type",
            params=lambda done: config.hit(
                hit_type_id=done[0]["HITTypeId"],
                url=posting_url(posting),
                wanted=posting.wanted or 1,
                annotation=annotation_of(posting),
            ),
            search=self._find_hit,
        )
        return hit_type, hit

    def posted(self, posting: Posting, settings: Json, results: Sequence[Json]) -> Json:
        return {
            "external_id": results[-1]["HITId"],
            "group_id": results[-1].get("HITGroupId", ""),
            "expires_at": timezone.now() + timedelta(days=MturkConfig(**settings).lifetime_days),
        }

    def _find_hit(self, call: PlatformCall) -> Json | None:
        """The HIT that an earlier try created, found by its annotation."""
        for hit in self.pages("list_hits", "HITs"):
            if hit.get("RequesterAnnotation") == call.params["RequesterAnnotation"]:
                return {name: hit[name] for name in ("HITId", "HITTypeId", "HITGroupId") if name in hit}
        return None

    def expire(self, posting: Posting) -> Sequence[Call]:
        """The end is part of the key, so that a HIT that was extended can be ended again."""
        end = int(posting.expires_at.timestamp()) if posting.expires_at else 0
        params = {"HITId": posting.external_id, "ExpireAt": 0}
        return [_call(f"expire/{posting.pk}/{end}", "update_expiration_for_hit", params)]

    def pause(self, posting: Posting, times: int) -> Sequence[Call]:
        """MTurk has no pause. The HIT ends now; `resume` offers it again until its old end."""
        params = {"HITId": posting.external_id, "ExpireAt": 0}
        return [_call(f"pause/{posting.pk}/{times}", "update_expiration_for_hit", params)]

    def resume(self, posting: Posting, times: int) -> Sequence[Call]:
        end = int(posting.expires_at.timestamp()) if posting.expires_at else 0
        params = {"HITId": posting.external_id, "ExpireAt": end}
        return [_call(f"resume/{posting.pk}/{times}", "update_expiration_for_hit", params)]

    # --- workers ---

    @classmethod
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], here: str) -> Claim | None:
        assignment = query.get("assignmentId", NOT_ACCEPTED)
        if assignment == NOT_ACCEPTED:
            return None
        worker = query.get("workerId", "")
        # A posting without a name may exist there: publishing stopped before it could store the name.
        same_hit = not posting.external_id or query.get("hitId", posting.external_id) == posting.external_id
        if not (_ID.fullmatch(worker) and _ID.fullmatch(assignment) and same_hit):
            raise BadArrival(
                "This address is not complete",
                "It should say who you are and which HIT you accepted. Open the HIT again from your list of accepted "
                "HITs.",
            )
        return Claim(cls.name, worker, assignment, submit_to(query.get("turkSubmitTo", ""), here))

    @classmethod
    def finish(cls, work: Assignment, settings: Json) -> Finish:
        code = work.participant.completion_code
        if not work.submit_to:
            return Finish(code)
        fields = {"assignmentId": work.platform_assignment_id, "completionCode": code}
        return Finish(code, f"{work.submit_to}/mturk/externalSubmit", fields)

    # --- afterwards ---

    def sync(self, posting: Posting) -> Iterator[Reported]:
        try:
            operation, about = "list_assignments_for_hit", {"HITId": posting.external_id}
            rows = list(self.pages(operation, "Assignments", most=posting.wanted, **about))
        except PlatformTrouble as trouble:
            if trouble.code not in GONE:
                raise
            raise PostingGone(trouble.what, trouble.fix, code=trouble.code) from trouble
        for row in rows:
            state = _STATES.get(str(row.get("AssignmentStatus")))
            if state is not None:
                yield Reported(
                    str(row["AssignmentId"]),
                    str(row["WorkerId"]),
                    state,
                    accepted_at=row.get("AcceptTime"),
                    submitted_at=row.get("SubmitTime"),
                    approves_itself_at=row.get("AutoApprovalTime"),
                    answer=str(row.get("Answer", "")),
                )

    def approve(self, outside: OutsideAssignment, *, feedback: str, override: bool) -> Sequence[Call]:
        params: Json = {"AssignmentId": outside.external_id}
        params |= {"RequesterFeedback": feedback[:MOST_FEEDBACK]} if feedback else {}
        params |= {"OverrideRejection": True} if override else {}
        key = f"{'override' if override else 'approve'}/{outside.pk}"
        search = self._decided_before(outside, "Approved")
        return [_call(key, "approve_assignment", params, search, ("InvalidAssignmentState",))]

    def reject(self, outside: OutsideAssignment, *, feedback: str, category: str) -> Sequence[Call]:
        if len(feedback) > MOST_FEEDBACK:
            what = f"The reason is {len(feedback):,} characters long."
            raise invalid("feedback", what, f"Shorten it to {MOST_FEEDBACK:,}.")
        params = {"AssignmentId": outside.external_id, "RequesterFeedback": feedback}
        search = self._decided_before(outside, "Rejected")
        return [_call(f"reject/{outside.pk}", "reject_assignment", params, search, ("InvalidAssignmentState",))]

    def bonus(self, outside: OutsideAssignment, *, amount: Decimal, reason: str, key: str) -> Sequence[Call]:
        params = {
            "WorkerId": outside.worker_id,
            "AssignmentId": outside.external_id,
            "BonusAmount": str(amount),
            "Reason": reason,
        }
        call = _call(f"bonus/{outside.pk}/{key}", "send_bonus", params, self._paid_before, ("AlreadyProcessed",))
        return [replace(call, with_token=True)]

    def block(self, worker_id: str, *, reason: str) -> Sequence[Call]:
        return [_call(f"block/{worker_id}", "create_worker_block", {"WorkerId": worker_id, "Reason": reason})]

    def qualification(self, *, key: str, name: str, description: str) -> Sequence[Call]:
        params = {"Name": name, "Description": description, "QualificationTypeStatus": "Active"}
        return [
            _call(key, "create_qualification_type", params, self._made_before(name), ("AlreadyExists", "Duplicate"))
        ]

    def _made_before(self, name: str) -> Search:
        """The account's own qualification with exactly this name, on any page of the list."""

        def search(call: PlatformCall) -> Json | None:
            about: Json = {"Query": name, "MustBeRequestable": False, "MustBeOwnedByCaller": True}
            for each in self.pages("list_qualification_types", "QualificationTypes", **about):
                if each["Name"] == name:
                    return {"QualificationTypeId": each["QualificationTypeId"]}
            return None

        return search

    def qualification_id(self, results: Sequence[Json]) -> str:
        return str(results[-1]["QualificationTypeId"])

    def grant(self, qualification: str, worker_id: str, *, value: int, key: str) -> Sequence[Call]:
        about = {"QualificationTypeId": qualification, "WorkerId": worker_id, "IntegerValue": value}
        params = about | {"SendNotification": False}
        return [_call(key, "associate_qualification_with_worker", params)]

    def revoke(self, qualification: str, worker_id: str, *, key: str) -> Sequence[Call]:
        params = {"QualificationTypeId": qualification, "WorkerId": worker_id}
        return [_call(key, "disassociate_qualification_from_worker", params)]

    def _paid_before(self, call: PlatformCall) -> Json | None:
        """Whether the platform has one more such bonus than the calls known to have succeeded."""
        params = call.params
        done = PlatformCall.objects.filter(operation="send_bonus", params=params, state=PlatformCall.State.DONE).count()
        there = [
            each
            for each in self.pages("list_bonus_payments", "BonusPayments", AssignmentId=params["AssignmentId"])
            if (each["WorkerId"], Decimal(each["BonusAmount"]), each["Reason"])
            == (params["WorkerId"], Decimal(params["BonusAmount"]), params["Reason"])
        ]
        return {} if len(there) > done else None

    def _decided_before(self, outside: OutsideAssignment, status: str) -> Search:
        """Whether the platform already has this decision."""

        def search(call: PlatformCall) -> Json | None:
            there = self.call("get_assignment", AssignmentId=outside.external_id)["Assignment"]
            return {} if (there["WorkerId"], there["AssignmentStatus"]) == (outside.worker_id, status) else None

        return search


def _call(
    key: str, operation: str, params: Json, search: Search | None = None, search_on: tuple[str, ...] = ()
) -> Call:
    return Call.fixed(key, operation, params, search=search, search_on=search_on, with_token=False)


def fees_of(endpoint: str) -> Fees:
    """Amazon's fees, or those of this server's own marketplace, which rounds each fee."""
    if not endpoint.startswith(f"{django_settings.BASE_URL}/marketplace/"):
        return MTURK
    few, many, masters = (
        Decimal(percent) / 100
        for percent in (
            django_settings.MARKETPLACE_FEE_PERCENT,
            django_settings.MARKETPLACE_FEE_PERCENT_MANY,
            django_settings.MARKETPLACE_FEE_PERCENT_MASTERS,
        )
    )
    return Fees(few, many, masters, Decimal("0.01") if few or many else Decimal(0), each_rounded=True)


def submit_to(given: str, here: str) -> str:
    """The address to report to that the work is done; empty if ``given`` is on a site that is not allowed."""
    known = {here, origin(django_settings.BASE_URL), *(origin(site) for site in django_settings.MTURK_SUBMIT_SITES)}
    return given.rstrip("/") if origin(given) in known and len(given) <= 400 else ""


def origin(url: str) -> str:
    """Scheme and host of an address; “://” if it is not one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "://"
    return f"{parts.scheme}://{parts.netloc}"
