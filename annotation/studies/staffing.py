"""How many different workers a study needs at least, and what is missing when too few take part.

Nobody rates an item twice, so an item with three wanted ratings needs three people, and a worker can do only such hits
together as share no item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import CharField, Count, F, Q, QuerySet, Sum, Value

from annotation.models import Assignment, Hit, HitItem, Item, ItemAuthor, Participant, Study, TakenItem
from annotation.models.work import TAKEN_STATES
from common.words import counted

if TYPE_CHECKING:
    from analysis.planning.staffing import Staffing

State = Assignment.State
#: With more open hits than this, the end is far away, and nobody needs to know yet who is missing for the last ones.
MOST_OPEN = 1_000


def staffing_by_arm(study: Study, *, only_open: bool = False) -> dict[str, Staffing]:
    """By arm, how many workers its hits need. ``only_open``: how many new ones the places need that are free now.

    Three queries.
    """
    from analysis.planning.staffing import staffing  # loads pandas, which workers' requests never need

    hits = Hit.objects.filter(study=study, arm__isnull=False).order_by("arm__position", "position")
    items = main_items_of(hits)
    tasks: dict[str, list[tuple[set[int], int]]] = {arm.name: [] for arm in study.arms.order_by("position")}
    for pk, arm, n_wanted, n_live in hits.values_list("pk", "arm__name", "wanted", "n_live"):
        places = n_wanted - n_live if only_open else n_wanted
        if places:
            tasks[arm].append((items[pk], places))
    return {
        arm: staffing([item for item, _ in rows], [places for _, places in rows], study.hits_per_worker)
        for arm, rows in tasks.items()
    }


def main_items_of(hits: QuerySet[Hit]) -> Mapping[int, set[int]]:
    """By hit, the ids of its main items."""
    items: dict[int, set[int]] = defaultdict(set)
    rows = HitItem.objects.filter(hit__in=hits.order_by().values("pk"), item__role=Item.Role.MAIN)
    for hit, item in rows.order_by().values_list("hit", "item"):
        items[hit].add(item)
    return items


def workers_in_words(
    needed: Mapping[str, Staffing], hits_per_worker: int | None, *, own_work: bool = False
) -> list[str]:
    """One sentence for each arm on how many different workers it needs. ``needed`` is by the arm's name. ``own_work``:
    they write for the items, as the type declares, and do not rate them."""
    verb = "writes for" if own_work else "rates"
    limit = f", and each does at most {counted(hits_per_worker, 'hit')}" if hits_per_worker else ""
    sentences = []
    for arm, staff in needed.items():
        who = f"Arm {arm} needs" if arm else "This study needs"
        enough = "" if staff.enough == staff.least else f" {staff.enough:,} are enough if each does all they can."
        least = counted(staff.least, "different worker")
        sentences.append(f"{who} at least {least}: nobody {verb} the same item twice{limit}.{enough}")
    return sentences


# --- who is missing ---


@dataclass(frozen=True, slots=True)
class Missing:
    """Which items lack raters whom the people who take part so far cannot be.

    ``repeated``: items that have all their submissions, but from fewer different workers than wanted. ``blocked``:
    items in hits with free places that nobody who has taken part can do. It is 0 while somebody can do some of them.
    ``new_workers``: at least so many new people are needed for these. ``limit_helps``: some who have taken part could
    do them if one worker might do more hits.
    """

    repeated: int = 0
    blocked: int = 0
    new_workers: int = 0
    limit_helps: bool = False

    def in_words(self, hits_per_worker: int | None, *, own_work: bool = False, reopens: bool = False) -> list[str]:
        """What is missing, and what to do. Empty if nothing is. ``own_work``: see `workers_in_words`. ``reopens``:
        whether places of repeated work can be opened again."""
        sentences = []
        person, do, done = ("writer", "write for", "written for") if own_work else ("rater", "rate", "rated")
        if self.repeated:
            items, have = counted(self.repeated, "item"), "it has" if self.repeated == 1 else "they have"
            same = f"For {items}, somebody wrote" if own_work else f"Somebody rated {items}"
            counts = "" if own_work else " The analysis counts one rating per worker."
            sentences.append(f"{same} more than once, so {have} too few different {person}s.{counts}")
            if reopens:
                sentences.append("You can open the places of repeated work to other workers: study reopen-repeats.")
        if self.blocked:
            verb, them = ("needs", "it") if self.blocked == 1 else ("need", "them")
            sentences.append(f"{counted(self.blocked, 'item')} still {verb} a {person} who has not {done} {them} yet.")
            fix = f"Invite at least {counted(self.new_workers, 'new worker')}"
            if self.limit_helps and hits_per_worker:
                fix += f", or let each worker do more than {counted(hits_per_worker, 'hit')}"
            sentences.append(f"Nobody who has taken part so far can {do} {them}. {fix}.")
        return sentences


def missing_raters(study: Study, without_enough: Collection[int]) -> Missing:
    """Which items lack raters that the people who take part cannot give. At most three queries. ``without_enough``:
    `items_without_enough_raters`."""
    repeated = len(without_enough)
    if study.status not in (Study.Status.LIVE, Study.Status.PAUSED):
        return Missing(repeated=repeated)
    open_hits = Hit.objects.filter(study=study, n_live__lt=F("wanted"), held=False)
    hits = [_Open(*row) for row in open_hits.order_by("position").values_list(*_OPEN)[: MOST_OPEN + 1]]
    if not 0 < len(hits) <= MOST_OPEN:
        return Missing(repeated=repeated)
    # Participants who have had a hit and may still get one, except for the limit of hits.
    had = Count("assignments", filter=Q(assignments__state__in=TAKEN_STATES))
    rows = Participant.objects.filter(study=study, excluded_at=None, redacted_at=None, assignments__isnull=False)
    people = [
        _Person(pk, worker, arm, study.hits_per_worker is not None and count >= study.hits_per_worker)
        for pk, worker, arm, count in rows.annotate(had=had).values_list("pk", "worker_id", "arm_id", "had")
    ]
    if not people:
        return Missing(repeated=repeated)
    work = _open_work(study, open_hits, hits)
    if work.somebody_can([person for person in people if not person.at_limit]):
        return Missing(repeated=repeated)
    blocked = {item for items in work.items.values() for item in items}
    return Missing(repeated, len(blocked), work.new_workers(study.hits_per_worker), work.somebody_can(people))


def items_without_enough_raters(study: Study) -> set[int]:
    """Main items whose hits have all their submissions, but from fewer different workers than wanted.

    Only data from before the database refused repeat ratings have any. No query beyond one for other studies.
    """
    sharing = Q(hit__study=study, hit__arm__shares_items=True, item__role=Item.Role.MAIN)
    places = HitItem.objects.filter(sharing).order_by()
    ratings_wanted: dict[tuple[int, int], int] = {
        (arm, item): total
        for arm, item, total, submitted in places.values_list("hit__arm", "item").annotate(
            total=Sum("hit__wanted"), submitted=Sum("hit__n_submitted")
        )
        if submitted >= total
    }
    if not ratings_wanted:
        return set()
    submitted = places.filter(hit__assignments__state=State.SUBMITTED).values_list("hit__arm", "item")
    raters = {
        (arm, item): count
        for arm, item, count in submitted.annotate(n=Count("hit__assignments__participant", distinct=True))
    }
    return {item for (arm, item), total in ratings_wanted.items() if raters.get((arm, item), 0) < total}


@dataclass(frozen=True, slots=True)
class _Person:
    pk: int
    worker: int
    arm: int
    at_limit: bool


@dataclass(frozen=True, slots=True)
class _Open:
    """A hit with free places."""

    pk: int
    arm: int
    wanted: int
    n_live: int


_OPEN = ("pk", "arm", "wanted", "n_live")


@dataclass(frozen=True, slots=True)
class _OpenWork:
    """Hits with free places; the main items of each; by participant, the items that they have had; by
    worker, those that they wrote; and who returned which hit."""

    hits: Sequence[_Open]
    items: Mapping[int, set[int]]
    taken: Mapping[int, set[int]]
    written: Mapping[int, set[int]]
    returned: Collection[tuple[int, int]]

    def somebody_can(self, people: Sequence[_Person]) -> bool:
        """Whether one of them can do one of the hits."""
        nothing: set[int] = set()
        return any(
            hit.arm == person.arm
            and (hit.pk, person.pk) not in self.returned
            and not self.items.get(hit.pk, nothing) & self.taken.get(person.pk, nothing)
            and not self.items.get(hit.pk, nothing) & self.written.get(person.worker, nothing)
            for person in people
            for hit in self.hits
        )

    def new_workers(self, hits_per_worker: int | None) -> int:
        """How many new workers the free places need at least."""
        from analysis.planning.staffing import staffing  # loads pandas, which workers' requests never need

        least = 0
        for arm in {hit.arm for hit in self.hits}:
            mine = [hit for hit in self.hits if hit.arm == arm]
            tasks = [self.items.get(hit.pk, set()) for hit in mine]
            least += staffing(tasks, [hit.wanted - hit.n_live for hit in mine], hits_per_worker).least
        return least


def _open_work(study: Study, open_hits: QuerySet[Hit], hits: Sequence[_Open]) -> _OpenWork:
    """One query, which reads pairs of numbers of several kinds."""
    main = HitItem.objects.filter(hit__in=open_hits.order_by().values("pk"), item__role=Item.Role.MAIN)
    parts: list[QuerySet[Any, Any]] = [
        _pairs("items", main, "hit", "item"),
        _pairs("taken", TakenItem.objects.filter(item__in=_of_open(study)), "participant", "item"),
        _pairs("returned", Assignment.objects.filter(hit__in=open_hits, state=State.RETURNED), "hit", "participant"),
    ]
    if study.has_authors:
        written_there = ItemAuthor.objects.filter(item__in=_of_open(study))
        parts.append(_pairs("written", written_there, "worker", "item"))
    read: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for kind, one, other in parts[0].union(*parts[1:], all=True):
        read[kind][one].add(other)
    ids = {item for items in read["items"].values() for item in items}
    items_had = {participant: items & ids for participant, items in read["taken"].items()}
    returned = {(hit, participant) for hit, people in read["returned"].items() for participant in people}
    return _OpenWork(hits, read["items"], items_had, read["written"], returned)


def _pairs(kind: str, rows: QuerySet[Any], one: str, other: str) -> QuerySet[Any, Any]:
    pairs: QuerySet[Any, Any] = (
        rows.order_by().annotate(kind=Value(kind, output_field=CharField())).values_list("kind", one, other)
    )
    return pairs


def _of_open(study: Study) -> QuerySet[HitItem]:
    open_hits = Hit.objects.filter(study=study, n_live__lt=F("wanted"), held=False).order_by()
    return HitItem.objects.filter(hit__in=open_hits.values("pk")).order_by().values("item")  # type: ignore[return-value]
