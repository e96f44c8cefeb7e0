"""All rules as data: names, descriptions, thresholds. Forms, pages, commands, reports and docs are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.quality_control import answers, texts
from analysis.quality_control.work import Finding, Work

Finds = Callable[[Work, float], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``unit`` is what the threshold counts; ``default`` None means off unless a study sets it.

    ``least`` and ``most`` bound the threshold, so that no setting flags everybody or nobody by definition.
    ``whole_number``: the threshold is a whole number. ``later``: found only when all submissions are checked together,
    or because it loads a model. ``people``: simulated workers are left out.
    """

    name: str
    label: str
    description: str
    unit: str
    default: float | None
    least: float
    most: float
    whole_number: bool = False
    later: bool = False
    people: bool = False
    finds: Finds | None = None

    def in_words(self, threshold: float) -> str:
        """The threshold with its unit: ``1 wrong answer``, ``once``, ``3 words``, ``0.7 (share right, 0 to 1)``."""
        if not self.whole_number:
            return f"{threshold:g} ({self.unit})"
        if self.unit == "times" and threshold == 1:
            return "once"
        return f"{threshold:,.0f} {self.unit.removesuffix('s') if threshold == 1 else self.unit}"


RULES: tuple[Rule, ...] = (
    Rule(
        "gold_wrong",
        "Gold answers wrong",
        "The share of right answers to gold items in one submission is lower than this.",
        "share right, 0 to 1",
        0.7,
        0.05,
        1.0,
        finds=answers.gold_wrong,
    ),
    Rule(
        "attention_failed",
        "Attention checks failed",
        "At least this many answers to attention items in one submission are wrong.",
        "wrong answers",
        1,
        1,
        100,
        whole_number=True,
        finds=answers.attention_failed,
    ),
    Rule(
        "too_fast",
        "Too fast",
        "A submission took less time per question than this, over all pages or in the median question.",
        "seconds per question",
        1.0,
        0.1,
        600,
        finds=answers.too_fast,
    ),
    Rule(
        "too_short",
        "Text too short",
        "A text has fewer words than this. Questions that ask for less have a lower limit.",
        "words",
        3,
        1,
        1000,
        whole_number=True,
        finds=texts.too_short,
    ),
    Rule(
        "copied",
        "Text copied from the page",
        "At least this share of a text's words is one run of words that the page showed.",
        "share of words, 0 to 1",
        0.9,
        0.3,
        1.0,
        finds=texts.copied,
    ),
    Rule(
        "pasted",
        "Text pasted",
        "Text was pasted at least this many times in one submission.",
        "times",
        1,
        1,
        1000,
        whole_number=True,
        finds=answers.pasted,
    ),
    Rule(
        "same_text",
        "Same text sent before",
        "A text of at least this many words is the same as another of this worker or of somebody else.",
        "words",
        3,
        1,
        1000,
        whole_number=True,
        people=True,
    ),
    Rule(
        "gibberish",
        "Gibberish",
        "At least this share of a text's words is unknown, or the text repeats one letter or word.",
        "share of words, 0 to 1",
        0.6,
        0.3,
        1.0,
        finds=texts.no_words,
    ),
    Rule(
        "language",
        "Another language",
        "A text is in a language that the study does not use, with at least this probability.",
        "probability, 0 to 1",
        0.95,
        0.5,
        1.0,
        later=True,
    ),
    Rule(
        "straight_lining",
        "Same answer throughout",
        "At least this share of the answers on one scale is one run of the same answer (five answers or more).",
        "share of answers, 0 to 1",
        0.9,
        0.3,
        1.0,
        finds=answers.straight_lining,
    ),
    Rule(
        "contradictory",
        "Contradictory answers",
        "Answers to opposite statements, or to the same question asked twice, are this far from consistent. An "
        "explanation that says the opposite of its answer counts as 1.",
        "share of the scale, 0 to 1",
        0.6,
        0.1,
        1.0,
        finds=answers.contradictory,
    ),
    Rule(
        "far_from_others",
        "Ratings far from the others'",
        "A worker's distance from the others has a modified z-score above this.",
        "modified z-score",
        3.5,
        1.0,
        100,
        later=True,
    ),
)
RULE: Mapping[str, Rule] = {rule.name: rule for rule in RULES}


@dataclass(frozen=True, slots=True)
class Settings:
    """A study's settings: the threshold of every rule (None: off), the languages of its texts, opposite topics."""

    thresholds: Mapping[str, float | None]
    languages: tuple[str, ...] = ("en",)
    opposites: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Settings:
        """From a study's settings. What is missing has its default."""
        thresholds = {rule.name: stored.get(rule.name, rule.default) for rule in RULES}
        pairs = tuple((row["first"], row["second"]) for row in stored.get("opposites", ()))
        return cls(thresholds, tuple(stored.get("languages", ("en",))), pairs)

    def at(self, name: str) -> float | None:
        return self.thresholds[name]


def find_in(work: Work, settings: Settings) -> Iterator[Finding]:
    """What the quick rules find in one submission: no model, no other submission. In the order of RULES."""
    for rule in RULES:
        threshold = settings.thresholds[rule.name]
        if rule.finds is None or threshold is None:
            continue
        if rule.name == "contradictory":
            yield from answers.contradictory(work, threshold, settings.opposites)
        else:
            yield from rule.finds(work, threshold)


def find_in_words(work: Work, settings: Settings) -> Iterator[Finding]:
    """What the rules that load a model find in one submission's texts."""
    from analysis.quality_control import language

    foreign_at, unknown_at = settings.at("language"), settings.at("gibberish")
    if foreign_at is not None:
        yield from language.foreign(work, foreign_at, settings.languages)
    if unknown_at is not None:
        limit = 0.95 if foreign_at is None else foreign_at
        yield from language.unknown_words(work, unknown_at, settings.languages, foreign_at=limit)


def by_rule(reasons: Iterable[str]) -> dict[str, int]:
    """How often each reason occurs, in the order of RULES; unknown ones last."""
    names: Sequence[str] = list(reasons)
    order = [rule.name for rule in RULES if rule.name in names]
    order += sorted(set(names) - set(order))
    return {name: names.count(name) for name in order}
