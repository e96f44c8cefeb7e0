"""Completes work that the platform has but this server has only in part, from the platform's answer and the drafts.

For example, a worker's time ran out here while the last page was on its way: the answers are a late draft here, and the
platform has the assignment. The last page submits only the assignment and the completion code there, so all answers
come from this server, unless the worker used a page of another server. The pages are sent again as the worker's browser
would send them, with the same checks, so nothing becomes a submission that a worker could not have sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from xml.etree import ElementTree

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.audit import record
from annotation.models import Assignment, Draft, Hit, OutsideAssignment, Submission
from annotation.platforms.base import Claim
from annotation.recruiting.arrivals import accept_hit
from annotation.work.allocation import NotAdmitted
from annotation.work.answers import submit_step
from common.problems import invalid

State = Assignment.State
DONE = (State.SUBMITTED, State.RELEASED)
LOOK = "Look at it on the platform before you decide."
#: What the last page submits to the platform, besides the assignment's id.
HAND_IN_FIELDS = {"completionCode"}
#: The longest answer of a platform that is read, in characters: far more than a worker types.
MOST_ANSWER = 3_000_000


@transaction.atomic
def fetch_answer(*, outside: OutsideAssignment, actor: str) -> Submission:
    """Turn what is known about this assignment into a submission. Raises Invalid if it is incomplete or impossible.

    The place was used on the platform, so the hit gets one place more if all are taken here.
    """
    work = _assignment_here(outside)
    if work.state in DONE:
        raise invalid("work", "This work is already here.", "Sync to see the platform's latest state.")
    if work.state != State.ACCEPTED:
        # It has ended here. Its place may have been given to somebody else.
        hit = Hit.objects.select_for_update(no_key=True).get(pk=work.hit_id)
        Hit.objects.filter(pk=hit.pk, n_live__gte=F("wanted")).update(wanted=F("wanted") + 1)
        Assignment.objects.filter(pk=work.pk, state=State.RETURNED).update(state=State.ABANDONED)
        work.refresh_from_db()
    submitted_fields, number = answer_fields(outside.answer), work.steps.count()
    drafts = {draft.number: draft.answers for draft in Draft.objects.filter(assignment=work)}
    while work.state not in DONE:
        data = {**drafts.get(number, {}), **submitted_fields}
        result = submit_step(
            assignment_id=work.pk, participant_id=work.participant_id, number=number, data=data, timing={}
        )
        if result.kind not in ("stored", "submitted"):
            raise invalid("answer", f"The answer is not complete: page {number + 1} is missing or not finished.", LOOK)
        number += 1
        work.refresh_from_db()
    submission = Submission.objects.get(assignment=work)
    record(
        study=submission.study,
        actor=actor,
        action="fetch answer",
        assignment=outside.external_id,
        submission=submission.pk,
    )
    return submission


def _assignment_here(outside: OutsideAssignment) -> Assignment:
    """The worker's newest assignment here, or a new one, as if they had just arrived. Raises Invalid."""
    newest = outside.assignments.order_by("-pk").first()
    if newest is not None:
        return newest
    if not answer_fields(outside.answer).keys() - HAND_IN_FIELDS:
        raise invalid("answer", "Neither this server nor the platform has any of this worker's answers.", LOOK)
    claim = Claim(outside.posting.platform, outside.worker_id, outside.external_id)
    until = timezone.now() + timedelta(hours=1)
    try:
        accepted = accept_hit(posting=outside.posting, claim=claim, expires_at=until, consented=False)
    except NotAdmitted as refusal:
        what = f"This worker cannot take part in the study ({refusal.reason})."
        raise invalid("work", what, LOOK) from None
    return Assignment.objects.get(pk=accepted.pk)


def answer_fields(answer: str) -> Mapping[str, str]:
    """The fields of an MTurk answer (QuestionFormAnswers), by name. Empty if it is none, or is too long to be real.

    >>> answer_fields("<A><Answer><QuestionIdentifier>a</QuestionIdentifier><FreeText>1</FreeText></Answer></A>")
    {'a': '1'}
    """
    if not answer or len(answer) > MOST_ANSWER or "<!" in answer.replace("<![CDATA[", ""):
        return {}  # a document type could make the parser expand entities without end
    try:
        root = ElementTree.fromstring(answer)  # noqa: S314 - declarations were refused above
    except ElementTree.ParseError:
        return {}
    fields: dict[str, str] = {}
    for element in root.iter():
        if element.tag.rpartition("}")[2] != "Answer":
            continue
        parts = {part.tag.rpartition("}")[2]: part.text or "" for part in element}
        if "QuestionIdentifier" in parts and "FreeText" in parts:
            fields[parts["QuestionIdentifier"]] = parts["FreeText"]
    return fields
