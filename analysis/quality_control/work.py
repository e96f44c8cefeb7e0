"""What the rules read: one submission, its free texts, and the right answers of its gold and attention items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.description import Level
from analysis.quality_control.answer_rules import (
    Above,
    AnswerRule,
    ExactOptions,
    Rated,
    figures_below,
    part_below,
    rule_of,
)

#: The place of a finding that is about the submission as a whole.
WHOLE = "submission"


@dataclass(frozen=True, slots=True)
class Check:
    """The right answers of a gold or attention item.

    ``answers`` has the right ones by topic, or by topic/target for a part of the item: as text, and numbers as ``%g``
    writes them. A number may be off by ``tolerance``. ``rules`` has rules under the same names: an answer is right if
    it is one of the answers or meets one of the rules. ``explanation`` is what the worker may read afterwards, and
    ``explanations`` what they may read about one question or part, under the same names.
    """

    role: str
    answers: Mapping[str, Sequence[str]]
    tolerance: float = 0.0
    explanation: str = ""
    rules: Mapping[str, Sequence[AnswerRule]] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Check | None:
        """The check in an item's payload; None without one."""
        if not stored:
            return None
        rules = {name: [rule_of(rule) for rule in several] for name, several in stored.get("rules", {}).items()}
        tolerance, explanation = float(stored["tolerance"]), stored["explanation"]
        return cls(
            stored["role"], stored["answers"], tolerance, explanation, rules, dict(stored.get("explanations", {}))
        )

    def stored(self) -> dict[str, Any]:
        """The check as JSON values. `of` reads them back."""
        stored: dict[str, Any] = {
            "role": self.role,
            "answers": {name: list(right) for name, right in self.answers.items()},
            "tolerance": self.tolerance,
            "explanation": self.explanation,
        }
        if self.rules:
            stored["rules"] = {name: [rule.stored() for rule in several] for name, several in self.rules.items()}
        if self.explanations:
            stored["explanations"] = dict(self.explanations)
        return stored

    def explanation_of(self, question: str, target: str) -> str:
        """What it explains about one rating in particular; empty if it explains nothing but the whole item."""
        return self.explanations.get(f"{question}/{target}") or self.explanations.get(question, "")

    def name_for(self, question: str, target: str) -> str:
        """The name under which it says what a rating must be: topic/target, or else the topic. Empty: nowhere."""
        names = (f"{question}/{target}", question) if target else (question,)
        return next((name for name in names if name in self.answers or name in self.rules), "")

    def is_right(self, question: str, target: str, value: float | None, text: str = "") -> bool | None:
        """Whether an answer is right; None if this item has no right answer to the question, or only one about several
        ratings together (`verdicts`)."""
        name = self.name_for(question, target)
        rules = self.rules.get(name, ())
        if not name or any(isinstance(rule, Above | ExactOptions) for rule in rules):
            return None
        right = self.answers.get(name, ())
        if any(rule.holds(value, text) for rule in rules if not isinstance(rule, Above | ExactOptions)):
            return True
        if value is None:
            answer_text = " ".join(text.casefold().split())
            return any(answer_text == " ".join(right_answer.casefold().split()) for right_answer in right)
        numbers = [number for right_answer in right if (number := as_number(right_answer)) is not None]
        return any(abs(value - number) <= self.tolerance + 1e-9 for number in numbers)

    def together(self, rows: Sequence[Rated]) -> dict[str, bool]:
        """By topic or topic/part, whether the ratings of one submission meet a rule on several of them."""
        verdicts: dict[str, bool] = {}
        for name, rules in self.rules.items():
            figures = figures_below(rows, name)
            judged = [rule.judge(figures) for rule in rules if isinstance(rule, Above | ExactOptions)]
            if decided := [right for right in judged if right is not None]:
                verdicts[name] = any(decided)
        return verdicts

    def is_about(self, name: str, question: str, target: str) -> bool:
        """Whether a rule under this name on several ratings looks at one of this question and target."""
        part = part_below(question, target, name)
        rules = self.rules.get(name, ())
        return part is not None and any(not isinstance(rule, Above) or part in rule.order for rule in rules)

    def verdicts(self, rows: Sequence[Rated]) -> list[bool]:
        """Whether each answer of one submission about this item is right; those that cannot be wrong are left out. An
        answer that several ratings make counts once."""
        alone = (self.is_right(*row) for row in rows)
        return [*(right for right in alone if right is not None), *self.together(rows).values()]


def is_check(stored: Mapping[str, Any]) -> bool:
    """Whether an object can be read as a `Check`; an empty one stands for an item without."""
    if not stored:
        return True
    answers, tolerance = stored.get("answers"), stored.get("tolerance")
    explanations = stored.get("explanations", {})
    if not isinstance(explanations, dict):
        return False
    texts = [stored.get("role"), stored.get("explanation"), *explanations.values()]
    right = isinstance(answers, dict) and all(
        isinstance(right_answers, list) and all(isinstance(part, str) for part in right_answers)
        for right_answers in answers.values()
    )
    number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    return right and number and all(isinstance(text, str) for text in texts) and _are_rules(stored.get("rules", {}))


def _are_rules(stored: Any) -> bool:
    try:
        return isinstance(stored, dict) and all(rule_of(rule) for rules in stored.values() for rule in rules)
    except (ValueError, TypeError):
        return False


def as_number(text: str) -> float | None:
    """The number that a text contains, or None."""
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Answered:
    """One rating of a submission, as it is stored. ``low`` and ``high`` are the ends of its scale."""

    item: str
    question: str
    target: str
    value: float | None
    text: str = ""
    step: int = 0
    level: Level = "ordinal"
    low: float = 0.0
    high: float = 1.0

    @property
    def share(self) -> float | None:
        """The value from 0, the low end of the scale, to 1."""
        if self.value is None or self.high <= self.low:
            return None
        return (self.value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A point chosen on the page, before sides are converted back."""

    scale: str
    value: float


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A free text. ``sources`` are what the page showed and the writer could copy; ``least_words`` is the shortest
    answer that is not worth a look. ``contradicts``: how the text contradicts the answer that it explains."""

    text: str
    step: int
    key: str
    sources: Sequence[str] = ()
    least_words: int = 3
    contradicts: str = ""

    @property
    def place(self) -> str:
        return f"{self.step}.{self.key}"[:100]

    @property
    def quoted(self) -> str:
        return f"“{self.text[:80]}{'…' if len(self.text) > 80 else ''}”"


@dataclass(frozen=True, slots=True)
class Work:
    """One submission. ``questions`` counts the answers given.

    ``seconds``: from acceptance to the last step by the server's clock; None for simulated workers, who need
    milliseconds. ``times``: seconds spent on each question, as the browser measured them. ``first_answers``: the
    answers with those from before an explanation, where a page came back with one; None if no page did.
    """

    answers: Sequence[Answered] = ()
    chosen: Sequence[Chosen] = ()
    texts: Sequence[WrittenText] = ()
    questions: int = 0
    seconds: float | None = None
    times: Sequence[float] = ()
    pastes: int = 0
    checks: Mapping[str, Check] = field(default_factory=dict)
    first_answers: Sequence[Answered] | None = None

    def checked(self, role: str) -> list[bool]:
        """Whether each first answer to an item with this role is right; answers that cannot be wrong are left out."""
        rows: dict[str, list[Rated]] = {}
        for answer in self.answers if self.first_answers is None else self.first_answers:
            rows.setdefault(answer.item, []).append(Rated(answer.question, answer.target, answer.value, answer.text))
        return [
            right
            for item, about_item in rows.items()
            if (check := self.checks.get(item)) is not None and check.role == role
            for right in check.verdicts(about_item)
        ]


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason to look at a submission: the ``value`` that was found, and the ``threshold`` that it crossed.

    ``place`` distinguishes several findings of one rule; ``other`` is the submission that the finding points to.
    """

    reason: str
    detail: str
    value: float
    threshold: float
    place: str = WHOLE
    other: int | None = None


#: The ratings of the pages that can come back with an explanation, each with the number of its try, by submission and
#: item.
Tries = Mapping[tuple[int, Any], Sequence[tuple[int, Rated]]]


def first_answers(rated: Sequence[Rated], tries: Sequence[tuple[int, Rated]]) -> list[Rated]:
    """The ratings about one item in one submission, with first answers in place of those after an explanation."""
    tried = {(row.question, row.target) for _, row in tries}
    first = [row for attempt, row in tries if attempt == 1]
    return [*first, *(row for row in rated if (row.question, row.target) not in tried)]


def gold_tally(
    rows: Iterable[tuple[int, str, Any, Rated]], checks: Mapping[Any, Check], tries: Tries | None = None
) -> dict[str, tuple[int, int]]:
    """By worker, how many first answers to gold items are right, and how many there are. ``rows``: submission, worker,
    item and rating."""
    together: dict[tuple[int, str, Any], list[Rated]] = {}
    for submission, worker, item, rated in rows:
        together.setdefault((submission, worker, item), []).append(rated)
    tally: dict[str, tuple[int, int]] = {}
    for (submission, worker, item), about_item in together.items():
        for right in checks[item].verdicts(first_answers(about_item, (tries or {}).get((submission, item), ()))):
            right_count, n = tally.get(worker, (0, 0))
            tally[worker] = (right_count + right, n + 1)
    return tally
