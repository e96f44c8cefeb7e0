"""MTurk as a platform: one posting for each hit, or several of at most nine assignments if the hit needs more."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.utils import timezone

from annotation.languages import marked
from annotation.models import Assignment, OutsideAssignment, PlatformAccount, PlatformCall, Posting, Study
from annotation.platforms.base import (
    BadArrival,
    Claim,
    Finish,
    Platform,
    Reported,
    annotation_of,
    posting_url,
    unposted_hits,
)
from annotation.platforms.calls import ANY_REFUSAL, Call, Json, PlatformTrouble, PostingGone, Search
from annotation.platforms.costs import Cost, Fees, Offered, cost_of, parts_of, reward_problems
from annotation.platforms.listings import has_own_group, is_bounded, listed_at, lowest_reward
from annotation.platforms.mturk import api, beyond
from annotation.platforms.mturk.config import MturkConfig, MturkForm, asked_for
from common.problems import Problem, invalid
from common.words import hours_in_words, money

MOST_PER_PAGE = 100
MOST_FEEDBACK = 1024
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
OutsideState = OutsideAssignment.State
_STATES = {"Submitted": OutsideState.SUBMITTED, "Approved": OutsideState.APPROVED, "Rejected": OutsideState.REJECTED}


class Mturk(Platform):
    """The endpoint of the account, or of HITSERVER_MTURK_ENDPOINT, through a boto3 client."""

    name = "mturk"
    title = "MTurk"
    form = MturkForm
    unit = "HIT"
    qualifies = True
    writes = True
    has_accounts = True
    task = "HIT"
    way_out = marked("Please return this HIT.")
    token_field = "UniqueRequestToken"  # noqa: S105 - the name of a parameter
    #: The endpoint remembers tokens for 24 hours.
    token_life = timedelta(hours=23)

    def __init__(self, client: Any) -> None:
        self._client = client

    @classmethod
    def connected(cls, account: PlatformAccount | None = None) -> Mturk:
        return cls.of(api.Account.of(account)).paid_by(account)

    @classmethod
    def for_check(cls, account: PlatformAccount) -> Mturk:
        return cls(api.make_client(api.Account.of(account), attempts=1)).paid_by(account)

    @classmethod
    def offline(cls, account: PlatformAccount | None = None) -> Mturk:
        return cls(None).paid_by(account)

    @classmethod
    def of(cls, account: api.Account) -> Mturk:
        return cls(api.client_for(account))

    def call(self, operation: str, **params: Any) -> Json:
        return api.call(self._client, operation, params, self.account)

    def pages(self, operation: str, key: str, *, most: int | None = None, **params: Any) -> Iterator[Json]:
        """All entries of a list, read page by page. The list may change in between.

        MTurk names a next page until one is empty. With ``most`` entries there can be no more, so none is asked for.
        """
        token: str | None = None
        n_read = 0
        while True:
            next_page = {"NextToken": token} if token else {}
            answer = self.call(operation, MaxResults=MOST_PER_PAGE, **next_page, **params)
            rows = answer.get(key, ())
            n_read += len(rows)
            yield from rows
            token = answer.get("NextToken")
            if not token or (most is not None and n_read >= most and len(rows) < MOST_PER_PAGE):
                return

    def endpoint(self) -> str:
        return self.account.endpoint if self.account else str(django_settings.MTURK_ENDPOINT)

    def balance(self, settings: Json | None = None) -> Decimal:
        return Decimal(str(self._account()["AvailableBalance"]))

    def objections(self) -> Mapping[str, str]:
        return beyond.read(self._account()).objections

    def _account(self) -> Json:
        """The answer about the account. What a HITServer marketplace adds about its fees is kept for forecasts."""
        answer = self.call("get_account_balance")
        beyond.keep_fees(self.endpoint(), beyond.read(answer).fees)
        return answer

    @staticmethod
    def kept(answer: Json) -> Json:
        """The ids in the answer."""
        hit = answer.get("HIT", {})
        ids: Json = {name: answer[name] for name in ("HITTypeId", "NotifyWorkersFailureStatuses") if name in answer}
        if "QualificationType" in answer:
            ids["QualificationTypeId"] = answer["QualificationType"]["QualificationTypeId"]
        return ids | {name: hit[name] for name in ("HITId", "HITTypeId", "HITGroupId") if name in hit}

    # --- before anything is posted ---

    def problems(self, study: Study, settings: Json, offered: Sequence[Offered]) -> list[Problem]:
        problems = reward_problems(sorted({hits.reward for hits in offered}))
        if any(hits.reward <= 0 for hits in offered):
            problems.append(Problem("reward", "A hit pays nothing.", "MTurk needs a reward of at least $0.01."))
        return problems

    def fees(self) -> Fees:
        """The fees of the endpoint, which is asked once if it is connected and not Amazon's."""
        endpoint = self.endpoint()
        if self._client is not None and beyond.is_unknown(endpoint):
            beyond.keep_fees(endpoint, ())  # also if it does not answer
            with suppress(PlatformTrouble):
                self._account()
        return beyond.fees_of(endpoint)

    def cost(self, offered: Sequence[Offered], settings: Json) -> Cost:
        config = MturkConfig(**settings)
        price = listed_at(offered, settings)
        split = self.splits(config)
        return cost_of(offered, fees=self.fees(), split=split, masters=config.masters, listed_at=price)

    def splits(self, config: MturkConfig) -> bool:
        """Whether hits of ten or more submissions are offered as HITs of at most nine: only where that costs less."""
        return config.split and self.fees().more_from_ten

    def remarks(self, offered: Sequence[Offered], settings: Json) -> list[str]:
        remarks = super().remarks(offered, settings)
        if not settings["split"]:
            return remarks
        saved = self.cost(offered, settings | {"split": False}).total - self.cost(offered, settings).total
        return [*remarks, *([f"Offered in HITs of at most 9, which saves {money(saved)}."] if saved > 0 else [])]

    # --- publish ---

    def plan(self, study: Study, settings: Json) -> list[Posting]:
        """With one listing, HITs are posted in a random order, because the platform decides who gets which HIT."""
        config = MturkConfig(**settings)
        split, price = self.splits(config), lowest_reward(study) if config.one_listing else None
        planned = [
            Posting(
                study=study,
                hit=hit,
                platform=self.name,
                account=self.account,
                part=part,
                wanted=wanted,
                reward=price or hit.reward,
            )
            for hit in unposted_hits(study, self.name)
            for part, wanted in enumerate(parts_of(hit.wanted, split=split))
        ]
        if config.one_listing:
            random.Random(f"{study.seed}/{len(planned)}").shuffle(planned)  # noqa: S311 - must be reproducible
        return planned

    def publish(self, posting: Posting, settings: Json) -> Sequence[Call]:
        """The calls for the HIT type (the platform reuses identical types), then for the HIT.

        HITs of one type are one group for workers. A hit in several parts has its own type, because its parts ask for
        their own qualification.
        """
        config, reward, study = MturkConfig(**settings), posting.pays, posting.study
        hit = posting.hit if posting.hit and has_own_group(posting.hit, self.name) else None
        asks = f"{'/limit' if is_bounded(study, self.name) else ''}{f'/hit-{hit.pk}' if hit else ''}"
        hit_type = Call(
            key=f"hit-type/{study.pk}/{reward}{asks}{self.own_mark}",
            operation="create_hit_type",
            params=lambda done: config.hit_type(study, reward, hit, self.account),
            with_token=False,
        )
        offer = Call(
            key=f"hit/{posting.pk}",
            operation="create_hit_with_hit_type",
            params=lambda done: config.hit(
                hit_type_id=done[0]["HITTypeId"],
                url=posting_url(posting),
                wanted=posting.wanted or 1,
                annotation=annotation_of(posting),
            ),
            search=self._find_hit,
            search_on=api.TOKEN_USED,
        )
        return hit_type, offer

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
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], server_origin: str) -> Claim | None:
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
        return Claim(cls.name, worker, assignment, submit_to(query.get("turkSubmitTo", ""), server_origin))

    @classmethod
    def payment_words(cls, settings: Json) -> str:
        hours = settings.get("approve_after_hours")
        hours = MturkConfig().approve_after_hours if hours is None else hours
        if hours == 0:
            return "You are paid on the site where you accepted the HIT, as soon as you submit your work."
        return (
            "You are paid on the site where you accepted the HIT, as soon as the researchers approve your work, and at "
            f"the latest {hours_in_words(hours)} after you submit it, unless they reject it."
        )

    @classmethod
    def paper_name(cls, account: PlatformAccount | None = None) -> str:
        amazon = "amazonaws.com" in cls.offline(account).endpoint()
        return "Amazon Mechanical Turk" if amazon else "a marketplace with the interface of Mechanical Turk"

    @classmethod
    def asked_for(cls, settings: Json) -> list[tuple[str, str]]:
        return asked_for(settings)

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
            operation, params = "list_assignments_for_hit", {"HITId": posting.external_id}
            rows = list(self.pages(operation, "Assignments", most=posting.wanted, **params))
        except PlatformTrouble as trouble:
            if trouble.code not in api.GONE:
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
        return [_call(key, "approve_assignment", params, search, ANY_REFUSAL)]

    def reject(self, outside: OutsideAssignment, *, feedback: str, category: str) -> Sequence[Call]:
        if len(feedback) > MOST_FEEDBACK:
            what = f"The reason is {len(feedback):,} characters long."
            raise invalid("feedback", what, f"Shorten it to {MOST_FEEDBACK:,}.")
        params = {"AssignmentId": outside.external_id, "RequesterFeedback": feedback}
        search = self._decided_before(outside, "Rejected")
        return [_call(f"reject/{outside.pk}", "reject_assignment", params, search, ANY_REFUSAL)]

    def bonus(self, outside: OutsideAssignment, *, amount: Decimal, reason: str, key: str) -> Sequence[Call]:
        params = {
            "WorkerId": outside.worker_id,
            "AssignmentId": outside.external_id,
            "BonusAmount": str(amount),
            "Reason": reason,
        }
        call = _call(f"bonus/{outside.pk}/{key}", "send_bonus", params, self._paid_before, ANY_REFUSAL)
        return [replace(call, with_token=True)]

    def block(self, worker_id: str, *, reason: str) -> Sequence[Call]:
        return [
            _call(f"block/{worker_id}{self.own_mark}", "create_worker_block", {"WorkerId": worker_id, "Reason": reason})
        ]

    def send_message(self, posting: Posting, worker_id: str, *, text: str, key: str) -> Sequence[Call]:
        subject = f"About “{posting.study.title}”"[: self.most_subject]
        return self.message(posting, [worker_id], subject=subject, text=text, key=key)

    def message(self, posting: Posting, workers: Sequence[str], *, subject: str, text: str, key: str) -> Sequence[Call]:
        """MTurk writes to 100 workers at a time, and only to those whose work was approved or rejected before."""
        return [
            _call(
                f"message/{key}/{start}",
                "notify_workers",
                {"Subject": subject, "MessageText": text, "WorkerIds": list(workers[start : start + MOST_PER_PAGE])},
            )
            for start in range(0, len(workers), MOST_PER_PAGE)
        ]

    def not_reached(self, results: Sequence[Json]) -> Mapping[str, str]:
        failures = [failure for result in results for failure in result.get("NotifyWorkersFailureStatuses", ())]
        return {
            str(failure.get("WorkerId", "")): str(failure.get("NotifyWorkersFailureMessage", ""))
            for failure in failures
        }

    def qualification(self, *, key: str, name: str, description: str) -> Sequence[Call]:
        """If it exists, the account's own one with exactly this name counts, on any page of the list."""

        def search(call: PlatformCall) -> Json | None:
            query: Json = {"Query": name, "MustBeRequestable": False, "MustBeOwnedByCaller": True}
            for qualification_type in self.pages("list_qualification_types", "QualificationTypes", **query):
                if qualification_type["Name"] == name:
                    return {"QualificationTypeId": qualification_type["QualificationTypeId"]}
            return None

        params = {"Name": name, "Description": description, "QualificationTypeStatus": "Active"}
        return [_call(key, "create_qualification_type", params, search, ("AlreadyExists", "Duplicate"))]

    def qualification_id(self, results: Sequence[Json]) -> str:
        return str(results[-1]["QualificationTypeId"])

    def grant(self, qualification: str, worker_id: str, *, value: int, key: str) -> Sequence[Call]:
        params = {"QualificationTypeId": qualification, "WorkerId": worker_id, "IntegerValue": value}
        params["SendNotification"] = False
        return [_call(key, "associate_qualification_with_worker", params)]

    def revoke(self, qualification: str, worker_id: str, *, key: str) -> Sequence[Call]:
        params = {"QualificationTypeId": qualification, "WorkerId": worker_id}
        return [_call(key, "disassociate_qualification_from_worker", params)]

    def _paid_before(self, call: PlatformCall) -> Json | None:
        """Whether the platform has one more such bonus than the calls known to have succeeded."""
        params = call.params
        done = PlatformCall.objects.filter(operation="send_bonus", params=params, state=PlatformCall.State.DONE).count()
        payments = [
            payment
            for payment in self.pages("list_bonus_payments", "BonusPayments", AssignmentId=params["AssignmentId"])
            if (payment["WorkerId"], Decimal(payment["BonusAmount"]), payment["Reason"])
            == (params["WorkerId"], Decimal(params["BonusAmount"]), params["Reason"])
        ]
        return {} if len(payments) > done else None

    def _decided_before(self, outside: OutsideAssignment, status: str) -> Search:
        """Whether the platform already has this decision."""

        def search(call: PlatformCall) -> Json | None:
            assignment = self.call("get_assignment", AssignmentId=outside.external_id)["Assignment"]
            same_worker = assignment["WorkerId"] == outside.worker_id
            return {} if same_worker and assignment["AssignmentStatus"] == status else None

        return search


def _call(
    key: str, operation: str, params: Json, search: Search | None = None, search_on: tuple[str, ...] = ()
) -> Call:
    return Call.fixed(key, operation, params, search=search, search_on=search_on, with_token=False)


def submit_to(address: str, server_origin: str) -> str:
    """The address to report to that the work is done; empty if ``address`` is on a site that is not allowed."""
    allowed = {
        server_origin,
        origin(django_settings.BASE_URL),
        *(origin(site) for site in django_settings.MTURK_SUBMIT_SITES),
    }
    return address.rstrip("/") if origin(address) in allowed and len(address) <= 400 else ""


def origin(url: str) -> str:
    """Scheme and host of an address; “://” if it is not one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "://"
    return f"{parts.scheme}://{parts.netloc}"
