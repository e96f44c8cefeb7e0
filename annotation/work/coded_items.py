"""What the members who code a study have coded so far, by coder and by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Count, Q

from annotation.access import members_of
from annotation.identity import MEMBER
from annotation.models import Adjudication, Assignment, Item, Participant, Rating, Study
from annotation.task_types.registry import get_type
from annotation.work.left_out import excluded_submissions

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
    return not members_of(participant.study).filter(pk=user_id).exists()


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
