"""Prolific as a platform: one posting for each reward, from which every participant gets the next free hit.

A submission on Prolific is one hit here. Pages of the documentation are named by their titles.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings as django_settings
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import get_random_string, salted_hmac
from django.utils.dateparse import parse_datetime

from annotation.languages import gettext as _
from annotation.languages import marked
from annotation.models import Assignment, Flag, OutsideAssignment, PlatformCall, Posting, Study
from annotation.platforms.base import BadArrival, Claim, Finish, Notified, Reported
from annotation.platforms.calls import Call, Json, PlatformTrouble, PostingGone, Search
from annotation.platforms.costs import CENT, Fees, Offered
from annotation.platforms.prolific.bonuses import bonus_calls
from annotation.platforms.prolific.codes import CHECK_FLAGS, COMPLETED, FAILED_CHECKS, SCREEN_OUT, code_for, row_for
from annotation.platforms.prolific.config import ProlificConfig, ProlificForm, address_of, asked_for
from annotation.platforms.prolific.connection import Connection
from annotation.platforms.prolific.hooks import read_notice
from annotation.platforms.prolific.rules import study_problems
from common.problems import Problem, invalid, unknown
from common.words import counted, money

logger = logging.getLogger(__name__)
OutsideState = OutsideAssignment.State
#: Schema SubmissionDetailStatus, with spaces for its hyphens. Work in progress (RESERVED, ACTIVE) is not reported, and
#: neither are UNKNOWN and PROCESSING, which is between two states.
STATES = {
    "AWAITING REVIEW": OutsideState.SUBMITTED,
    "APPROVED": OutsideState.APPROVED,
    "PARTIALLY APPROVED": OutsideState.PARTIAL,
    "REJECTED": OutsideState.REJECTED,
    "RETURNED": OutsideState.RETURNED,
    "TIMED OUT": OutsideState.RETURNED,
    "SCREENED OUT": OutsideState.SCREENED,
}
#: “Approve or reject a submission”: a rejection needs one of these, and a message of at least 100 characters.
CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
LEAST_MESSAGE = 100
#: Prolific approves what nobody has decided on after 21 days.
APPROVES_AFTER = timedelta(days=21)
#: By how much the clocks of Prolific and of this server may differ.
CLOCKS_DIFFER = timedelta(minutes=2)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: Statuses of a study that offers no places any more (schema StudyStatus). More places open it again.
_ENDED = ("AWAITING REVIEW", "COMPLETED")


class Prolific(Connection):
    """Studies on Prolific, with the calls that offer them and decide on their submissions."""

    name = "prolific"
    title = "Prolific"
    form = ProlificForm
    unit = "Prolific study"
    units = "Prolific studies"
    categories = CATEGORIES
    task = marked("study")
    site = "Prolific"
    way_out = marked("Please return your submission on Prolific.")
    has_audience = True
    writes = True
    #: “Bulk approve submissions”: “We recommend a maximum of 1,000 submission or participant IDs per request.”
    most_at_once = 1_000

    # --- before anything is posted ---

    def problems(self, study: Study, settings: Json, offered: Sequence[Offered]) -> list[Problem]:
        return study_problems(study, ProlificConfig(**settings), sorted({hits.reward for hits in offered}))

    def fees(self) -> Fees:
        """Prolific's fee with the VAT on it: “VAT will be charged at 20% on all of our platform fees” for the UK."""
        share = django_settings.PROLIFIC_FEE_PERCENT / 100 * (1 + django_settings.PROLIFIC_VAT_PERCENT / 100)
        return Fees(share, share, Decimal(0), Decimal(0))

    def remarks(self, offered: Sequence[Offered], settings: Json) -> list[str]:
        """The VAT and, if connected, Prolific's own calculation (“Calculate the study cost”)."""
        vat = django_settings.PROLIFIC_VAT_PERCENT
        lines = super().remarks(offered, settings)
        lines += [f"The fees include VAT of {vat.normalize():f}%."] if vat else []
        config = ProlificConfig(**settings)
        if config.screen_out_pay and config.screen_out_places:
            most = (config.screen_out_pay * config.screen_out_places * (1 + self.fees().few)).quantize(CENT)
            people = counted(config.screen_out_places, "participant")
            lines.append(f"Not included: screening out up to {people} costs up to {money(most)} with fees.")
        if self.is_offline:
            return lines
        places: dict[Decimal, int] = {}
        for hits in offered:
            places[hits.reward] = places.get(hits.reward, 0) + hits.hits * hits.wanted
        requests = [
            {"reward": int(reward * 100), "total_available_places": n} for reward, n in places.items() if reward
        ]
        try:
            cents = sum(
                Decimal(str(self.call("calculate_cost", **request).get("total_cost") or 0)) for request in requests
            )
        except PlatformTrouble as trouble:
            logger.warning("Prolific did not calculate the cost: %s", trouble)
            return lines
        return [*lines, f"Prolific itself calculates {money(cents / 100)} with its fees and VAT."] if cents else lines

    # --- publish ---

    def plan(self, study: Study, settings: Json) -> list[Posting]:
        planned = super().plan(study, settings)
        for posting in planned:
            posting.code = get_random_string(10).upper()
        return planned

    def publish(self, posting: Posting, settings: Json) -> Sequence[Call]:
        """The calls that make a draft, then publish it. In between, nobody has seen or paid anything.

        If the study changed here after a draft was made, the draft is updated first (“Update a study”: “any field”).
        Prolific bars the participants of the account's own studies; those of others are refused when they arrive.
        """
        excluded = Posting.objects.filter(
            study__in=posting.study.exclude_studies.all(), platform=self.name, account=self.account
        )
        barred = excluded.exclude(external_id="").order_by("pk").values_list("external_id", flat=True)
        config = replace(ProlificConfig(**settings), project=self.project(settings))
        params = config.study(posting.study, posting, list(barred))
        create = Call(
            key=f"prolific-study/{posting.pk}",
            operation="create_study",
            params=lambda done: params,
            search=self._find_study,
        )
        publish = Call(
            key=f"prolific-publish/{posting.pk}",
            operation="transition_study",
            params=lambda done: self._to_publish(done[0]),
            search=self._state_search("UNPUBLISHED", met=False),
        )
        key = f"prolific-draft/{posting.pk}/"
        keys = Q(key=create.key) | Q(key__startswith=key)
        last = PlatformCall.objects.filter(keys, state=PlatformCall.State.DONE).order_by("-pk").first()
        if last is None or {name: value for name, value in last.params.items() if name != "id"} == params:
            return create, publish
        times = PlatformCall.objects.filter(key__startswith=key, state=PlatformCall.State.DONE).count()
        content = salted_hmac("prolific-draft", json.dumps(params, sort_keys=True)).hexdigest()[:16]
        update = Call(
            key=f"{key}{times}/{content}",
            operation="update_study",
            params=lambda done: {"id": done[0]["id"], **params},
        )
        return create, update, publish

    def discard(self, posting: Posting) -> None:
        """“Delete a study”: the draft of a posting that was never published. If it stays, it costs nothing."""
        creation = PlatformCall.objects.filter(
            key=f"prolific-study/{posting.pk}", state=PlatformCall.State.DONE
        ).first()
        if creation is None:
            return
        try:
            self.call("delete_study", id=creation.result["id"])
        except PlatformTrouble as trouble:
            logger.warning("The draft of posting %s stays on Prolific: %s", posting.pk, trouble)

    def _to_publish(self, draft: Json) -> Json:
        """The parameters to publish a draft. Refuses another currency, because the amounts here are US dollars."""
        currency = draft.get("presentment_currency_code") or draft.get("currency_code")
        if not currency and not self.is_offline:  # a dry run assumes US dollars
            workspace_funds = self.funds_of(str(draft.get("project") or ""))
            currency = workspace_funds.get("currency_code") or "an unknown currency"
        if (currency or "USD") != "USD":
            raise PlatformTrouble(
                f"Prolific would pay this study in {currency}, and rewards here are in USD, so it was not published.",
                "Use a token of a workspace that pays in USD.",
                may_be_done=False,
            )
        return {"id": draft["id"], "action": "PUBLISH"}

    def _find_study(self, call: PlatformCall) -> Json | None:
        """The draft that an earlier try created, found by its internal name."""
        project = call.params.get("project")
        path = f"projects/{project}/studies/" if project else "studies/"
        for study in self.pages(path):
            if study.get("internal_name") == call.params["internal_name"]:
                return self.kept(study) | ({"project": project} if project else {})
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
        """A stopped study can be opened again, and stopped again: each time is a separate call."""
        key = f"prolific-stop/{posting.pk}/"
        times = PlatformCall.objects.filter(key__startswith=key, state=PlatformCall.State.DONE).count()
        return [_transition(f"{key}{times}", posting, "STOP", self._state_search(*_ENDED))]

    def pause(self, posting: Posting, times: int) -> Sequence[Call]:
        search = self._state_search("PAUSED", *_ENDED)
        return [_transition(f"pause/{posting.pk}/{times}", posting, "PAUSE", search)]

    def resume(self, posting: Posting, times: int) -> Sequence[Call]:
        search = self._state_search("ACTIVE", *_ENDED)
        return [_transition(f"resume/{posting.pk}/{times}", posting, "START", search)]

    # --- workers ---

    @classmethod
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], server_origin: str) -> Claim | None:
        worker, study, session = (query.get(name, "") for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
        if not (worker or study or session):
            return None
        if not (_ID.fullmatch(worker) and _ID.fullmatch(session)):
            raise BadArrival(
                "This address is not complete",
                "Prolific did not add who you are. Open the study again from Prolific.",
            )
        # The parts of a quota are separate studies: schema SubmissionDetail, parent_study_id.
        has_parts = any(row["weights"] for row in settings.get("filters") or ())
        if study != posting.external_id and not (has_parts and _ID.fullmatch(study)):
            raise BadArrival(
                "This link belongs to another study",
                "The address mixes parts of two studies, so your work could not be paid. Open the study again from "
                "Prolific.",
            )
        return Claim(cls.name, worker, session)

    @classmethod
    def payment_words(cls, settings: Json) -> str:
        return "Prolific pays you as soon as the researchers approve your submission."

    @classmethod
    def asked_for(cls, settings: Json) -> list[tuple[str, str]]:
        return asked_for(settings)

    @classmethod
    def finish(cls, work: Assignment, settings: Json) -> Finish:
        assert work.posting is not None  # noqa: S101 - posted work only
        outcome = COMPLETED
        if any(row["outcome"] == FAILED_CHECKS for row in settings.get("codes") or ()):
            failed = Flag.objects.filter(submission__assignment=work, reason__in=CHECK_FLAGS).exists()
            outcome = FAILED_CHECKS if failed else COMPLETED
        return _finish(work.posting, outcome)

    @classmethod
    def way_back(cls, posting: Posting, settings: Json, outcome: str) -> Finish | None:
        row = row_for(settings.get("codes") or (), outcome)
        if row is None:
            return None
        pay = ProlificConfig(**settings).screen_out_pay if row["action"] == SCREEN_OUT else Decimal(0)
        return replace(
            _finish(posting, row["outcome"]),
            note=_("You are paid %(amount)s for your time.") % {"amount": money(pay)} if pay else "",
            paid=pay,
        )

    # --- afterwards ---

    def sync(self, posting: Posting) -> Iterator[Reported]:
        try:
            for row in self.pages(f"studies/{posting.external_id}/submissions/"):
                state = _state_of(row)
                if state is not None:
                    yield _reported(row, state)
        except PlatformTrouble as trouble:
            if trouble.code != "404":
                raise
            raise PostingGone(trouble.what, trouble.fix, code=trouble.code) from trouble

    def has_paused(self, posting: Posting) -> bool | None:
        """FixedScreenOut: “the study pauses” after the chosen number of participants were screened out. A person can
        raise the number and start the study again on Prolific's site, so its status is asked for."""
        places = int(posting.study.platforms.get(self.name, {}).get("screen_out_places") or 0)
        if not places or posting.outside.filter(state=OutsideState.SCREENED).count() < places:
            return None
        return str(self.call("look_up_study", id=posting.external_id).get("status")) == "PAUSED"

    @classmethod
    def pushes(cls) -> bool:
        return bool(django_settings.PROLIFIC_HOOK_SECRET)

    @classmethod
    def read_notice(cls, body: bytes, headers: Mapping[str, str]) -> Notified:
        return read_notice(body, headers)

    def notice_secret(self, settings: Json) -> str:
        return self.hook_secret(self.workspace(self.project(settings)))

    def look_up(self, name: str) -> tuple[str, Reported | None]:
        """“Retrieve a submission”. A quota's submissions belong to a part of the study, whose parent is ours."""
        row = self.call("look_up_submission", id=name)
        state = _state_of(row)
        study = str(row.get("parent_study_id") or row.get("study_id") or "")
        return study, _reported({**row, "id": name}, state) if state is not None else None

    @classmethod
    def paid_for(cls, outside: OutsideAssignment) -> Decimal:
        if outside.state != OutsideState.SCREENED:
            return super().paid_for(outside)
        return Decimal(str(outside.posting.study.platforms.get(cls.name, {}).get("screen_out_reward") or 0))

    def approve(self, outside: OutsideAssignment, *, feedback: str, override: bool) -> Sequence[Call]:
        """Schema SubmissionTransitionAction: UNREJECT takes a rejection back, and the submission waits for review."""
        calls = []
        if override:
            undo = {"id": outside.external_id, "action": "UNREJECT"}
            search = self._decided(outside, "AWAITING REVIEW", "APPROVED")
            calls.append(_decision(_numbered("unreject", outside), undo, search))
        search = self._decided(outside, "APPROVED")
        params = {"id": outside.external_id, "action": "APPROVE"}
        return [*calls, _decision(f"approve/{outside.pk}", params, search)]

    def approve_many(self, outside: Sequence[OutsideAssignment]) -> Sequence[Call]:
        """“Bulk approve submissions”. Asking again for those that are not approved yet does no harm."""
        ids = [row.external_id for row in outside]
        key = f"approve-many/{salted_hmac('prolific-approve-many', ' '.join(ids)).hexdigest()}/"
        times = PlatformCall.objects.filter(key__startswith=key, state=PlatformCall.State.DONE).count()
        return [Call.fixed(f"{key}{times}", "approve_many", {"submission_ids": ids})]

    def send_message(self, posting: Posting, worker_id: str, *, text: str, key: str) -> Sequence[Call]:
        """“Send a message”: it needs the study that is the reason for it, which is the one that they came to last."""
        assignments = Assignment.objects.filter(
            posting__study=posting.study_id,
            posting__platform=self.name,
            participant__worker__platform_id=worker_id,
        ).order_by("-pk")
        study = assignments.values_list("posting__external_id", flat=True).first() or posting.external_id
        params = {"recipient_id": worker_id, "body": text, "study_id": study}
        return [Call.fixed(f"message/{posting.pk}/{key}", "send_message", params, search=self._was_written)]

    def _was_written(self, call: PlatformCall) -> Json | None:
        """“Retrieve messages” with this participant: whether one has the same text and was sent since the first try."""
        rows = self.read("messages/", user_id=str(call.params["recipient_id"])).get("results") or ()
        since = (call.first_tried_at or timezone.now()) - CLOCKS_DIFFER
        same = (row for row in rows if str(row.get("body")).strip() == call.params["body"].strip())
        return {} if any((sent_at := _moment(row.get("sent_at"))) is None or sent_at >= since for row in same) else None

    def reject(self, outside: OutsideAssignment, *, feedback: str, category: str) -> Sequence[Call]:
        if category not in CATEGORIES:
            if not category:
                raise invalid("category", "Prolific needs a category.", f"Choose one of {', '.join(CATEGORIES)}.")
            problem = unknown("category", category, CATEGORIES)
            raise invalid(problem.where, problem.what, problem.fix)
        if len(feedback.strip()) < LEAST_MESSAGE:
            what = f"Prolific needs a reason of at least {LEAST_MESSAGE} characters; this has {len(feedback.strip())}."
            raise invalid("feedback", what, "Say which part of the work, and why it cannot be paid.")
        params = {"action": "REJECT", "message": feedback.strip(), "rejection_category": category}
        search = self._decided(outside, "REJECTED")
        return [_decision(_numbered("reject", outside), {"id": outside.external_id, **params}, search)]

    def _decided(self, outside: OutsideAssignment, *statuses: str) -> Search:
        """Whether Prolific already has this decision on this participant's submission."""

        def search(call: PlatformCall) -> Json | None:
            submission = self.call("look_up_submission", id=outside.external_id)
            same = submission.get("participant") in (None, outside.worker_id)
            return {} if submission.get("status") in statuses and same else None

        return search

    def bonus(self, outside: OutsideAssignment, *, amount: Decimal, reason: str, key: str) -> Sequence[Call]:
        return bonus_calls(
            study_id=outside.posting.external_id,
            submission_id=outside.external_id,
            amount=amount,
            name=f"{outside.pk}/{key}",
            look=lambda name: self.call("look_up_submission", id=name),
        )


def _finish(posting: Posting, outcome: str) -> Finish:
    code = code_for(posting, outcome)
    return Finish(code, link=f"{django_settings.PROLIFIC_SITE.rstrip('/')}/submissions/complete?cc={code}")


def _numbered(verb: str, outside: OutsideAssignment) -> str:
    """The key of a decision that may be made again after it was undone."""
    key, again = f"{verb}/{outside.pk}", f"{verb}-again/{outside.pk}/"
    done = PlatformCall.objects.filter(Q(key=key) | Q(key__startswith=again), state=PlatformCall.State.DONE).count()
    return f"{again}{done}" if done else key


def _transition(key: str, posting: Posting, action: str, search: Search) -> Call:
    """A change of the study's status. Prolific refuses it with 400 if the study has left the status; ``search`` then
    finds whether it is as it should be."""
    params = {"id": posting.external_id, "action": action}
    return Call.fixed(key, "transition_study", params, search=search, search_on=("400",))


def _decision(key: str, params: Json, search: Search) -> Call:
    return Call.fixed(key, "transition_submission", params, search=search)


def _state_of(row: Json) -> str | None:
    """The state here of a submission, which lists and filters write with spaces, hyphens or underscores."""
    return STATES.get(re.sub(r"[-_]", " ", str(row.get("status"))).upper())


def _reported(row: Json, state: str) -> Reported:
    completed = _moment(row.get("completed_at"))
    return Reported(
        str(row["id"]),
        str(row.get("participant_id") or row.get("participant") or ""),
        state,
        accepted_at=_moment(row.get("started_at")),
        submitted_at=completed,
        approves_itself_at=completed + APPROVES_AFTER if completed else None,
        answer=str(row.get("study_code") or row.get("entered_code") or ""),
    )


def _moment(text: object) -> datetime | None:
    """A time in UTC, or None if it cannot be read."""
    try:
        moment = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return timezone.make_aware(moment, timezone.get_default_timezone()) if moment and not moment.tzinfo else moment
