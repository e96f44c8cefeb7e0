"""What the workers' pages show: where somebody is in a study, and what they have done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Exists, F, OuterRef

from annotation.models import Assignment, Draft, Hit, Participant, Study
from annotation.services import sql
from annotation.services.allocation import Accepted
from annotation.task_types.base import Json


@dataclass(frozen=True, slots=True)
class OpenStep:
    """The step of a hit in progress that is due. ``draft`` holds what was typed and not sent, by field name."""

    assignment_id: int
    hit_id: int
    order: Json
    ordinal: int
    expires_at: datetime
    number: int
    draft: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """A participant's study as their pages need it, and the step they are on, if any."""

    participant_id: int
    study_id: int
    title: str
    contact: str
    feedback_box: bool
    hits_per_worker: int | None
    open: OpenStep | None


_STANDING = """
SELECT p.study_id, s.title, s.contact, s.feedback_box, s.hits_per_worker,
       a.id, a.hit_id, a."order", a.ordinal, a.expires_at,
       (SELECT COUNT(*) FROM annotation_step t WHERE t.assignment_id = a.id), d.answers
FROM annotation_participant p
JOIN annotation_study s ON s.id = p.study_id
LEFT JOIN annotation_assignment a ON a.participant_id = p.id AND a.state = 'accepted'
LEFT JOIN annotation_draft d ON d.assignment_id = a.id
    AND d.number = (SELECT COUNT(*) FROM annotation_step t WHERE t.assignment_id = a.id)
WHERE p.id = %s
"""


def standing(participant_id: int) -> Standing:
    """Everything that a step's page needs, in one query. Raises Participant.DoesNotExist."""
    row = sql.fetch_one(_STANDING, participant_id)
    if row is None:
        raise Participant.DoesNotExist
    study_id, title, contact, feedback_box, hits_per_worker, *work = row
    return Standing(participant_id, study_id, title, contact, bool(feedback_box), hits_per_worker, _open_step(*work))


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
    """The first step of an assignment that was just made, without asking the database for what was just written."""
    new = accepted.new
    return OpenStep(accepted.id, new.hit_id, new.order, new.ordinal, new.expires_at, number=0) if new else None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a participant has done in a study and whether there is more for them."""

    title: str
    contact: str
    status: str
    completion_code: str
    n_submitted: int
    in_progress: bool
    may_go_on: bool


def summary(participant_id: int) -> Summary:
    """For the last page. Raises Participant.DoesNotExist."""
    participant = Participant.objects.select_related("study").get(pk=participant_id)
    study = participant.study
    states = list(participant.assignments.values_list("state", flat=True))
    n_submitted = states.count(Assignment.State.SUBMITTED)
    in_progress = Assignment.State.ACCEPTED in states
    within_limit = study.hits_per_worker is None or n_submitted < study.hits_per_worker
    return Summary(
        title=study.title,
        contact=study.contact,
        status=study.status,
        completion_code=participant.completion_code if n_submitted else "",
        n_submitted=n_submitted,
        in_progress=in_progress,
        may_go_on=in_progress
        or (study.status == Study.Status.LIVE and within_limit and _hit_is_free(study, participant)),
    )


def _hit_is_free(study: Study, participant: Participant) -> bool:
    had = Assignment.objects.filter(hit=OuterRef("pk"), participant=participant)
    fresh = ~Exists(had.exclude(state=Assignment.State.ABANDONED))
    return Hit.objects.filter(fresh, study=study, n_live__lt=F("wanted")).exists()


def study_by_slug(slug: str) -> Study:
    """Raises Study.DoesNotExist."""
    return Study.objects.get(slug=slug)


def participant_of(study: Study, platform: str, platform_id: str) -> int | None:
    """The id of this worker's participation in the study, if there is one."""
    found = Participant.objects.filter(study=study, worker__platform=platform, worker__platform_id=platform_id)
    return found.values_list("pk", flat=True).first()
