"""Where a participant is in the training: which round, which page of it, and how the round went.

A study without training items costs no query here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.instrument import HitItems, Instrument, Walk, training_items
from annotation.models import Item, Study, TriedPage
from annotation.task_types.base import Answers, Page, Shown
from annotation.task_types.checks import check_of
from annotation.task_types.items import Json
from annotation.work.judging import Judge


def can_try(study: Study) -> bool:
    """Whether the study has a training, or items that explain."""
    return bool(Instrument.of(study).loud) or training_size(study) > 0


def training_size(study: Study) -> int:
    return Item.objects.filter(study=study, role=Item.Role.TRAINING).count()


@dataclass(frozen=True, slots=True)
class TriedRow:
    """One page of the training as it was sent."""

    attempt: int
    place: int
    item: int
    answers: Answers
    verdicts: Mapping[str, bool]
    order: Json
    passed: bool | None


@dataclass(frozen=True, slots=True)
class TrainingPage:
    """A page of the training. ``position`` is its item's, from 0; ``before`` are the answers to the earlier pages about
    this item, and ``round_rows`` those of the round so far."""

    attempt: int
    place: int
    position: int
    items: HitItems
    walk: Walk
    order: Json
    page: Page
    before: Sequence[Answers]
    round_rows: Sequence[TriedRow]

    @property
    def shown(self) -> Shown:
        return self.walk.shown

    @property
    def item_id(self) -> int:
        return self.items.ids[self.position]

    def judge(self, answers: Answers) -> Judge | None:
        """Judges ``answers`` to this page; None if its item has no right answers, which the launch refuses."""
        item = self.items.items[self.position]
        check = check_of(item)
        if check is None:
            return None
        answered = [*self.before, answers]
        pages = self.walk.answered(answered)
        return Judge(self.walk.task, self.shown, pages, answered, item.external_id, check)

    def ends_round(self, answers: Answers) -> bool:
        """Whether nothing is left of the round after these answers."""
        return self.position == len(self.items.ids) - 1 and self.walk.is_complete([*self.before, answers])


def training_rows(participant_id: int) -> list[TriedRow]:
    rows = TriedPage.objects.filter(participant=participant_id, training=True).order_by("attempt", "place")
    return [TriedRow(*row) for row in rows.values_list(*TriedRow.__slots__)]


def training_due(participant_id: int, arm_id: int, instrument: Instrument) -> TrainingPage | None:
    """The page that is due; None if the training is over, or the study has none, or they passed another that counts."""
    items = training_items(arm_id)
    return page_after(training_rows(participant_id), participant_id, items, instrument) if items.ids else None


def page_after(
    rows: Sequence[TriedRow], participant_id: int, items: HitItems, instrument: Instrument
) -> TrainingPage | None:
    """The page that is due after ``rows``, all that were sent. None: the training is over, or was passed elsewhere."""
    training = instrument.asked.training
    if any(row.passed for row in rows) or (not rows and has_passed_elsewhere(participant_id, training.skip_if_passed)):
        return None
    attempt = 1 if not rows else rows[-1].attempt if rows[-1].passed is None else rows[-1].attempt + 1
    if attempt > training.tries:
        return None
    round_rows = [row for row in rows if row.attempt == attempt]
    for position in range(len(items.ids)):
        page = training_page(participant_id, items, instrument, round_rows, position=position, attempt=attempt)
        if page is not None:
            return page
    return None


def training_page(
    participant_id: int,
    items: HitItems,
    instrument: Instrument,
    round_rows: Sequence[TriedRow],
    *,
    position: int,
    attempt: int,
) -> TrainingPage | None:
    """The page about the item at ``position`` after those that are answered; None if all of them are."""
    item_id = items.ids[position]
    of_item = [row for row in round_rows if row.item == item_id]
    item = items.items[position]
    if of_item:
        order = of_item[0].order
    else:
        rng = random.Random(f"training/{participant_id}/{attempt}/{item_id}")  # noqa: S311 - must be reproducible
        order = instrument.task.arrange([item], instrument.config, slot=participant_id + attempt, rng=rng)
    walk = instrument.walk(instrument.shown([item], order))
    before = [row.answers for row in of_item]
    if walk.is_complete(before):
        return None
    page = walk.page(len(before), lambda: before)
    if page is None:
        return None
    return TrainingPage(attempt, len(round_rows), position, items, walk, order, page, before, round_rows)


def last_answered(
    participant_id: int, items: HitItems, instrument: Instrument, rows: Sequence[TriedRow]
) -> tuple[TrainingPage, TriedRow] | None:
    """The page that was answered last, as it was, with the answers; None before the first."""
    if not rows or rows[-1].item not in items.ids:
        return None
    last = rows[-1]
    earlier = [row for row in rows[:-1] if row.attempt == last.attempt]
    position = items.ids.index(last.item)
    # The order is that of the item's first page in the round, which may be this one.
    order = next(row.order for row in (*earlier, last) if row.item == last.item)
    walk = instrument.walk(instrument.shown([items.items[position]], order))
    before = [row.answers for row in earlier if row.item == last.item]
    page = walk.page(len(before), lambda: before)
    if page is None:
        return None
    return TrainingPage(last.attempt, last.place, position, items, walk, order, page, before, earlier), last


def round_passed(page: TrainingPage, answers: Answers, verdicts: Mapping[str, bool], needed: int) -> bool | None:
    """Whether the round that ends with these answers is passed; None if it does not end with them."""
    if not page.ends_round(answers):
        return None
    last = TriedRow(page.attempt, page.place, page.item_id, answers, verdicts, page.order, None)
    return items_right([*page.round_rows, last]) >= needed


def items_right(rows: Sequence[TriedRow]) -> int:
    """How many items of one round are right: every answer that can be wrong is right, and there is one."""
    verdicts: dict[int, list[bool]] = {}
    for row in rows:
        verdicts.setdefault(row.item, []).extend(row.verdicts.values())
    return sum(bool(of_item) and all(of_item) for of_item in verdicts.values())


def has_passed_elsewhere(participant_id: int, studies: Sequence[str]) -> bool:
    """Whether the same person has passed the training of one of these studies. No query if there are none."""
    if not studies:
        return False
    passed = TriedPage.objects.filter(passed=True, study__slug__in=studies)
    return passed.filter(participant__worker__participations=participant_id).exists()


def tried_columns(page: TrainingPage, answers: Answers) -> dict[str, Any]:
    """What is judged of a sent page, as columns of `TriedPage`."""
    judge = page.judge(answers)
    return {
        "item_id": page.item_id,
        "attempt": page.attempt,
        "place": page.place,
        "answers": answers,
        "verdicts": judge.verdicts() if judge else {},
        "ratings": judge.last_ratings() if judge else [],
        "order": page.order,
    }
