"""What the workers' pages show: where a worker is in a study, and what they have done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import F, Sum
from django.utils import timezone

from annotation import sql
from annotation.models import Assignment, Draft, Invitation, Participant, Step, Study
from annotation.task_types.base import Answers
from annotation.task_types.items import Json
from annotation.work.allocation import Accepted, arm_is_full
from annotation.work.free_hits import Seeker, free_hit
from annotation.work.hourly_pay import exact_sum


@dataclass(frozen=True, slots=True)
class OpenStep:
    """The step that is due in a hit in progress. ``draft`` contains what was typed but not sent, by field name.

    ``reward`` is in USD; 0 while nothing has been sent.
    """

    assignment_id: int
    hit_id: int
    order: Json
    ordinal: int
    expires_at: datetime
    number: int
    draft: Mapping[str, str] = field(default_factory=dict)
    reward: Decimal = Decimal(0)


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
    part_pay: str = Study.PartPay.NONE
    part_pay_amount: Decimal | None = None


_STANDING = """
SELECT p.arm_id, s.title, s.contact, s.feedback_box, s.hits_per_worker, s.part_pay, s.part_pay_amount,
       a.id, a.hit_id, a."order", a.ordinal, a.expires_at,
       (SELECT COUNT(*) FROM annotation_step t WHERE t.assignment_id = a.id), d.answers, h.reward
FROM annotation_participant p
JOIN annotation_study s ON s.id = p.study_id
LEFT JOIN annotation_assignment a ON a.participant_id = p.id AND a.state = 'accepted' AND {}
LEFT JOIN annotation_hit h ON h.id = a.hit_id
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
    arm_id, title, contact, feedback_box, hits_per_worker, part_pay, fixed, *work = row
    open_assignment, hit_id, order, ordinal, expires_at, n_steps, draft, reward = work
    open_step = None
    if open_assignment is not None:
        open_step = OpenStep(
            assignment_id=open_assignment,
            hit_id=hit_id,
            order=sql.from_json(Assignment, "order", order),
            ordinal=ordinal,
            expires_at=sql.aware(expires_at),
            number=n_steps,
            draft={} if draft is None else sql.from_json(Draft, "answers", draft),
            reward=Decimal(str(reward)),
        )
    study_columns = (participant_id, arm_id, title, contact, bool(feedback_box), hits_per_worker)
    return Standing(*study_columns, open_step, part_pay, None if fixed is None else Decimal(str(fixed)))


def first_step(accepted: Accepted) -> OpenStep | None:
    """The first step of an assignment that was just created, made without reading the database again."""
    new = accepted.new
    return OpenStep(accepted.id, new.hit_id, new.order, new.ordinal, new.expires_at, number=0) if new else None


_ANSWERS = "SELECT answers FROM annotation_step WHERE assignment_id = %s ORDER BY number"


def given_answers(assignment_id: int) -> list[Answers]:
    """The answers of the steps sent so far, in order."""
    return [sql.from_json(Step, "answers", answers) for (answers,) in sql.fetch_all(_ANSWERS, assignment_id)]


@dataclass(frozen=True, slots=True)
class Earned:
    """What a participant has earned in a study, in USD: for the task sent last, for all tasks that were not rejected,
    as part pay for stopped tasks, and as bonuses that were paid.
    """

    last: Decimal = Decimal(0)
    tasks: Decimal = Decimal(0)
    n_tasks: int = 0
    parts: Decimal = Decimal(0)
    bonuses: Decimal = Decimal(0)

    @property
    def in_all(self) -> Decimal:
        return self.tasks + self.parts + self.bonuses


@dataclass(frozen=True, slots=True)
class Summary:
    """What a participant has done in a study and whether there is more for them.

    ``member_of`` is the study's short name if they are a member of it, who started in the console. ``pay_note`` and
    ``platforms`` decide how the page says that they are paid. ``turned_away``: why their answers before the first task
    ended their participation; empty if they did not.
    """

    title: str
    contact: str
    status: str
    completion_code: str
    n_submitted: int
    earned: Earned
    redacted: bool
    within_limit: bool
    excluded: bool
    in_progress: bool
    may_go_on: bool
    arm_id: int
    member_of: str = ""
    pay_note: str = ""
    platforms: Mapping[str, Any] = field(default_factory=dict)
    turned_away: str = ""


#: Tasks that were sent and not rejected: their rewards are earned.
_EARNED = """FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id
        LEFT JOIN annotation_submission u ON u.assignment_id = a.id
        WHERE a.participant_id = p.id AND a.state IN ('submitted', 'released') AND NOT EXISTS (
            SELECT 1 FROM annotation_paydecision d WHERE d.decision = 'reject' AND d.id = (
                SELECT MAX(n.id) FROM annotation_paydecision n WHERE n.submission_id = u.id))"""
_SUMMARY = """
SELECT s.title, s.contact, s.status, s.hits_per_worker, s.has_authors, p.completion_code, p.excluded_at IS NOT NULL,
       p.redacted_at IS NOT NULL, p.arm_id, p.worker_id, r.shares_items,
       (SELECT COUNT(*) FROM annotation_assignment a
        WHERE a.participant_id = p.id AND a.state IN ('submitted', 'released')),
       (SELECT COUNT(*) FROM annotation_assignment a WHERE a.participant_id = p.id AND a.state = 'stopped'),
       (SELECT h.reward {_EARNED} ORDER BY a.ordinal DESC LIMIT 1),
       (SELECT SUM(h.reward) {_EARNED}), (SELECT COUNT(*) {_EARNED}),
       (SELECT SUM(o.amount) FROM annotation_partpayment o
        JOIN annotation_assignment a ON a.id = o.assignment_id WHERE a.participant_id = p.id),
       (SELECT SUM(y.amount) FROM annotation_payment y JOIN annotation_submission u ON u.id = y.submission_id
        WHERE u.participant_id = p.id AND y.kind = 'bonus'),
       EXISTS (SELECT 1 FROM annotation_assignment a WHERE a.participant_id = p.id AND a.state = 'accepted'),
       s.slug, w.platform = 'member', s.pay_note, s.platforms, p.turned_away
FROM annotation_participant p JOIN annotation_study s ON s.id = p.study_id
JOIN annotation_arm r ON r.id = p.arm_id
JOIN annotation_worker w ON w.id = p.worker_id WHERE p.id = %s
""".replace("{_EARNED}", _EARNED)


def summary(participant_id: int) -> Summary:
    """For the page after a hit: one query, and one more to look for a free hit. Raises Participant.DoesNotExist."""
    row = sql.fetch_one(_SUMMARY, participant_id)
    if row is None:
        raise Participant.DoesNotExist
    title, contact, status, most, has_authors, code, excluded, redacted, arm_id, worker_id, shares, *rest = row
    n_submitted, n_stopped, last, tasks, n_tasks, parts, bonuses, in_progress, slug, is_member, *words = rest
    within_limit = most is None or n_submitted + n_stopped < most
    may_start = status == Study.Status.LIVE and within_limit and not (excluded or redacted or words[2])
    hit_is_free = False
    if may_start and not in_progress:
        seeker = Seeker(participant_id, arm_id, worker_id if has_authors else None, bool(shares))
        # A hit counts as free if its worker's time is up.
        params = (arm_id, _as_stored(timezone.now()), participant_id, participant_id)
        hit_is_free = bool(free_hit(seeker)) or sql.fetch_one(_OVERDUE, *params) is not None
    return Summary(
        title=title,
        contact=contact,
        status=status,
        completion_code=code if (n_submitted or n_stopped) and not is_member else "",
        n_submitted=n_submitted,
        earned=Earned(exact_sum(last), exact_sum(tasks), n_tasks, exact_sum(parts), exact_sum(bonuses)),
        redacted=bool(redacted),
        within_limit=within_limit,
        excluded=bool(excluded),
        in_progress=bool(in_progress),
        may_go_on=bool(in_progress) or hit_is_free,
        member_of=slug if is_member else "",
        pay_note=words[0],
        platforms=sql.from_json(Study, "platforms", words[1]),
        turned_away=words[2] or "",
        arm_id=arm_id,
    )


_OVERDUE = """
SELECT 1 FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id
WHERE h.arm_id = %s AND a.state = 'accepted' AND a.expires_at < %s AND NOT EXISTS (
    SELECT 1 FROM annotation_assignment b
    WHERE b.hit_id = h.id AND b.participant_id = %s AND b.state <> 'abandoned')
AND NOT EXISTS (
    SELECT 1 FROM annotation_hititem i JOIN annotation_takenitem t ON t.item_id = i.item_id AND t.participant_id = %s
    JOIN annotation_item m ON m.id = i.item_id AND m.role = 'main' WHERE i.hit_id = h.id) LIMIT 1
"""


_ROOM = """
SELECT r.id, r.wanted, EXISTS (
    SELECT 1 FROM annotation_hit h WHERE h.arm_id = r.id AND h.n_live < h.wanted AND NOT h.held)
    OR EXISTS (SELECT 1 FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id
               WHERE h.arm_id = r.id AND a.state = 'accepted' AND a.expires_at < %s)
FROM annotation_arm r
WHERE r.study_id = %s AND EXISTS (
    SELECT 1 FROM annotation_hit h WHERE h.arm_id = r.id AND h.n_submitted < h.wanted AND NOT h.held)
"""


def openings(study: Study) -> str:
    """Whether somebody new would get a hit: ``open`` (yes), ``taken`` (not right now), ``full`` (every hit is done, or
    the study has all its participants)."""
    rooms = sql.fetch_all(_ROOM, _as_stored(timezone.now()), study.pk)
    arm_states = ["open" if free else "taken" for pk, n_wanted, free in rooms if not arm_is_full(pk, n_wanted)]
    return min(arm_states, default="full")  # “open” comes before “taken”


#: With fewer free tasks, the start page says how many there are.
FEW = 50


def few_places(study: Study) -> int | None:
    """How many tasks somebody new could start now, if they are so few that they may be gone in a moment."""
    free = study.hits.filter(n_live__lt=F("wanted"), held=False).aggregate(n=Sum(F("wanted") - F("n_live")))["n"] or 0
    return free if 0 < free < FEW else None


def _as_stored(time: datetime) -> Any:
    return Assignment._meta.get_field("expires_at").get_db_prep_value(time, connection)


def study_by_slug(slug: str) -> Study:
    """The study with this short name. Raises Study.DoesNotExist."""
    return Study.objects.get(slug=slug)


def invitation_by_key(study: Study, key: str) -> Invitation:
    """The study's invitation with this key. Raises Invitation.DoesNotExist."""
    return Invitation.objects.select_related("worker").get(study=study, key=key)


def participant_of(study: Study, platform: str, platform_id: str) -> Participant | None:
    """This worker's participation in the study, if there is one."""
    participants = Participant.objects.filter(study=study, worker__platform=platform, worker__platform_id=platform_id)
    return participants.select_related("arm").first()
