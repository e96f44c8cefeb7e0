"""What a comparison found, in one sentence with its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.estimate import Estimate, p_equals
from analysis.findings import Answers, Comparison, Difference, LevelResult
from analysis.findings.answers import names_in_words, natural
from analysis.inference import ratios
from analysis.report.estimates import number, with_interval
from common.words import counted


def possible_ranks(level: LevelResult) -> str:
    """“2”, or “1 to 3” where the data allow several."""
    _, best, worst = level.rank
    return str(best) if best == worst else f"{best} to {worst}"


def letters_in_words(letters: Sequence[str]) -> str:
    """What the letters of a figure's levels mean."""
    if not any(letters):
        return "There is no test between these levels."
    untested = "" if all(letters) else " A level without a letter has no test."
    return f"Levels that share a letter do not differ significantly.{untested}"


def spoken(factor: str, level: str) -> str:
    """The level in a sentence: a bare number needs the name of its factor."""
    return f"{factor} {level}" if natural(level)[0] < math.inf else level


def comparison_sentence(factor: str, comparison: Comparison) -> str:
    """Which level is ahead, by how much, how sure; or that the data do not tell."""
    spoken_levels = [replace(level, name=spoken(factor, level.name)) for level in comparison.levels]
    spoken_pairs = [
        replace(pair, first=spoken(factor, pair.first), second=spoken(factor, pair.second))
        for pair in comparison.differences
    ]
    comparison = replace(
        comparison,
        levels=tuple(spoken_levels),
        differences=tuple(spoken_pairs),
        reference=spoken(factor, comparison.reference) if comparison.reference else "",
    )
    best, second, *_ = comparison.levels
    if comparison.reference:
        return reference_sentence(comparison)
    difference = next(d for d in comparison.differences if {d.first, d.second} == {best.name, second.name})
    if math.isnan(difference.p):
        why = difference.difference.note or "the data do not show how uncertain the difference is"
        whom, these = "", ""
        if not math.isnan(difference.p_these_workers):
            p = p_equals(difference.p_these_workers)
            whom = " about new workers"
            these = f" About new items and these workers alone, the difference has p {p} (sign-flip test, Holm)."
        return (
            f"{best.name} has the highest mean by {factor}, {number(best.mean.value)}, then {second.name}, "
            f"{number(second.mean.value)}. There is no test{whom}: {why}.{these}"
        )
    tied = [level.name for level in comparison.levels if level.rank[1] == 1]
    if len(tied) == 1:
        others = f"{with_interval(second.mean)} for {second.name}"
        if len(comparison.levels) > 2:
            others += f", the next by {factor}"
        return f"{best.name} is ahead: {with_interval(best.mean)} against {others}. {size_of(difference)}."
    if len(tied) == len(comparison.levels):
        start = f"The data do not show which {factor} is ahead"
    else:
        start = (
            f"{names_in_words(tied)} may be the best by {factor}, ahead of the others; the data do not separate them"
        )
    means = f"{best.name} has {with_interval(best.mean)}, {second.name} {with_interval(second.mean)}"
    return f"{start}: {means}. {size_of(difference)}."


def reference_sentence(comparison: Comparison) -> str:
    """Which levels are above the reference, which below, and which differ too little to tell."""
    base = next(level for level in comparison.levels if level.name == comparison.reference)
    groups: dict[str, list[str]] = {"above": [], "below": [], "not significantly different from": []}
    untested = [pair for pair in comparison.differences if math.isnan(pair.p_corrected)]
    for pair in comparison.differences:
        if pair in untested:
            continue
        side = "above" if pair.difference.value > 0 else "below"
        groups[side if pair.p_corrected < 0.05 else "not significantly different from"].append(pair.first)
    parts = [
        f"{names_in_words(members)} {'is' if len(members) == 1 else 'are'} {side}"
        for side, members in groups.items()
        if members
    ]
    start = f"{'; '.join(parts)} {base.name}, which has" if parts else f"The reference {base.name} has"
    sentences = [f"{start} {with_interval(base.mean)}."]
    if untested:
        sentences.append(f"There is no test of {names_in_words([pair.first for pair in untested])}.")
    largest = max(comparison.differences, key=lambda pair: abs(pair.difference.value))
    return " ".join([*sentences, f"The largest difference: {largest.first}. {size_of(largest)}."])


def size_of(pair: Difference) -> str:
    """The difference with its interval, p, and size in standard deviations."""
    if math.isnan(pair.p_corrected):
        return f"Difference {number(pair.difference.value)}"
    effect = "" if math.isnan(pair.effect.value) else f", Cohen’s d {number(pair.effect.value)}"
    return f"Difference {with_interval(pair.difference)}, p {p_equals(pair.p_corrected)} (Holm){effect}"


def larger_first(first: str, second: str, difference: Estimate) -> tuple[str, Estimate]:
    """“first − second” with the difference, or both the other way round so that it is positive."""
    if not difference.value < 0:
        return f"{first} − {second}", difference
    turned = replace(difference, value=-difference.value, low=-difference.high, high=-difference.low)
    return f"{second} − {first}", turned


def mean_sentences(criteria: Sequence[tuple[str, Answers]]) -> list[tuple[str, str]]:
    """The mean over items of each criterion, where nothing is compared. If no mean has an interval, for the same
    reason, a sentence of its own says so once."""
    sentences, reasons = [], []
    for name, answers in criteria:
        sentence, reason = mean_sentence(answers)
        sentences.append((name, sentence))
        reasons.append(reason)
    if len(reasons) > 1 and len(set(reasons)) == 1 and reasons[0]:
        return [*sentences, ("intervals", f"There are none: {reasons[0]}.")]
    return [
        (name, f"{sentence} There is no interval: {reason}." if reason else sentence)
        for (name, sentence), reason in zip(sentences, reasons, strict=True)
    ]


def mean_sentence(answers: Answers) -> tuple[str, str]:
    """The mean over items, and why it has no interval; empty if it has one."""
    weights = answers.weights(answers.items * 0)
    mean = ratios(answers.values * weights, weights, answers.dimensions).estimate(bounds=answers.bounds)
    size = counted(len(answers), "answer")
    if not np.allclose(weights, weights[0]):  # the tables also have the mean of all answers, which differs
        return f"Mean of items {with_interval(mean)}, from {size}; every item counts the same.", mean.note
    return f"Mean {with_interval(mean)}, over {size}.", mean.note
