"""Careful simulated workers do the hits of a draft in memory, to find exclusion rules that nobody can pass.

They use all the time there is and know the right answers of gold and attention items. If they are excluded, they try
other answers. Rules that compare workers or read the language of texts are left out: simulated workers prove nothing
about these.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.quality_control.exclusion import Exclusion, excluded_by
from analysis.quality_control.rules import find_in
from analysis.quality_control.work import Finding
from annotation.instrument import Instrument
from annotation.task_types.base import Answers, Page, PlannedHit, Shown
from annotation.task_types.checks import check_of
from annotation.task_types.items import ItemData
from annotation.task_types.offers import Offers
from annotation.task_types.other_answers import answers_in_order, other_answers
from annotation.task_types.questions import Question
from annotation.task_types.simulation import SimulatedWorker
from annotation.work.example_offers import example_offers
from annotation.work.quick_rules import Sent
from common.problems import Problem
from common.words import counted

#: Rules that a careful worker can pass by what they do in one hit.
JUDGED = ("gold_wrong", "attention_failed", "too_fast", "too_short", "copied", "straight_lining", "contradictory")
#: Hits to try per arm. One that a worker can pass is enough.
MOST_HITS = 8
MOST_PAGES = 500
#: Tries with other answers per hit. Who is still excluded then is taken to pass: the search has not been complete.
MOST_TRIES = 600
WORKER = "rehearsal"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One arm of a draft: how its pages are made, its rules, and how long a hit may take."""

    instrument: Instrument
    rules: Exclusion
    seconds: float


@dataclass(frozen=True, slots=True)
class Done:
    """A finished hit, what its rules find, and which exclusion rules leave it out."""

    shown: Shown
    pages: Sequence[Page]
    answers: Sequence[Answers]
    found: Sequence[Finding] = ()
    excluded_by: Sequence[str] = ()
    badness: float = 0.0
    gold: tuple[int, int] = (0, 0)


_CHECKED = {"gold": "gold_wrong", "attention": "attention_failed"}
_OF_TEXTS = ("too_short", "copied")
_OF_SCALES = ("straight_lining", "contradictory")
_FIX = {
    "too_fast": "Lower quality_control.too_fast, or raise the time limit.",
    "gold_share_below": "Check the right answers of the gold items, or lower exclude.gold_share_below.",
    "gold_wrong": "Check the right answers of the gold items, or lower quality_control.gold_wrong.",
    "attention_failed": "Check the right answers of the attention items, or raise quality_control.attention_failed.",
    "different_flags": "Raise exclude.different_flags, or change the thresholds in quality_control.",
}


def everybody_excluded(part: Rehearsal, planned: Sequence[PlannedHit], items: Mapping[str, ItemData]) -> list[Problem]:
    """What excludes careful workers in all hits that they tried. Empty if one can be passed or cannot be done."""
    failed: list[Done] = []
    for hit in planned[:MOST_HITS]:
        done = best_of(part, [items[name] for name in hit.items])
        if done is None or not done.excluded_by:
            return []
        failed.append(done)
    if not failed:
        return []
    first = failed[0]
    common = [key for key in first.excluded_by if all(key in rehearsal.excluded_by for rehearsal in failed)]
    arm = f" in the arm “{part.instrument.arm}”" if part.instrument.arm else ""
    tried = f"A careful simulated worker could not pass it in {counted(len(failed), 'hit')}."
    problems = []
    for key in common or first.excluded_by:
        name = key.removeprefix("flags.")
        if name == "gold_share_below":
            right, n = first.gold
            example = f"At most {right} of {counted(n, 'gold answer')} can be right."
        elif name == "different_flags":
            example = f"Flags: {', '.join(sorted({finding.reason for finding in first.found}))}."
        else:
            example = next((finding.detail for finding in first.found if finding.reason == name), "")
        what = f"The rule {name} would exclude everybody{arm}. {tried} {example}".strip()
        fix = _FIX.get(name, f"Change quality_control.{name}, or remove {name} from exclude.flags.")
        problems.append(Problem(f"exclude.{key.partition('.')[0]}", what, fix))
    return problems


def best_of(part: Rehearsal, items: Sequence[ItemData]) -> Done | None:
    """The hit as a careful worker does it who passes as many rules as possible. None if they cannot do it, or if the
    search for answers that pass was given up."""
    best = _in_order(part, items, _walk(part, items, []))
    tries, better = 0, True
    while best is not None and best.excluded_by and better:
        better = False
        for step, question in _worth_another_answer(best):
            for answer in other_answers(
                question, check_of(_item(best, step)) if best.pages[step].item is not None else None
            ):
                if tries >= MOST_TRIES:
                    return None
                tries += 1
                changed = {**best.answers[step], question.key: answer}
                again = _walk(part, items, [*best.answers[:step], changed, *best.answers[step + 1 :]])
                if again is not None and again.badness < best.badness:
                    best, better = again, True
            if not best.excluded_by:
                return best
    return best


def _in_order(part: Rehearsal, items: Sequence[ItemData], done: Done | None) -> Done | None:
    """The hit with one part rated above another where the checks want that, if it passes more rules."""
    if done is None or not done.excluded_by:
        return done
    planned = []
    for step, (page, answers) in enumerate(zip(done.pages, done.answers, strict=True)):
        check = check_of(_item(done, step)) if page.item is not None else None
        planned.append({**answers, **(answers_in_order(page.questions, check) if check else {})})
    again = _walk(part, items, planned)
    return again if again is not None and again.badness < done.badness else done


def _worth_another_answer(done: Done) -> list[tuple[int, Question]]:
    """The questions whose answers a rule that excludes has looked at, each with its page."""
    reasons = {finding.reason for finding in done.found}
    return [
        (step, question)
        for step, page in enumerate(done.pages)
        for question in page.questions
        if (page.item is not None and check_of(_item(done, step)) is not None)
        or (question.kind == "text" and reasons & set(_OF_TEXTS))
        or (question.kind in ("scale", "choice") and reasons & set(_OF_SCALES))
    ]


def _item(done: Done, step: int) -> ItemData:
    return done.shown.items[done.pages[step].item or 0]


def _walk(part: Rehearsal, items: Sequence[ItemData], planned: Sequence[Answers]) -> Done | None:
    """The hit with the ``planned`` answers. Pages without one, or with other questions now, are answered as the type's
    simulated workers do. None if that is not possible."""
    instrument, task = part.instrument, part.instrument.task
    rng = random.Random(WORKER)  # noqa: S311 - the same order each time
    worker = SimulatedWorker.named(WORKER, "careful")
    shown = instrument.shown(items, task.arrange(items, instrument.config, slot=0, rng=rng))
    pages: list[Page] = []
    answers: list[Answers] = []
    while (page := task.next_page(shown, answers)) is not None:
        if len(pages) >= MOST_PAGES:
            return None
        if page.asks:
            shown = replace(shown, offers=Offers((*shown.offers.shown, *example_offers(page.asks, len(pages)))))
            page = task.next_page(shown, answers) or page
        mine = planned[len(pages)] if len(pages) < len(planned) else None
        if mine is None or set(mine) != {question.key for question in page.questions}:
            cleaned, errors = page.clean(task.simulate(worker, shown, page, answers))
        else:
            cleaned, errors = page.clean(page.typed(mine))
        if errors or task.check(shown, page, cleaned, answers):
            return None
        pages.append(page)
        answers.append(cleaned)
    return _judged(part, Done(shown, pages, answers))


def _judged(part: Rehearsal, done: Done) -> Done:
    """With what the rules find if the worker takes all the time that a hit allows, spread evenly."""
    task = part.instrument.task
    count = sum(answer is not None for page_answers in done.answers for answer in page_answers.values())
    timing = {"seconds": part.seconds / max(1, count)}
    timings = [
        {key: timing for key, answer in page_answers.items() if answer is not None} for page_answers in done.answers
    ]
    ratings = task.ratings(done.shown, done.pages, done.answers)
    work = Sent(task, done.shown, done.pages, done.answers, timings, ratings, part.seconds).as_work()
    findings = [one for one in find_in(work, part.instrument.quality) if one.reason in JUDGED]
    # How far the worker is from passing: less is better. Only what an exclusion rule looks at counts.
    matters = set(JUDGED) if part.rules.different_flags else set(part.rules.flags)
    roles = [role for role, name in _CHECKED.items() if name in matters]
    roles += ["gold"] if part.rules.gold_share_below is not None and "gold" not in roles else []
    wrong = sum(not right for role in roles for right in work.checked(role))
    others = [finding for finding in findings if finding.reason in matters and finding.reason not in _CHECKED.values()]
    gold = work.checked("gold")
    keys = excluded_by(
        part.rules,
        worker_of={1: WORKER},
        flags=[(1, one.reason) for one in findings],
        gold={WORKER: (sum(gold), len(gold))},
    ).get(1, [])
    return replace(
        done,
        found=findings,
        excluded_by=keys,
        badness=wrong + sum(1 + min(1.0, finding.value) for finding in others),
        gold=(sum(gold), len(gold)),
    )
