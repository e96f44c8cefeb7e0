"""Answers to a training item that its rules call right: for the check before the launch, and for simulated workers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.instrument import Instrument
from annotation.task_types.base import Answers, Page
from annotation.task_types.checks import check_of
from annotation.task_types.items import ItemData, Json
from annotation.task_types.other_answers import answers_in_order, other_answers
from annotation.task_types.simulation import SimulatedWorker
from annotation.work.judging import Judge

MOST_PAGES = 100
#: Other answers that are tried per item.
MOST_TRIES = 400


@dataclass(frozen=True, slots=True)
class Attempt:
    """All pages about one item, answered. ``wrong`` and ``right`` have the names of its rules, ``unasked`` those that
    no answer was about; a rule that is right nowhere is in one of the other two."""

    pages: Sequence[Page]
    answers: Sequence[Answers]
    wrong: frozenset[str]
    unasked: frozenset[str]

    @property
    def badness(self) -> int:
        # A question that is hidden says more about what is wrong than an answer that was bent to show it.
        return 2 * len(self.wrong) + len(self.unasked)


def best_attempt(instrument: Instrument, item: ItemData, order: Json | None = None) -> Attempt | None:
    """The item as somebody answers it who knows its right answers, as far as that is possible. None if its pages cannot
    be walked. ``order``: the order in which it is shown; None: any."""
    check = check_of(item)
    best = _walk(instrument, item, [], order)
    if best is None or check is None:
        return best
    ordered = [
        {**answers, **answers_in_order(page.questions, check)}
        for page, answers in zip(best.pages, best.answers, strict=True)
    ]
    again = _walk(instrument, item, ordered, order)
    best = again if again is not None and again.badness < best.badness else best
    tries, better = 0, True
    while best.badness and better:
        better = False
        for step, page in enumerate(best.pages):
            for question in page.questions:
                for answer in other_answers(question, check):
                    if tries >= MOST_TRIES or not best.badness:
                        return best
                    tries += 1
                    changed = {**best.answers[step], question.key: answer}
                    answers = [*best.answers[:step], changed, *best.answers[step + 1 :]]
                    again = _walk(instrument, item, answers, order)
                    if again is not None and again.badness < best.badness:
                        best, better = again, True
    return best


def _walk(instrument: Instrument, item: ItemData, planned: Sequence[Answers], order: Json | None) -> Attempt | None:
    """The item with the ``planned`` answers; pages without them as simulated workers answer them."""
    task = instrument.task
    worker = SimulatedWorker.named("training", "careful")
    if order is None:
        order = task.arrange([item], instrument.config, slot=0, rng=random.Random(item.external_id))  # noqa: S311
    shown = instrument.shown([item], order)
    pages: list[Page] = []
    answers: list[Answers] = []
    while (page := task.next_page(shown, answers)) is not None:
        if len(pages) >= MOST_PAGES or page.asks:
            return None
        form = page.typed(planned[len(pages)] if len(pages) < len(planned) else {})
        form = (
            {**task.simulate(worker, shown, page, answers), **form}
            if form
            else task.simulate(worker, shown, page, answers)
        )
        cleaned, errors = page.clean(form)
        if errors or task.check(shown, page, cleaned, answers):
            return None
        pages.append(page)
        answers.append(cleaned)
    check = check_of(item)
    if check is None:
        return Attempt(pages, answers, frozenset(), frozenset())
    wrong: set[str] = set()
    right: set[str] = set()
    for number in range(len(answers)):
        judge = Judge(task, shown, pages[: number + 1], answers[: number + 1], item.external_id, check)
        for name, is_right in judge.by_rule().items():
            (right if is_right else wrong).add(name)
    unasked = ({*check.answers, *check.rules} - wrong) - right
    return Attempt(pages, answers, frozenset(wrong), frozenset(unasked))


def typed_rightly(attempt: Attempt, page: Page) -> Mapping[str, str]:
    """The form with the right answers to this page; empty if the attempt has no such page."""
    for own, answers in zip(attempt.pages, attempt.answers, strict=True):
        if own.name == page.name:
            return page.typed(answers)
    return {}
