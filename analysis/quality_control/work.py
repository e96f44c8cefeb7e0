"""What the rules read: one submission, its free texts, and the right answers of its gold and attention items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.description import Level

#: The place of a finding that is about the submission as a whole.
WHOLE = "submission"


@dataclass(frozen=True, slots=True)
class Check:
    """The right answers of a gold or attention item.

    ``answers`` has the right ones by topic, or by topic/target for a part of the item: as text, and numbers as ``%g``
    writes them. A number may be off by ``tolerance``. ``explanation`` is what the worker may read afterwards.
    """

    role: str
    answers: Mapping[str, Sequence[str]]
    tolerance: float = 0.0
    explanation: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Check | None:
        """The check in an item's payload; None without one."""
        if not stored:
            return None
        return cls(stored["role"], stored["answers"], float(stored["tolerance"]), stored["explanation"])

    def stored(self) -> dict[str, Any]:
        """The check as JSON values. `of` reads them back."""
        answers = {name: list(right) for name, right in self.answers.items()}
        return {
            "role": self.role,
            "answers": answers,
            "tolerance": self.tolerance,
            "explanation": self.explanation,
        }

    def is_right(self, question: str, target: str, value: float | None, text: str = "") -> bool | None:
        """Whether an answer is right; None if this item has no right answer to the question."""
        right = self.answers.get(f"{question}/{target}") if target else None
        right = self.answers.get(question) if right is None else right
        if right is None:
            return None
        if value is None:
            answer_text = " ".join(text.casefold().split())
            return any(answer_text == " ".join(right_answer.casefold().split()) for right_answer in right)
        numbers = [number for right_answer in right if (number := as_number(right_answer)) is not None]
        return any(abs(value - number) <= self.tolerance + 1e-9 for number in numbers)


def is_check(stored: Mapping[str, Any]) -> bool:
    """Whether an object can be read as a `Check`; an empty one stands for an item without."""
    if not stored:
        return True
    answers, tolerance = stored.get("answers"), stored.get("tolerance")
    texts = [stored.get("role"), stored.get("explanation")]
    right = isinstance(answers, dict) and all(
        isinstance(right_answers, list) and all(isinstance(part, str) for part in right_answers)
        for right_answers in answers.values()
    )
    number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    return right and number and all(isinstance(text, str) for text in texts)


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
    milliseconds. ``times``: seconds spent on each question, as the browser measured them.
    """

    answers: Sequence[Answered] = ()
    chosen: Sequence[Chosen] = ()
    texts: Sequence[WrittenText] = ()
    questions: int = 0
    seconds: float | None = None
    times: Sequence[float] = ()
    pastes: int = 0
    checks: Mapping[str, Check] = field(default_factory=dict)

    def checked(self, role: str) -> list[bool]:
        """Whether each answer to an item with this role is right; answers that cannot be wrong are left out."""
        verdicts = (
            check.is_right(answer.question, answer.target, answer.value, answer.text)
            for answer in self.answers
            if (check := self.checks.get(answer.item)) is not None and check.role == role
        )
        return [right for right in verdicts if right is not None]


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


def gold_tally(rows: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """By worker, how many answers to gold items are right, and how many there are."""
    tally: dict[str, tuple[int, int]] = {}
    for worker, right in rows:
        right_count, n = tally.get(worker, (0, 0))
        tally[worker] = (right_count + right, n + 1)
    return tally
