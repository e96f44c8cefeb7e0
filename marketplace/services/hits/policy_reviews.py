"""Carries out review policies: on an assignment when it is submitted, on a HIT when it becomes reviewable.

Both happen under the HIT's lock. Results and actions are stored as `ReviewEntry` rows, including actions that failed: a
policy never prevents a worker's submission.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from marketplace import review_policies
from marketplace.ids import new_id
from marketplace.models import Assignment, Hit, ReviewEntry
from marketplace.money import MANY
from marketplace.questions.answers_xml import given_values
from marketplace.services.hits.state_changes import pay_and_approve, refuse_work, update_hit
from marketplace.services.messages.notifications import note_event
from marketplace.services.money.payments import InsufficientFunds
from marketplace.services.refusals import InvalidParameter

ASSIGNMENT, HIT = ReviewEntry.Level.ASSIGNMENT, ReviewEntry.Level.HIT
State = Assignment.State
NOT_NOW = "Assignment was in an invalid state for this operation."


def check_policy(parameter: str, policy: Mapping[str, Any] | None) -> None:
    """Check that this policy can be carried out. ``parameter`` is its CreateHIT parameter. Raises InvalidParameter."""
    if policy is None:
        return
    try:
        review_policies.READERS[parameter](policy)
    except review_policies.BadPolicy as error:
        raise InvalidParameter(parameter, str(error)) from None


def review_assignment(hit: Hit, assignment: Assignment, *, now: datetime) -> None:
    """Score work that was just submitted, if the HIT has a policy for it. Under the HIT's lock."""
    if not hit.assignment_review_policy:
        return
    policy = review_policies.read_known_answers(hit.assignment_review_policy)
    correct_by_question = review_policies.correct(policy, given_values(assignment.answer))
    score = review_policies.percent(sum(correct_by_question.values()), len(correct_by_question))
    log = _Log(hit, ASSIGNMENT, now)
    for question, right in correct_by_question.items():
        log.result(assignment.assignment_id, ASSIGNMENT, "KnownAnswerCorrect", str(int(right)), question)
    log.result(assignment.assignment_id, ASSIGNMENT, "KnownAnswerScore", str(score))
    log.did(
        "review",
        assignment,
        f"Reviewed known answers; {sum(correct_by_question.values())}/{len(correct_by_question)} correct",
    )
    if policy.approve_from is not None and score >= policy.approve_from:
        _approve(log, assignment, policy.approve_reason)
    elif policy.reject_below is not None and score < policy.reject_below:
        _reject(log, assignment, policy.reject_reason)
    if policy.extension is not None and score < policy.extension.below:
        _extend(log, policy.extension)


def review_hit(hit: Hit, *, now: datetime) -> None:
    """Compare the answers to a HIT that became reviewable. Under the HIT's lock, with the workers' accounts locked."""
    hit.review_due_at = None
    policy = review_policies.read_plurality(hit.hit_review_policy or {})
    states = [State.SUBMITTED, State.APPROVED, *([] if policy.without_rejected else [State.REJECTED])]
    work = list(hit.assignments.filter(state__in=states).select_related("worker").order_by("submitted_at", "pk"))
    if policy.known_answers_from is not None and hit.assignment_review_policy:
        known_answers = review_policies.read_known_answers(hit.assignment_review_policy)
        work = [
            assignment
            for assignment in work
            if review_policies.known_answer_score(known_answers, given_values(assignment.answer))
            >= policy.known_answers_from
        ]
    answers = {assignment.assignment_id: given_values(assignment.answer) for assignment in work}
    agreement = review_policies.agreement(policy, answers)
    log = _Log(hit, HIT, now)
    _note_agreement(log, policy, agreement)
    log.did("review", hit, f"Reviewed {len(work)} assignments")
    for assignment in work:
        score = agreement.worker_score(assignment.assignment_id)
        if score is not None and policy.approve_from is not None and score >= policy.approve_from:
            _approve(log, assignment, "")
        elif score is not None and policy.reject_below is not None and score < policy.reject_below:
            _reject(log, assignment, policy.reject_reason)
    if policy.extension is not None and agreement.hit_score < policy.extension.below:
        _extend(log, policy.extension)
    update_hit(hit, now=now, may_refuse=False)


def _note_agreement(log: _Log, policy: review_policies.Plurality, agreement: review_policies.Agreement) -> None:
    for question in policy.questions:
        answer = agreement.answers.get(question)
        log.result(log.hit.hit_id, HIT, "AgreedAnswerFound", str(answer is not None).lower(), question)
        if answer is not None:
            log.result(log.hit.hit_id, HIT, "AgreedAnswer", "|".join(sorted(answer)), question)
            log.result(log.hit.hit_id, HIT, "AnswerAgreementScore", str(agreement.scores[question]), question)
    for assignment_id in agreement.agreed:
        score = agreement.worker_score(assignment_id)
        if score is not None:
            log.result(assignment_id, ASSIGNMENT, "WorkerAgreementScore", str(score))
        agreed, disagreed = agreement.agreed[assignment_id], agreement.disagreed[assignment_id]
        log.result(assignment_id, ASSIGNMENT, "PluralityAnswersCorrect", str(agreed))
        log.result(assignment_id, ASSIGNMENT, "PluralityAnswersIncorrect", str(disagreed))
    log.result(log.hit.hit_id, HIT, "HitAgreementScore", str(agreement.hit_score))


# --- Actions ------------------------------------------------------------------------------------------------


def _approve(log: _Log, assignment: Assignment, reason: str) -> None:
    if assignment.state == State.SUBMITTED:
        assignment.requester_feedback = reason
        pay_and_approve(log.hit, assignment, approved_at=log.now, held=True)
        update_hit(log.hit, now=log.now, may_refuse=False)
        log.did("approve", assignment, "Approved")
    elif assignment.state == State.APPROVED:
        log.did("approve", assignment, "Already approved")
    else:
        log.failed("approve", assignment, NOT_NOW, "InvalidAssignmentState")


def _reject(log: _Log, assignment: Assignment, reason: str) -> None:
    if assignment.state == State.SUBMITTED:
        freed = refuse_work(log.hit, assignment, feedback=reason, rejected_at=log.now)
        update_hit(log.hit, now=log.now, freed=freed, may_refuse=False)
        log.did("reject", assignment, "Rejected")
    elif assignment.state == State.REJECTED:
        log.did("reject", assignment, "Already rejected")
    else:
        log.failed("reject", assignment, NOT_NOW, "InvalidAssignmentState")


def _extend(log: _Log, extension: review_policies.Extension) -> None:
    """Add one place, and time for it. A HIT that expired with free places stays expired."""
    hit = log.hit
    total = hit.max_assignments + 1
    if hit.expired and hit.n_available:
        log.did("extend", hit, "Not extended: the HIT has expired with places left")
    elif total > extension.most or hit.max_assignments < MANY <= total:
        log.did("extend", hit, f"Not extended: the HIT has {hit.max_assignments} assignments")
    elif _add_place(hit, extension, log.now):
        log.did("extend", hit, f"Extended to {total} assignments")
    else:
        log.failed("extend", hit, "The balance does not cover another assignment.", "InsufficientFunds")


def _add_place(hit: Hit, extension: review_policies.Extension, now: datetime) -> bool:
    """Add a place; returns whether the requester's balance covers it."""
    before = hit.max_assignments, hit.n_available, hit.expires_at
    hit.max_assignments += 1
    hit.n_available += 1
    hit.expires_at = max(hit.expires_at, now + timedelta(seconds=extension.seconds))
    try:
        with transaction.atomic():
            update_hit(hit, now=now)
    except InsufficientFunds:
        hit.max_assignments, hit.n_available, hit.expires_at = before
        return False
    note_event(event="HITExtended", hit=hit, now=now)
    return True


class _Log:
    """The entries of one review, in order."""

    def __init__(self, hit: Hit, level: str, now: datetime) -> None:
        self.hit, self._level, self.now = hit, level, now

    def result(self, about_id: str, about_type: str, key: str, value: str, question: str = "") -> None:
        self._add(about_id, about_type, key=key, value=value, question_id=question)

    def did(self, name: str, target: Hit | Assignment, what: str) -> None:
        self._act(name, target, value=what, status=ReviewEntry.Status.SUCCEEDED)

    def failed(self, name: str, target: Hit | Assignment, why: str, code: str) -> None:
        self._act(name, target, value=why, status=ReviewEntry.Status.FAILED, error_code=f"AWS.MechanicalTurk.{code}")

    def _act(self, name: str, target: Hit | Assignment, **outcome: str) -> None:
        if isinstance(target, Hit):
            self._add(target.hit_id, HIT, key=name, **outcome)
        else:
            self._add(target.assignment_id, ASSIGNMENT, key=name, **outcome)

    def _add(self, about_id: str, about_type: str, **fields: str) -> None:
        ReviewEntry.objects.create(
            entry_id=new_id(),
            hit=self.hit,
            level=self._level,
            about_id=about_id,
            about_type=about_type,
            created_at=self.now,
            **fields,
        )
