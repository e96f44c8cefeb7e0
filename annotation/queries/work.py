"""What the workers' pages show: where somebody is in a study, and what they have done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from annotation import sql
from annotation.models import Assignment, Draft, Hit, Invitation, Participant, Step, Study
from annotation.services.allocation import FREE_HIT, NOT_THEIR_OWN, Accepted, arm_is_full
from annotation.task_types.base import Answers
from annotation.task_types.items import Json


@dataclass(frozen=True, slots=True)
class OpenStep:
    """The step that is due in a hit in progress. ``draft`` has what was typed but not sent, by field name."""

    assignment_id: int
    hit_id: int
    order: Json
    ordinal: int
    expires_at: datetime
    number: int
    draft: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """A participant's study, as their pages need it, and the step they are on, if any."""

    participant_id: int
    arm_id: int
    title: str
    contact: str
    feedback_box: bool
    hits_per_worker: int | None
    open: OpenStep | None


_STANDING = """
SELECT p.arm_id, s.title, s.contact, s.feedback_box, s.hits_per_worker,
       a.id, a.hit_id, a."order", a.ordinal, a.expires_at,
       (SELECT COUNT(*) FROM annotation_step t WHERE t.assignment_id = a.id), d.answers
FROM annotation_participant p
JOIN annotation_study s ON s.id = p.study_id
LEFT JOIN annotation_assignment a ON a.participant_id = p.id AND a.state = 'accepted' AND {}
LEFT JOIN annotation_draft d ON d.assignment_id = a.id
    AND d.number = (SELECT COUNT(*) FROM annotation_step t WHERE t.assignment_id = a.id)
WHERE p.id = %s
"""


_STANDING_OF_LINK = _STANDING.format("a.platform_assignment_id = ''")
_STANDING_OF_ONE = _STANDING.format("a.id = %s")


def standing(participant_id: int, assignment_id: int | None = None) -> Standing:
    """Everything that a step's page needs, in one query. Raises Participant.DoesNotExist.

    With ``assignment_id``, which a platform gave out, the open step is that assignment's, if it has one.
    """
    if assignment_id is None:
        row = sql.fetch_one(_STANDING_OF_LINK, participant_id)
    else:
        row = sql.fetch_one(_STANDING_OF_ONE, assignment_id, participant_id)
    if row is None:
        raise Participant.DoesNotExist
    arm_id, title, contact, feedback_box, hits_per_worker, *work = row
    return Standing(participant_id, arm_id, title, contact, bool(feedback_box), hits_per_worker, _open_step(*work))


def _open_step(
    assignment_id: int | None,
    hit_id: int,
    order: object,
    ordinal: int,
    expires_at: object,
    steps: int,
    draft: object,
) -> OpenStep | None:
    if assignment_id is None:
        return None
    return OpenStep(
        assignment_id=assignment_id,
        hit_id=hit_id,
        order=sql.from_json(Assignment, "order", order),
        ordinal=ordinal,
        expires_at=sql.aware(expires_at),
        number=steps,
        draft={} if draft is None else sql.from_json(Draft, "answers", draft),
    )


def first_step(accepted: Accepted) -> OpenStep | None:
    """The first step of an assignment that was just created, without reading back what was just written."""
    new = accepted.new
    return OpenStep(accepted.id, new.hit_id, new.order, new.ordinal, new.expires_at, number=0) if new else None


_ANSWERS = "SELECT answers FROM annotation_step WHERE assignment_id = %s ORDER BY number"


def given_answers(assignment_id: int) -> list[Answers]:
    """The answers of the steps sent so far, in order."""
    return [sql.from_json(Step, "answers", answers) for (answers,) in sql.fetch_all(_ANSWERS, assignment_id)]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a participant has done in a study and whether there is more for them."""

    title: str
    contact: str
    status: str
    completion_code: str
    n_submitted: int
    within_limit: bool
    excluded: bool
    in_progress: bool
    may_go_on: bool
    arm_id: int


_SUMMARY = """
SELECT s.title, s.contact, s.status, s.hits_per_worker, s.has_authors, p.completion_code, p.excluded_at IS NOT NULL,
       p.arm_id, p.worker_id,
       (SELECT COUNT(*) FROM annotation_assignment a
        WHERE a.participant_id = p.id AND a.state IN ('submitted', 'released')),
       EXISTS (SELECT 1 FROM annotation_assignment a WHERE a.participant_id = p.id AND a.state = 'accepted')
FROM annotation_participant p JOIN annotation_study s ON s.id = p.study_id WHERE p.id = %s
"""


def summary(participant_id: int) -> Summary:
    """For the page after a hit: one query, and one more to look for a free hit. Raises Participant.DoesNotExist."""
    row = sql.fetch_one(_SUMMARY, participant_id)
    if row is None:
        raise Participant.DoesNotExist
    title, contact, status, most, has_authors, code, excluded, arm_id, worker_id, n_submitted, in_progress = row
    within_limit = most is None or n_submitted < most
    may_start = status == Study.Status.LIVE and within_limit and not excluded
    return Summary(
        title=title,
        contact=contact,
        status=status,
        completion_code=code if n_submitted else "",
        n_submitted=n_submitted,
        within_limit=within_limit,
        excluded=bool(excluded),
        in_progress=bool(in_progress),
        may_go_on=bool(in_progress)
        or (may_start and _hit_is_free(arm_id, participant_id, worker_id if has_authors else None)),
        arm_id=arm_id,
    )


_OVERDUE = """
SELECT 1 FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id
WHERE h.arm_id = %s AND a.state = 'accepted' AND a.expires_at < %s AND NOT EXISTS (
    SELECT 1 FROM annotation_assignment b
    WHERE b.hit_id = h.id AND b.participant_id = %s AND b.state <> 'abandoned') LIMIT 1
"""


def _hit_is_free(arm_id: int, participant_id: int, author_id: int | None) -> bool:
    """Whether there is a hit for the participant. A hit counts as free if its worker's time is up."""
    free_hit = FREE_HIT.format(NOT_THEIR_OWN if author_id else "")
    asked = (arm_id, participant_id) + ((author_id,) if author_id else ())
    now = Assignment._meta.get_field("expires_at").get_db_prep_value(timezone.now(), connection)
    return bool(sql.fetch_one(free_hit, *asked) or sql.fetch_one(_OVERDUE, arm_id, now, participant_id))


def openings(study: Study) -> str:
    """Whether somebody new would get a hit: ``open`` (yes), ``taken`` (not right now), ``full`` (every hit is done, or
    the study has all its participants)."""
    hits, overdue = Hit.objects.filter(arm=OuterRef("pk")), Q(state="accepted", expires_at__lt=timezone.now())
    arms = study.arms.annotate(
        unfinished=Exists(hits.filter(n_submitted__lt=F("wanted"))),
        free=Exists(hits.filter(n_live__lt=F("wanted"))),
        overdue=Exists(Assignment.objects.filter(overdue, hit__arm=OuterRef("pk"))),
    ).values_list("pk", "wanted", "unfinished", "free", "overdue")
    found = [
        "open" if free or late else "taken"
        for pk, wanted, unfinished, free, late in arms
        if unfinished and not arm_is_full(pk, wanted)
    ]
    return min(found, default="full")  # “open” comes before “taken”


def study_by_slug(slug: str) -> Study:
    """Raises Study.DoesNotExist."""
    return Study.objects.get(slug=slug)


def invitation_by_key(study: Study, key: str) -> Invitation:
    """Raises Invitation.DoesNotExist."""
    return Invitation.objects.select_related("worker").get(study=study, key=key)


def participant_of(study: Study, platform: str, platform_id: str) -> Participant | None:
    """This worker's participation in the study, if there is one."""
    found = Participant.objects.filter(study=study, worker__platform=platform, worker__platform_id=platform_id)
    return found.select_related("arm").first()
