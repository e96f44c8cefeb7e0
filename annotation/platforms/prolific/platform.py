"""Prolific as a platform: one posting for each reward, from which every participant gets the next free hit.

A submission on Prolific is one hit here. Pages of the documentation are named by their titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings as django_settings
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.dateparse import parse_datetime

from annotation.models import Assignment, OutsideAssignment, PlatformCall, Posting, Study
from annotation.platforms.base import (
    BadArrival,
    ByReward,
    Call,
    Claim,
    Finish,
    Json,
    PlatformTrouble,
    PostingGone,
    Reported,
    Search,
)
from annotation.platforms.costs import Fees, Offered, reward_problems
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.bonuses import bonus_calls
from annotation.platforms.prolific.config import ProlificConfig, ProlificForm, address_of
from common.problems import Problem, invalid, unknown

OutsideState = OutsideAssignment.State
#: “Submission object”. Work in progress is not reported, and neither is PROCESSING, which is between two states.
STATES = {
    "AWAITING REVIEW": OutsideState.SUBMITTED,
    "APPROVED": OutsideState.APPROVED,
    "PARTIALLY APPROVED": OutsideState.APPROVED,
    "REJECTED": OutsideState.REJECTED,
    "RETURNED": OutsideState.RETURNED,
    "TIMED-OUT": OutsideState.RETURNED,
    "SCREENED OUT": OutsideState.RETURNED,
}
#: “Approve or reject a submission”: a rejection needs one of these, and a message of at least 100 characters.
CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
LEAST_MESSAGE = 100
#: Prolific approves what nobody has decided on after 21 days.
APPROVES_AFTER = timedelta(days=21)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: Operation → method, path, and whether sending it twice has the same effect as sending it once.
OPERATIONS = {
    "create_study": ("POST", "studies/", False),
    "look_up_study": ("GET", "studies/{id}/", True),
    "update_study": ("PATCH", "studies/{id}/", True),
    "transition_study": ("POST", "studies/{id}/transition/", False),
    "look_up_submission": ("GET", "submissions/{id}/", True),
    "transition_submission": ("POST", "submissions/{id}/transition/", True),
    "request_return": ("POST", "submissions/{id}/request-return/", False),
    "set_up_bonus": ("POST", "submissions/bonus-payments/", False),
    "pay_bonus": ("POST", "bulk-bonus-payments/{id}/pay/", False),
}
_KEPT = ("id", "status", "currency_code", "presentment_currency_code")


class Prolific(ByReward):
    """The account whose token is HITSERVER_PROLIFIC_TOKEN."""

    name = "prolific"
    title = "Prolific"
    form = ProlificForm
    unit = "Prolific study"
    units = "Prolific studies"
    categories = CATEGORIES
    task = "study"
    site = "Prolific"
    way_out = "Please return your submission on Prolific."

    def __init__(self, api: Api | None) -> None:
        self._given = api

    @classmethod
    def connected(cls) -> Prolific:
        return cls(Api(Account.from_settings()))

    @classmethod
    def offline(cls) -> Prolific:
        return cls(None)

    @property
    def _api(self) -> Api:
        if self._given is None:
            raise self._cannot("make calls without a token")
        return self._given

    def call(self, operation: str, **params: Any) -> Json:
        method, path, repeat = OPERATIONS[operation]
        body = {name: value for name, value in params.items() if f"{{{name}}}" not in path}
        answer = self._api.send(method, path.format_map(params), body or None, repeat=repeat)
        return answer if isinstance(answer, dict) else {}

    @staticmethod
    def kept(answer: Json) -> Json:
        return {name: answer[name] for name in _KEPT if name in answer}

    def endpoint(self) -> str:
        return str(django_settings.PROLIFIC_API)

    def balance(self) -> Decimal | None:
        """The balance of an account in US dollars (“Users”: amounts in hundredths); None in another currency."""
        found = self._api.send("GET", "users/me/")
        if not isinstance(found, dict) or found.get("currency_code", "USD") != "USD":
            return None
        cents = found.get("available_balance")
        return Decimal(cents) / 100 if isinstance(cents, int) else None

    # --- before anything is posted ---

    def problems(self, study: Study, settings: Json, offered: Sequence[Offered]) -> list[Problem]:
        problems = reward_problems(sorted({each.reward for each in offered}), platform=self.title)
        if any(each.reward <= 0 for each in offered):
            problems.append(Problem("reward", "A hit pays nothing.", "Prolific needs a reward."))
        if study.estimated_minutes is None:
            what = "Prolific shows participants how long the study takes, and it has no estimate."
            problems.append(Problem("estimated_minutes", what, "Set the estimated minutes per hit."))
        return problems

    def fees(self) -> Fees:
        share = django_settings.PROLIFIC_FEE_PERCENT / 100
        return Fees(share, share, Decimal(0), Decimal(0))

    # --- publish ---

    def plan(self, study: Study, settings: Json) -> list[Posting]:
        planned = super().plan(study, settings)
        for posting in planned:
            posting.code = get_random_string(10).upper()
        return planned

    def publish(self, posting: Posting, settings: Json) -> Sequence[Call]:
        """The calls that make a draft, then publish it. In between, nobody has seen or paid anything."""
        config = ProlificConfig(**settings)
        create = Call(
            key=f"prolific-study/{posting.pk}",
            operation="create_study",
            params=lambda done: config.study(posting.study, posting, _barred(posting.study)),
            search=self._find_study,
        )
        publish = Call(
            key=f"prolific-publish/{posting.pk}",
            operation="transition_study",
            params=lambda done: self._to_publish(done[0]),
            search=self._state_search("UNPUBLISHED", met=False),
        )
        return create, publish

    def _to_publish(self, draft: Json) -> Json:
        """The parameters to publish a draft. Refuses another currency, because the amounts here are US dollars."""
        currency = draft.get("presentment_currency_code") or draft.get("currency_code") or self._currency()
        if currency != "USD":
            raise PlatformTrouble(
                f"Prolific would pay this study in {currency}, and rewards here are in USD. The study is a draft "
                "there, and nobody has seen it.",
                "Use a token of a workspace that pays in USD.",
                sent=False,
            )
        return {"id": draft["id"], "action": "PUBLISH"}

    def _currency(self) -> str:
        """The account's currency, for a draft that does not name its own. A dry run assumes US dollars."""
        if self._given is None:
            return "USD"
        found = self._api.send("GET", "users/me/")
        return (
            str(found.get("currency_code") or "an unknown currency")
            if isinstance(found, dict)
            else "an unknown currency"
        )

    def _find_study(self, call: PlatformCall) -> Json | None:
        """The draft that an earlier try created, found by its internal name."""
        project = call.params.get("project")
        path = f"projects/{project}/studies/" if project else "studies/"
        for study in self._pages(path):
            if study.get("internal_name") == call.params["internal_name"]:
                return self.kept(study)
        return None

    def _state_search(self, *states: str, met: bool = True) -> Search:
        """Whether an earlier call succeeded: the study is in one of ``states`` (``met`` False: in none of them)."""

        def search(call: PlatformCall) -> Json | None:
            status = str(self.call("look_up_study", id=call.params["id"]).get("status"))
            return {} if (status in states) == met else None

        return search

    def posted(self, posting: Posting, settings: Json, results: Sequence[Json]) -> Json:
        return {"external_id": str(results[0]["id"])}

    def address(self, posting: Posting, settings: Json) -> str:
        return address_of(posting)

    def expire(self, posting: Posting) -> Sequence[Call]:
        search = self._state_search("AWAITING REVIEW", "COMPLETED")
        return [_transition(f"prolific-stop/{posting.pk}", posting, "STOP", search)]

    def pause(self, posting: Posting, times: int) -> Sequence[Call]:
        return [_transition(f"pause/{posting.pk}/{times}", posting, "PAUSE", self._state_search("PAUSED"))]

    def resume(self, posting: Posting, times: int) -> Sequence[Call]:
        return [_transition(f"resume/{posting.pk}/{times}", posting, "START", self._state_search("ACTIVE"))]

    # --- workers ---

    @classmethod
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], here: str) -> Claim | None:
        worker, study, session = (query.get(name, "") for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
        if not (worker or study or session):
            return None
        if not (_ID.fullmatch(worker) and _ID.fullmatch(session)):
            raise BadArrival(
                "This address is not complete",
                "Prolific did not add who you are. Open the study again from Prolific.",
            )
        if study != posting.external_id:
            raise BadArrival(
                "This link belongs to another study",
                "The address mixes parts of two studies, so your work could not be paid. Open the study again from "
                "Prolific.",
            )
        return Claim(cls.name, worker, session)

    @classmethod
    def finish(cls, work: Assignment, settings: Json) -> Finish:
        code = work.posting.code if work.posting else ""
        return Finish(code, link=f"{django_settings.PROLIFIC_SITE.rstrip('/')}/submissions/complete?cc={code}")

    # --- afterwards ---

    def sync(self, posting: Posting) -> Iterator[Reported]:
        try:
            for row in self._pages(f"studies/{posting.external_id}/submissions/"):
                state = STATES.get(str(row.get("status")))
                if state is not None:
                    yield _reported(row, state)
        except PlatformTrouble as trouble:
            if trouble.code != "404":
                raise
            raise PostingGone(trouble.what, trouble.fix, code=trouble.code) from trouble

    def _pages(self, path: str) -> Iterator[Json]:
        following = ""
        while True:
            rows, following = self._api.page(path, following)
            yield from rows
            if not following:
                return

    def approve(self, outside: OutsideAssignment, *, feedback: str, override: bool) -> Sequence[Call]:
        if override:
            raise PlatformTrouble(
                "Prolific does not let a program undo a rejection.",
                "Undo it on Prolific's site, then sync the study.",
                sent=False,
            )
        search = self._decided(outside, "APPROVED")
        return [_decision(f"approve/{outside.pk}", {"id": outside.external_id, "action": "APPROVE"}, search)]

    def reject(self, outside: OutsideAssignment, *, feedback: str, category: str) -> Sequence[Call]:
        if category not in CATEGORIES:
            raise (
                _refused(unknown("category", category, CATEGORIES))
                if category
                else invalid("category", "Prolific needs a category.", f"Choose one of {', '.join(CATEGORIES)}.")
            )
        if len(feedback.strip()) < LEAST_MESSAGE:
            what = f"Prolific needs a reason of at least {LEAST_MESSAGE} characters; this has {len(feedback.strip())}."
            raise invalid("feedback", what, "Say which part of the work, and why it cannot be paid.")
        params = {"action": "REJECT", "message": feedback.strip(), "rejection_category": category}
        search = self._decided(outside, "REJECTED")
        return [_decision(f"reject/{outside.pk}", {"id": outside.external_id, **params}, search)]

    def _decided(self, outside: OutsideAssignment, status: str) -> Search:
        """Whether Prolific already has this decision on this participant's submission."""

        def search(call: PlatformCall) -> Json | None:
            there = self.call("look_up_submission", id=outside.external_id)
            same = there.get("participant") in (None, outside.worker_id)
            return {} if there.get("status") == status and same else None

        return search

    def bonus(self, outside: OutsideAssignment, *, amount: Decimal, reason: str, key: str) -> Sequence[Call]:
        return bonus_calls(
            study_id=outside.posting.external_id,
            submission_id=outside.external_id,
            amount=amount,
            name=f"{outside.pk}/{key}",
            look=lambda name: self.call("look_up_submission", id=name),
        )


def _barred(study: Study) -> list[str]:
    """The Prolific studies of all studies whose participants may not take part in this one."""
    theirs = Posting.objects.filter(study__in=study.exclude_studies.all(), platform=Prolific.name)
    return list(theirs.exclude(external_id="").order_by("pk").values_list("external_id", flat=True))


def _transition(key: str, posting: Posting, action: str, search: Search) -> Call:
    params = {"id": posting.external_id, "action": action}
    return Call.fixed(key, "transition_study", params, search=search)


def _decision(key: str, params: Json, search: Search) -> Call:
    return Call.fixed(key, "transition_submission", params, search=search)


def _refused(problem: Problem) -> Exception:
    return invalid(problem.where, problem.what, problem.fix)


def _reported(row: Json, state: str) -> Reported:
    completed = _moment(row.get("completed_at"))
    return Reported(
        str(row["id"]),
        str(row.get("participant_id") or row.get("participant") or ""),
        state,
        accepted_at=_moment(row.get("started_at")),
        submitted_at=completed,
        approves_itself_at=completed + APPROVES_AFTER if completed else None,
        answer=str(row.get("study_code") or ""),
    )


def _moment(text: object) -> datetime | None:
    """A time in UTC, or None if it cannot be read."""
    try:
        found = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return timezone.make_aware(found, timezone.get_default_timezone()) if found and not found.tzinfo else found
