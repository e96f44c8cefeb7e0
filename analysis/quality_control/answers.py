"""Rules about one submission's answers: gold and attention items, time, pasting, one answer throughout, contradictions.

Each takes a `Work` and the rule's threshold and yields what it found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from analysis.quality_control.work import Answered, Finding, Work
from common.words import counted

#: Fewer answers than this may all be equal by chance.
LEAST_EQUAL = 5


def gold_wrong(work: Work, threshold: float) -> Iterator[Finding]:
    """Too few right answers to gold items (Le et al. 2010, §3; Oleson et al. 2011)."""
    right = work.checked("gold")
    if right and (share := sum(right) / len(right)) < threshold:
        detail = f"{sum(right)} of {counted(len(right), 'gold answer')} right; at least {threshold:.0%} expected."
        yield Finding("gold_wrong", detail, share, threshold)


def attention_failed(work: Work, threshold: float) -> Iterator[Finding]:
    """Wrong answers to items whose text asks for a particular answer (Oppenheimer et al. 2009)."""
    right = work.checked("attention")
    wrong = len(right) - sum(right)
    if right and wrong >= threshold:
        detail = f"{wrong} of {counted(len(right), 'attention check')} wrong."
        yield Finding("attention_failed", detail, float(wrong), threshold)


def too_fast(work: Work, threshold: float) -> Iterator[Finding]:
    """Less time per question than anybody needs: the mean by the server's clock, or the median in the browser.

    Source of the default of 1 s: Wood et al. 2017, who found that answers below it are not consistent.
    """
    if not work.questions:
        return
    if work.seconds is not None and (seconds_each := work.seconds / work.questions) < threshold:
        detail = f"{counted(work.questions, 'question')} in {work.seconds:.1f} seconds."
        yield Finding("too_fast", detail, seconds_each, threshold)
    elif 2 * len(work.times) > work.questions and (seconds_each := median(work.times)) < threshold:
        detail = f"Half of {counted(len(work.times), 'question')} took {seconds_each:.1f} seconds or less."
        yield Finding("too_fast", detail, seconds_each, threshold)


def pasted(work: Work, threshold: float) -> Iterator[Finding]:
    """Text that came from the clipboard."""
    if work.pastes and work.pastes >= threshold:
        yield Finding("pasted", f"Text was pasted {counted(work.pastes, 'time')}.", float(work.pastes), threshold)


def straight_lining(work: Work, threshold: float) -> Iterator[Finding]:
    """The same answer many times in a row on one scale: the longest run as a share of the answers on that scale.

    Source: long strings (Johnson 2005; Meade & Craig 2012). Curran 2016 suggests half of the answers as the
    strictest sensible threshold.
    """
    by_scale: dict[str, list[float]] = defaultdict(list)
    for choice in work.chosen:
        by_scale[choice.scale].append(choice.value)
    for scale, values in by_scale.items():
        run = longest_run(values)
        if len(values) >= LEAST_EQUAL and run >= LEAST_EQUAL and run / len(values) >= threshold:
            detail = f"{run} of {len(values)} answers in a row were the same."
            yield Finding("straight_lining", detail, run / len(values), threshold, place=f"scale {scale}")


def longest_run(values: Sequence[float]) -> int:
    """How many equal values follow each other, at most."""
    longest = length = 0
    before: float | None = None
    for value in values:
        length = length + 1 if value == before else 1
        longest, before = max(longest, length), value
    return longest


def contradictory(work: Work, threshold: float, opposites: Sequence[tuple[str, str]] = ()) -> Iterator[Finding]:
    """An explanation that contradicts its answer (Clark 2021, app. C), and agreement with two statements that are
    opposites, about the same text.

    ``opposites`` are pairs of topics. Answers as shares of their scales, from 0 to 1, should add up to 1; the value is
    how far their sum is from 1. Source: semantic antonyms (Goldberg & Kilonsky 1985; Curran 2016).
    """
    for text in work.texts:
        if text.contradicts:
            yield Finding("contradictory", text.contradicts, 1.0, threshold, text.place)
    answer_to = {(answer.item, answer.target, answer.question): answer for answer in work.answers}
    for first, second in opposites:
        for (item, target, topic), answer in answer_to.items():
            opposite = answer_to.get((item, target, second)) if topic == first else None
            if opposite is None or answer.share is None or opposite.share is None:
                continue
            gap = abs(answer.share + opposite.share - 1)
            if gap >= threshold:
                about_item = f" about “{item[:40]}”" if item else ""
                detail = f"{first}: {answer.value:g}, {second}: {opposite.value:g}{about_item}. These are opposites."
                yield Finding("contradictory", detail, gap, threshold, place=f"{first}/{second}/{item}/{target}"[:100])


def changed_answers(before: Answered, now: Answered, threshold: float, *, other: int) -> Iterator[Finding]:
    """Two answers of one worker to one question about one item, in submission ``other`` and in this one."""
    if before.share is None or now.share is None:
        return
    gap = float(before.value != now.value) if now.level == "nominal" else abs(before.share - now.share)
    if gap and gap >= threshold:
        detail = f"{now.question} of “{now.item[:40]}”: {before.value:g} in submission {other}, {now.value:g} here."
        place = f"again/{now.question}/{now.item}/{now.target}"[:100]
        yield Finding("contradictory", detail, gap, threshold, place=place, other=other)
