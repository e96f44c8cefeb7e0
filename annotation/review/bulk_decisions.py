"""One action on many submissions: previewed and confirmed by a person, then done in the background.

Each row is done separately, except that a platform that can approves many at once. Doing it twice does no harm. If a
process stops, the next one does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.many_ids import among
from annotation.models import BulkAction, OutsideAssignment, Participant, Payment, Study, Submission
from annotation.platforms import platform_class
from annotation.platforms.base import Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.costs import CENT
from annotation.recruiting import deciding_on_platform
from annotation.recruiting.deciding_on_platform import block_worker
from annotation.recruiting.matching import reported_of
from annotation.recruiting.spending_guard import require_room_for_bonuses
from annotation.review import pay_decisions, paying
from annotation.task_types.questions import clean_text
from annotation.work.excluding import exclude_worker, review_submission
from common.problems import Invalid, Problem, Refused, invalid, refuse_if_any
from common.words import counted, money

State = BulkAction.State
OutsideState = OutsideAssignment.State
#: Gives a connected platform by its name.
Connect = Callable[[str, Study], Platform]
Row = dict[str, Any]

#: What can be done, with the label of its button.
ACTIONS = {
    "include": "Include",
    "exclude": "Exclude",
    "exclude_workers": "Exclude the workers",
    "approve": "Approve",
    "reject": "Reject",
    "ask_back": "Ask for a return",
    "bonus": "Pay a bonus",
    "block": "Block the workers",
    "file": "Decide as in the file",
}
#: Editors may do these. The others decide about money, which is for payers.
FOR_EDITORS = ("include", "exclude", "exclude_workers")
OF_WORKERS = ("exclude_workers", "block")
#: Stored as a user's reviews.
REVIEWS = ("include", "exclude", *OF_WORKERS)
NEEDS_NOTE = {
    "exclude_workers": "Say why: the reason is saved with each submission and in the activity.",
    "reject": "Write why, as the worker reads it.",
    "ask_back": "Write why, as the worker reads it.",
    "bonus": "Write why, as the worker reads it.",
    "block": "Write why, as the worker reads it.",
}
MOST_ROWS = 50_000
MOST_NOTE = {"include": 500, "exclude": 500, "exclude_workers": 500}
MOST_FEEDBACK = 1024
MOST_BONUS = Decimal(1000)
#: Stored with their row; a program acts on up to so many rows at once, and reads what became of each.
SHOWN_REFUSALS = 1_000


def plan_action(*, study: Study, action: str, chosen: QuerySet[Submission], actor: str) -> BulkAction:
    """Store which submissions of the study the action is about, so that a person can check its effect first.

    Raises Invalid.
    """
    if action not in ACTIONS:
        raise invalid("action", f"There is no action “{action[:40]}”.", f"Choose one of {', '.join(ACTIONS)}.")
    chosen = chosen.filter(study=study)
    if action in OF_WORKERS:
        workers = chosen.filter(participant__synthetic=False) if action == "block" else chosen
        ids = sorted(set(workers.order_by().values_list("participant_id", flat=True)))
        rows: list[Row] = [{"participant": pk} for pk in ids]
    else:
        rows = [{"submission": pk} for pk in chosen.order_by("pk").values_list("pk", flat=True)]
    if not rows:
        raise invalid("chosen", "No submissions are chosen.", "Tick some, or tick all that match.")
    return _planned(study, action, rows, actor)


def plan_rows(*, study: Study, rows: Sequence[Mapping[str, Any]], actor: str) -> BulkAction:
    """Like ``plan_action``, for decisions from a file, one per assignment. Raises Invalid if there are none."""
    if not rows:
        fix = "Write x in the column Approve, or a reason in the column Reject."
        raise invalid("file", "The file has no decisions.", fix)
    return _planned(study, "file", [dict(row) for row in rows], actor)


def _planned(study: Study, action: str, rows: list[Row], actor: str) -> BulkAction:
    if len(rows) > MOST_ROWS:
        raise invalid("chosen", f"{counted(len(rows), 'row')} are too many at once.", f"Choose up to {MOST_ROWS:,}.")
    return BulkAction.objects.create(study=study, action=action, rows=rows, actor=actor)


def set_terms(
    *, bulk: BulkAction, note: str, amount: Decimal | None = None, release: bool = False, exclude: bool = False
) -> BulkAction:
    """Store the reason, the bonus for each submission in USD, whether places are given out again, and whether the
    analysis leaves out what is rejected. Raises Invalid.

    Changes nothing if the action was already confirmed.
    """
    note = clean_text(note).strip()
    refuse_if_any(_problems(bulk.action, note, amount))
    terms = {"note": note, "amount": amount if bulk.action == "bonus" else None, "release": release}
    terms["exclude"] = exclude
    BulkAction.objects.filter(pk=bulk.pk, state=State.SHOWN).update(**terms)
    bulk.refresh_from_db()
    return bulk


def _problems(action: str, note: str, amount: Decimal | None) -> list[Problem]:
    problems = []
    if action in NEEDS_NOTE and not note:
        problems.append(Problem("note", "There is no reason.", NEEDS_NOTE[action]))
    most = MOST_NOTE.get(action, MOST_FEEDBACK)
    if len(note) > most:
        problems.append(Problem("note", f"The reason is {len(note):,} characters long.", f"Shorten it to {most:,}."))
    return problems + (bonus_problems(amount) if action == "bonus" else [])


def bonus_problems(amount: Decimal | None) -> list[Problem]:
    """Why a bonus of this amount cannot be paid. Empty if it can."""
    if amount is None or amount <= 0 or amount != amount.quantize(CENT):
        shown = money(amount) if amount is not None else "Nothing"
        return [Problem("amount", f"{shown} cannot be paid.", "Write whole cents above zero, such as 0.50.")]
    if amount > MOST_BONUS:
        return [Problem("amount", f"{money(amount)} is a very large bonus.", f"Pay up to {money(MOST_BONUS)} at once.")]
    return []


@transaction.atomic
def confirm_action(*, bulk: BulkAction, actor: str, start: Callable[[int], object]) -> bool:
    """Confirm the action and start it: ``start`` gets its id. Confirming it again changes nothing and returns False.

    Raises Invalid if its terms are incomplete.
    """
    now = BulkAction.objects.select_for_update(no_key=True).get(pk=bulk.pk)
    if now.state != State.SHOWN:
        return False
    refuse_if_any(_problems(now.action, now.note, now.amount))
    if now.action == "bonus" and now.amount is not None:
        require_room_for_bonuses(study=now.study, amount=now.amount, count=len(now.rows))
    now.state, now.actor, now.confirmed_at = State.RUNNING, actor, timezone.now()
    now.save(update_fields=["state", "actor", "confirmed_at"])
    entry = {"rows": len(now.rows), "reason": now.note} | ({"amount": money(now.amount)} if now.amount else {})
    record(study=now.study, actor=actor, action=f"bulk {now.action}", number=now.pk, **entry)
    transaction.on_commit(partial(start, now.pk))
    return True


def same_bonuses(*, study: Study, amount: Decimal, note: str, chosen: QuerySet[Submission]) -> list[BulkAction]:
    """Confirmed actions that pay a bonus of this amount for this reason to any of these submissions, oldest first."""
    ids = set(chosen.values_list("pk", flat=True))
    same = BulkAction.objects.filter(study=study, action="bonus", amount=amount, note=clean_text(note).strip())
    return [
        bulk
        for bulk in same.exclude(state=State.SHOWN).order_by("pk")
        if any(row["submission"] in ids for row in bulk.rows)
    ]


def paid_rows(bulk: BulkAction) -> set[int]:
    """The submissions to which the action has paid its bonus, as far as that is recorded here."""
    paid = Payment.objects.filter(study=bulk.study_id, kind=Payment.Kind.BONUS, key__endswith=f"/bulk-{bulk.pk}")
    return {submission for submission in paid.values_list("submission", flat=True) if submission is not None}


@transaction.atomic
def reopen_bonus(*, bulk: BulkAction, actor: str) -> bool:
    """Let `run_action` try those rows of an ended action again that were refused. False if all were paid.

    Each row keeps its key, so that what the platform has paid is only recorded.
    """
    now = BulkAction.objects.select_for_update(no_key=True).get(pk=bulk.pk)
    if now.state == State.RUNNING:
        return True
    if not {row["submission"] for row in now.rows} - paid_rows(now):
        return False
    now.state, now.position, now.refused, now.done_at = State.RUNNING, 0, [], None
    now.save(update_fields=["state", "position", "refused", "done_at"])
    record(study=now.study, actor=actor, action="bulk bonus again", number=now.pk, rows=len(now.rows))
    return True


def run_action(*, bulk_id: int, connect: Connect) -> BulkAction | None:
    """Do what is left of a confirmed action. It stops if the platform cannot be reached; run it again later.

    Two processes may run it at once: the one that finds its place taken leaves the rest to the other.
    """
    bulk = BulkAction.objects.select_related("study").filter(pk=bulk_id).first()
    if bulk is None or bulk.state != State.RUNNING:
        return bulk
    if bulk.action == paying.MARK_PAID:
        return paying.continue_marking(bulk)
    platforms: dict[str, Platform] = {}

    def known(name: str, study: Study) -> Platform:
        platforms[name] = platforms.get(name) or connect(name, study)
        return platforms[name]

    user = User.objects.filter(username=bulk.actor).first()
    try:
        together = _approve_together(bulk, known)
    except PlatformTrouble as trouble:
        _note_stop(bulk, trouble)
        return bulk
    for position in range(bulk.position, len(bulk.rows)):
        try:
            refusal = "" if position in together else _do(bulk, bulk.rows[position], user, known)
        except PlatformTrouble as trouble:
            if trouble.again:
                _note_stop(bulk, trouble)
                return bulk
            refusal = f"{row_name(bulk.rows[position])}: {trouble.what}"
        with transaction.atomic():
            now = BulkAction.objects.select_for_update(no_key=True).get(pk=bulk.pk)
            if now.position != position:
                return bulk  # another process has done this row
            now.position = position + 1
            now.refused = now.refusals
            if refusal and len(now.refused) < SHOWN_REFUSALS:
                now.refused.append(refusal)
            now.save(update_fields=["position", "refused"])
    BulkAction.objects.filter(pk=bulk.pk, state=State.RUNNING).update(state=State.DONE, done_at=timezone.now())
    bulk.refresh_from_db()
    return bulk


def _approve_together(bulk: BulkAction, connect: Connect) -> set[int]:
    """Approve what is left to approve with few calls, where the platform has such a call. Returns the positions of the
    rows that this has done. Raises PlatformTrouble."""
    left = range(bulk.position, len(bulk.rows))
    rows = {index: bulk.rows[index] for index in left if bulk.rows[index].get("decision", bulk.action) == "approve"}
    if len(rows) < 2:
        return set()
    waiting = reported_of(bulk.study, [pk for row in rows.values() if (pk := row.get("submission")) is not None])
    named = [row["outside"] for row in rows.values() if row.get("submission") is None]
    reported = among([*waiting.values(), *named])
    reported_work = OutsideAssignment.objects.filter(pk__in=reported, state=OutsideState.SUBMITTED)
    approved_ids: set[int] = set()
    for name in reported_work.order_by().values_list("posting__platform", flat=True).distinct():
        if platform_class(name).most_at_once:
            on_platform = (
                reported_work.filter(posting__platform=name)
                .select_related("posting__study", "posting__hit")
                .order_by("pk")
            )
            approved_ids |= deciding_on_platform.approve_in_pages(
                outside=on_platform, platform=connect(name, bulk.study), actor=bulk.actor
            )
    return {
        index
        for index, row in rows.items()
        if waiting.get(row.get("submission") or 0, row.get("outside") or 0) in approved_ids
    }


def _note_stop(bulk: BulkAction, trouble: PlatformTrouble) -> None:
    stop = {BulkAction.STOPPED: str(trouble)[:1000]}
    BulkAction.objects.filter(pk=bulk.pk).update(refused=[*bulk.refusals, stop])
    bulk.refresh_from_db()


def _do(bulk: BulkAction, row: Row, user: User | None, connect: Connect) -> str:
    """Do one row. Returns why it could not be done, or an empty text. Raises PlatformTrouble."""
    try:
        if bulk.action not in REVIEWS:
            _pay(bulk, row, connect)
        elif user is None:
            return f"{row_name(row)}: there is no user “{bulk.actor}” on this server. Let somebody else confirm it."
        elif bulk.action in OF_WORKERS:
            participant = Participant.objects.select_related("worker", "study").get(pk=row["participant"])
            if bulk.action == "block":
                block_worker(participant=participant, reason=bulk.note, actor=bulk.actor, connect=connect)
            exclude_worker(participant=participant, note=bulk.note[:500], user=user, release=bulk.release)
        else:
            submission = Submission.objects.get(pk=row["submission"])
            review_submission(
                submission=submission, decision=bulk.action, note=bulk.note, user=user, release=bulk.release
            )
    except Refused as refused:
        return f"{row_name(row)}: {' '.join(f'{problem.what} {problem.fix}'.strip() for problem in refused.problems)}"
    return ""


def _pay(bulk: BulkAction, row: Row, connect: Connect) -> None:
    decision = row.get("decision", bulk.action)
    feedback = row.get("feedback", bulk.note)
    if row.get("submission") is None:
        outside = OutsideAssignment.objects.select_related("posting__study", "posting__hit").get(pk=row["outside"])
        pay_decisions.decide_outside(
            outside=outside, decision=decision, feedback=feedback, actor=bulk.actor, connect=connect
        )
        return
    submission = Submission.objects.select_related("study", "participant__worker", "assignment__posting").get(
        pk=row["submission"]
    )
    if decision == "ask_back":
        pay_decisions.ask_back(submission=submission, reason=feedback, actor=bulk.actor, connect=connect)
    elif decision == "bonus":
        if bulk.amount is None:
            raise Invalid(bonus_problems(None))
        pay_decisions.pay_bonus(
            submission=submission,
            amount=bulk.amount,
            reason=feedback,
            key=f"bulk-{bulk.pk}",
            actor=bulk.actor,
            connect=connect,
        )
    else:
        pay_decisions.decide_pay(
            submission=submission,
            decision=decision,
            feedback=feedback,
            actor=bulk.actor,
            connect=connect,
            exclude=row.get("exclude", bulk.exclude),
        )


def row_name(row: Row) -> str:
    """The row as a message names it."""
    if "participant" in row:
        return Participant.objects.values_list("pseudonym", flat=True).get(pk=row["participant"])
    return str(row.get("name") or f"Submission {row['submission']}")
