"""The figures of marks that the report and ``python -m analysis spans`` show: agreement and scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.estimate import Estimate
from analysis.inference import Dimensions, mean_estimate, ratios
from analysis.spans.agreement import by_severity, characters, whatever, whole
from analysis.spans.alpha import character_alpha
from analysis.spans.answers import MarkedAnswer
from analysis.spans.gamma import gamma
from analysis.spans.marks import Span
from analysis.spans.pooled import pooled_f1

PER_WORDS = 100


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """``key`` names it in the data, ``title`` on pages."""

    key: str
    title: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class LevelScores:
    """The scores of one system, or of one worker. ``score``: the mean of minus the weights, so that more is better;
    ``z``: the same after standardising within each worker; ``errors``: marks per 100 words."""

    level: str
    answers: int
    marks: int
    score: Estimate
    z: Estimate
    errors: Estimate


def by_label(span: Span) -> str:
    return span.label


def agreement_figures(answers: Sequence[MarkedAnswer], *, seed: int = 1) -> list[AgreementFigure]:
    """F1, α and γ on where, and how bad; with labels also on these."""
    sames: list[tuple[str, str, Callable[[Span], object]]] = [
        ("", "", whatever),
        ("_severity", ", severity", by_severity),
    ]
    if any(span.label for answer in answers for span in answer.spans):
        sames.append(("_label", ", label", by_label))
    grouped, lengths = _by_text(answers)
    figures = []
    for key, title, same in sames:
        figures += [
            AgreementFigure(
                f"f1_characters{key}", f"F1 of characters{title}", pooled_f1(grouped, partial(characters, same=same))
            ),
            AgreementFigure(
                f"f1_marks{key}", f"F1 of whole marks{title}", pooled_f1(grouped, partial(whole, same=same))
            ),
            AgreementFigure(
                f"alpha{key}", f"Krippendorff's α of characters{title}", character_alpha(grouped, lengths, same)
            ),
            AgreementFigure(f"gamma{key}", f"γ{title}", gamma(grouped, lengths, same, seed=seed)),
        ]
    return figures


def agreement_on(
    answers: Sequence[MarkedAnswer], chosen: Callable[[Span], bool], *, seed: int = 1
) -> list[AgreementFigure]:
    """The same figures for some of the marks alone, such as those of one severity."""
    kept, lengths = _by_text(answers, chosen)
    return [
        AgreementFigure("f1_characters", "F1 of characters", pooled_f1(kept, characters)),
        AgreementFigure("f1_marks", "F1 of whole marks", pooled_f1(kept, whole)),
        AgreementFigure("alpha", "Krippendorff's α of characters", character_alpha(kept, lengths, whatever)),
        AgreementFigure("gamma", "γ", gamma(kept, lengths, whatever, seed=seed)),
    ]


def agreement_by(answers: Sequence[MarkedAnswer], *, seed: int = 1) -> list[tuple[str, str, list[AgreementFigure]]]:
    """By severity, then by label: ``severity`` or ``label``, its name, and the agreement on its marks alone."""
    spans = [span for answer in answers for span in answer.spans]
    severities = sorted({span.severity for span in spans})
    labels = sorted({span.label for span in spans if span.label})
    return [
        *(("severity", name, agreement_on(answers, _has_severity(name), seed=seed)) for name in severities),
        *(("label", name, agreement_on(answers, _has_label(name), seed=seed)) for name in labels),
    ]


def _has_severity(name: str) -> Callable[[Span], bool]:
    return lambda span: span.severity == name


def _has_label(name: str) -> Callable[[Span], bool]:
    return lambda span: span.label == name


def _by_text(
    answers: Sequence[MarkedAnswer], chosen: Callable[[Span], bool] = lambda span: True
) -> tuple[dict[tuple[object, str], list[tuple[str, Sequence[Span]]]], dict[tuple[object, str], int]]:
    """By text, the workers with their marks, and its length."""
    grouped: dict[tuple[object, str], list[tuple[str, Sequence[Span]]]] = {}
    lengths: dict[tuple[object, str], int] = {}
    for answer in answers:
        marks = [span for span in answer.spans if chosen(span)]
        grouped.setdefault(answer.place, []).append((answer.worker, marks))
        lengths[answer.place] = max(lengths.get(answer.place, 0), answer.length)
    return grouped, lengths


# --- scores ---


def standardised(answers: Sequence[MarkedAnswer]) -> np.ndarray:
    """z of each answer's score (N,) within its worker: minus the worker's mean, divided by the worker's standard
    deviation (n − 1). NaN for workers who gave one answer, or the same score every time."""
    z = np.full(len(answers), math.nan)
    scores = np.array([-answer.weight for answer in answers])
    workers = np.array([answer.worker for answer in answers])
    for worker in np.unique(workers):
        own = workers == worker
        spread = scores[own].std(ddof=1) if own.sum() > 1 else 0.0
        if spread > 0:
            z[own] = (scores[own] - scores[own].mean()) / spread
    return z


def scores_by(answers: Sequence[MarkedAnswer], level_of: Callable[[MarkedAnswer], str]) -> list[LevelScores]:
    """The scores of each level, such as each system, in the order of their names."""
    z = standardised(answers)
    levels = np.array([level_of(answer) for answer in answers])
    return [
        _scores(
            str(level),
            [answer for answer, used in zip(answers, levels == level, strict=True) if used],
            z[levels == level],
        )
        for level in np.unique(levels)
    ]


def _scores(level: str, answers: Sequence[MarkedAnswer], z: np.ndarray) -> LevelScores:
    dimensions = Dimensions.of(items=[answer.item for answer in answers], workers=[answer.worker for answer in answers])
    score = mean_estimate([-answer.weight for answer in answers], dimensions)
    has_z = ~np.isnan(z)
    standard = Estimate(math.nan, n_of="answers", note="no worker gave two different scores")
    if has_z.any():
        standard = mean_estimate(z[has_z], dimensions.chosen(has_z))
    return LevelScores(
        level,
        len(answers),
        sum(len(answer.spans) for answer in answers),
        score,
        standard,
        _errors(answers, dimensions),
    )


def _errors(answers: Sequence[MarkedAnswer], dimensions: Dimensions) -> Estimate:
    """Marks per 100 words of all texts together."""
    used = np.array([answer.words > 0 for answer in answers])
    if not used.any():
        return Estimate(math.nan, n_of="answers", note="the texts are not known")
    marks = np.array([float(len(answer.spans)) for answer in answers])[used]
    words = np.array([float(answer.words) for answer in answers])[used]
    return ratios(PER_WORDS * marks, words, dimensions.chosen(used)).estimate(bounds=(0, math.inf))


@dataclass(frozen=True, slots=True)
class SegmentScore:
    """One text: its mean score over workers, mean z, and marks per 100 words."""

    item: str
    part: str
    system: str
    answers: int
    score: float
    z: float
    errors: float


def segment_scores(answers: Sequence[MarkedAnswer]) -> list[SegmentScore]:
    """In the order in which the texts appear."""
    z = standardised(answers)
    texts: dict[tuple[str, str], list[int]] = {}
    for number, answer in enumerate(answers):
        texts.setdefault(answer.place, []).append(number)
    scores = []
    for (item, part), numbers in texts.items():
        of_text = [answers[number] for number in numbers]
        known = [z[number] for number in numbers if not math.isnan(z[number])]
        words = sum(answer.words for answer in of_text)
        marks = sum(len(answer.spans) for answer in of_text)
        scores.append(
            SegmentScore(
                item,
                part,
                of_text[0].system,
                len(of_text),
                float(np.mean([-answer.weight for answer in of_text])),
                float(np.mean(known)) if known else math.nan,
                PER_WORDS * marks / words if words else math.nan,
            )
        )
    return scores
