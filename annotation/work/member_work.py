"""Work that members of a study do, such as coding: who starts, who stops, and who takes over.

Only as many members work at a time as the study wants ratings per item, so that the same people code everything. When a
member leaves the study, what they sent stays, and another member can do the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from annotation import identity
from annotation.audit import record
from annotation.identity import MEMBER
from annotation.models import Adjudication, Assignment, Hit, Item, Membership, Participant, Rating, Study
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.work.allocation import NotAdmitted, enrol
from annotation.work.ending import take_back_work
from annotation.work.left_out import excluded_submissions
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted


@transaction.atomic
def start_member_work(*, study: Study, user: User) -> Participant:
    """The member's participation. The first call creates it, if a place is free. Raises Invalid."""
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    refuse_if_any(reasons_not_to_start(now, user))
    memberships = Participant.objects.filter(
        study=now, worker__platform=identity.MEMBER, worker__platform_id=str(user.pk)
    )
    if participant := memberships.first():
        return participant
    try:
        newcomer = enrol(study=now, worker=identity.member_worker(user), consented=False)
    except NotAdmitted:
        raise invalid("study", "Everything has been coded.", "There is nothing left to start.") from None
    record(study=now, actor=user.get_username(), action="start coding", worker=newcomer.pseudonym)
    return newcomer


def reasons_not_to_start(study: Study, user: User) -> list[Problem]:
    """Why this user cannot start or continue. Empty if they can."""
    if not get_type(study.task_type).for_members:
        return [Problem("study", "Members do not do the work of this study.", "Share its link with workers.")]
    if not Membership.objects.filter(study=study, user=user).exists():
        what = "Only members of the study can code, and you are not one."
        return [Problem("study", what, "Ask an owner to add you, or add yourself under Members.")]
    coders = coders_of(study)
    if own_share := next((coder for coder in coders if coder.user_id == user.pk), None):
        what = "An owner has ended your work in this study."
        return [] if own_share.active else [Problem("study", what, "Ask an owner to include you again.")]
    if study.status != Study.Status.LIVE:
        what = f"The study is {study.get_status_display().lower()}, so nobody can start."
        return [Problem("study", what, "Launch it first." if study.status == Study.Status.DRAFT else "")]
    active = [coder.name for coder in coders if coder.active]
    if len(active) >= study.ratings_per_item:
        what = f"{' and '.join(active)} {'is' if len(active) == 1 else 'are'} coding; this study has "
        fix = "To take over from a coder, an owner first removes them under Members. What they have coded stays."
        return [Problem("study", f"{what}{counted(study.ratings_per_item, 'coder')}.", fix)]
    return []


def works_blind(study: Study, user: User) -> bool:
    """Whether others' answers are hidden from this user: they have not coded all of their share, or may still start.

    Owners who do not code see everything, and so does everybody once the study is closed.
    """
    if study.status not in (Study.Status.LIVE, Study.Status.PAUSED) or not _for_members(study):
        return False
    own_share = next((coder for coder in coders_of(study) if coder.user_id == user.pk), None)
    if own_share is not None:
        # A hit with a place that this coder has not filled. What others filled before they left is not theirs.
        sent = Assignment.objects.filter(participant=own_share.participant_id, state=Assignment.State.SUBMITTED)
        unfilled = Hit.objects.filter(study=study, n_submitted__lt=F("wanted")).exclude(pk__in=sent.values("hit"))
        return own_share.active and unfilled.exists()
    owner = Membership.objects.filter(study=study, user=user, role=Membership.Role.OWNER).exists()
    return not (owner or user.is_superuser or reasons_not_to_start(study, user))


def _for_members(study: Study) -> bool:
    try:
        return get_type(study.task_type).for_members
    except UnknownTaskType:
        return False


@transaction.atomic
def stop_member_work(*, study: Study, user: User) -> None:
    """Give the user no more work, and free the places of their open work. What they sent stays and counts."""
    for participant in _participation(study, user):
        if participant.excluded_at is None:
            Participant.objects.filter(pk=participant.pk).update(excluded_at=timezone.now())
        take_back_work(participant_id=participant.pk)


@transaction.atomic
def allow_member_work(*, study: Study, user: User) -> None:
    """Let a user who is a member again continue with what nobody else has done in the meantime."""
    for participant in _participation(study, user):
        Participant.objects.filter(pk=participant.pk).update(excluded_at=None)


def _participation(study: Study, user: User) -> list[Participant]:
    participants = Participant.objects.select_for_update(no_key=True).filter(study=study)
    return list(participants.filter(worker__platform=identity.MEMBER, worker__platform_id=str(user.pk)))


GONE = "a deleted user"


@dataclass(frozen=True, slots=True)
class Coder:
    """A member who started. ``active``: they still get work. ``items`` counts what they have coded."""

    user_id: int
    name: str
    pseudonym: str
    participant_id: int
    active: bool
    items: int


def coders_of(study: Study) -> list[Coder]:
    """All members who started, including those who have left since, in the order of their start. Two queries."""
    participants = Participant.objects.filter(study=study, worker__platform=MEMBER).select_related("worker")
    submitted = Q(assignments__state=Assignment.State.SUBMITTED)
    participants = participants.annotate(items=Count("assignments__hit__items", filter=submitted)).order_by("pk")
    people = list(participants)
    names = dict(User.objects.filter(pk__in=[int(p.worker.platform_id) for p in people]).values_list("pk", "username"))
    return [
        Coder(
            int(person.worker.platform_id),
            names.get(int(person.worker.platform_id), GONE),
            person.pseudonym,
            person.pk,
            person.excluded_at is None,
            person.items,
        )
        for person in people
    ]


def has_left(participant: Participant) -> bool:
    """Whether this was a member of the study and no longer is. What they sent stays and counts."""
    if participant.excluded_at is None or participant.worker.platform != MEMBER:
        return False
    user_id = int(participant.worker.platform_id)
    return not Membership.objects.filter(study_id=participant.study_id, user=user_id).exists()


@dataclass(frozen=True, slots=True)
class Settled:
    """A final answer: the options, who decided, when, and why."""

    chosen: frozenset[str]
    by: str
    at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class CodedItem:
    """An item with everybody's answers: the options that each participant chose, by the participant's id."""

    pk: int
    name: str
    wanted: int
    given: Mapping[int, frozenset[str]] = field(default_factory=dict)
    settled: Settled | None = None

    @property
    def state(self) -> str:
        """``settled`` by a person; ``waiting`` for answers; ``agree``; ``differ``."""
        if self.settled:
            return "settled"
        if len(self.given) < self.wanted:
            return "waiting"
        return "agree" if len(set(self.given.values())) == 1 else "differ"

    @property
    def final(self) -> frozenset[str] | None:
        """The final options; None if there is a difference that nobody has settled, or answers are missing."""
        if self.settled:
            return self.settled.chosen
        return next(iter(self.given.values())) if self.state == "agree" else None


def coded_items(study: Study, *, only: int | None = None, simulated: bool | None = None) -> list[CodedItem]:
    """All items that the study asks about, or ``only`` the one with this id, in the order of the file. Four queries.

    ``simulated``: None for everybody's answers, True for those of simulated workers, False for those of people.
    Excluded submissions do not count. In a study with one rating per item there is nothing to compare: all items agree.
    """
    topic = get_type(study.task_type).adjudicates
    items = Item.objects.filter(study=study, role=Item.Role.MAIN).order_by("position")
    rows = Rating.objects.filter(study=study, question=topic, item__isnull=False)
    settled = Adjudication.objects.filter(study=study, question=topic).select_related("user").order_by("pk")
    if only is not None:
        items, rows, settled = items.filter(pk=only), rows.filter(item=only), settled.filter(item=only)
    if simulated is not None:
        rows = rows.filter(participant__synthetic=simulated)
    excluded = set(excluded_submissions(study))
    chosen_by_item: dict[int, dict[int, set[str]]] = {}
    for submission, item, person, option, value in rows.order_by("pk").values_list(
        "submission_id", "item_id", "participant_id", "target", "value"
    ):
        if submission in excluded or item is None:
            continue
        chosen = chosen_by_item.setdefault(item, {}).setdefault(person, set())
        if value:
            chosen.add(option)
    final = {
        decision.item_id: Settled(
            frozenset(decision.chosen), decision.user.get_username(), decision.created_at, decision.note
        )
        for decision in settled
    }
    return [
        CodedItem(
            pk,
            name,
            study.ratings_per_item,
            {person: frozenset(chosen) for person, chosen in chosen_by_item.get(pk, {}).items()},
            final.get(pk),
        )
        for pk, name in items.values_list("pk", "external_id")
    ]
