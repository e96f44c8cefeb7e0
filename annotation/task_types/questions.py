"""Questions as data: what every kind of question has in common, and grids of scales.

A question's one description makes its widget, the server's check, the ratings, simulated answers and the analysis, so
they cannot disagree. The kinds are in `annotation.task_types.kinds`, one folder each; nothing else lists them.
"""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from analysis.description import TEXT, Kind, Point, QuestionDescription, ReportSection, Scale, Score
from annotation.languages import gettext as _

if TYPE_CHECKING:
    from django import forms

    from annotation.task_types.answer_rules import About, RulesRead
    from annotation.task_types.for_judges import ForJudge
    from annotation.task_types.simulation import SimulatedWorker

#: A point's value, a text, or the keys of chosen or ranked options. None: left out.
Answer = float | str | list[str] | None
#: Everything in a form, by field name.
Form = Mapping[str, str]
#: The right answers for a target of the ratings, as an items file has them; empty where there are none.
Right = Callable[[str], Sequence[str]]

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
MAX_CHARS = 20_000

#: The scale for every option of a question with several choices.
CHOSEN = Scale("chosen", "nominal", (Point(1.0, "chosen"), Point(0.0, "not chosen")))


class AnswerError(ValueError):
    """An answer that cannot be accepted. ``str()`` is the message for the worker."""


@dataclass(frozen=True, slots=True)
class ShownIf:
    """Shows a question only if question ``key`` on the same page has one of ``values`` as its answer."""

    key: str
    values: tuple[float | str, ...]

    def holds(self, answers: Mapping[str, Answer]) -> bool:
        answer = answers.get(self.key)
        chosen = answer if isinstance(answer, list) else [answer]
        return any(value in chosen for value in self.values)


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored for one answer about ``target``: a number, a text, or a number with the parts it is made of."""

    target: str
    value: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A question in a small picture of its page. ``shape``: ``box`` for a text box, ``line`` for a line of text with
    marks, ``dots`` for a row of points, ``bar`` for a slider, ``dot`` or ``tick`` for a list of options. ``count``: how
    many points or options; 0: the question is not drawn."""

    shape: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What a study says about a question of any kind; the kind's own settings come beside it. ``key_of``: the name of
    the form field for a topic."""

    key: str
    label: str
    topic: str
    help: str = ""
    target: str = ""
    required: bool = True
    shown_if: ShownIf | None = None
    key_of: Callable[[str], str] = str

    def part(self, name: str, label: str, *, help: str = "", required: bool = True) -> Asked:
        """The same for one question of a group: ``name`` is added to its key and to its topic."""
        topic = f"{self.topic}_{name}"
        required = self.required and required
        return replace(self, key=self.key_of(topic), label=label, topic=topic, help=help, required=required)

    def arguments(self) -> dict[str, Any]:
        """The same as keyword arguments of a `Question`."""
        return {
            name: getattr(self, name) for name in ("key", "label", "topic", "help", "target", "required", "shown_if")
        }


@dataclass(frozen=True, slots=True)
class Question(ABC):
    """A question on a page. ``key`` names the form field and is unique on the page.

    ``topic`` names the question in the data and is the same for every item and target. ``target`` is the part of the
    item that the question is about, and becomes the target of the rating.
    """

    kind: ClassVar[Kind]
    #: What the console calls the kind.
    kind_name: ClassVar[str] = ""
    #: Whether the drawn question is cached by its values: for kinds with much markup and few values.
    cached: ClassVar[bool] = False
    #: Whether people write in it: its edits can be recorded, and quality control reads it.
    writes: ClassVar[bool] = False
    #: The settings with which a study describes a question of this kind, besides those of `Asked`. None: only task
    #: types in Python ask such questions.
    settings_form: ClassVar[type[forms.Form] | None] = None
    #: Scripts of its own, by their names among the static files; loaded only by pages that ask such a question.
    scripts: ClassVar[Sequence[str]] = ()
    #: Style sheets of its own, likewise.
    styles: ClassVar[Sequence[str]] = ()
    #: Whether it can be asked about a single text only.
    of_one_text: ClassVar[bool] = False
    key: str
    label: str
    topic: str
    scale: Scale = TEXT
    help: str = ""
    target: str = ""
    required: bool = True
    shown_if: ShownIf | None = None

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        """The question that a study describes. ``settings`` are clean values of `settings_form`."""
        raise TypeError(f"a study cannot describe a {cls.__name__}")

    def of_item(self, texts: Mapping[str, str]) -> Question:
        """The question about an item that shows these texts, by name in the order shown. A question about one text
        (``target``) gets that text alone. Kinds that mark or compare texts override it. Default: the same question."""
        return self

    @property
    def questions(self) -> Sequence[Question]:
        """What a page with it asks: itself. A `Group` asks several."""
        return (self,)

    @property
    def given_column(self) -> str:
        """The column of the items file with an answer that the page shows at the beginning, for the worker to confirm
        or change. Empty, the default: none."""
        return ""

    def check_given(self, cell: str) -> tuple[str, str] | None:
        """What is wrong with a cell of `given_column`, and how to fix it. The question has its texts (`of_item`)."""
        return None

    def with_given(self, cell: str) -> Question:
        """The question that shows the answer in this cell, which `check_given` accepts."""
        return self

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """The rules in the whole cell with the right answer about an item; None, the default: it has plain answers.

        A kind reads only forms that it owns. Raises `answer_rules.RuleError` about a rule that it cannot use."""
        return None

    # --- the widget ---

    @property
    def shows_text(self) -> bool:
        """Whether its widget shows the text that it is about, so that the page does not show it a second time."""
        return False

    @property
    def template(self) -> str:
        """The template that renders it. Gets ``question``, ``values`` (the form as typed), ``error`` and what `drawn`
        returns."""
        return f"annotation/questions/{self.kind}.html"

    def drawn(self, values: Form) -> dict[str, Any]:
        """What its template needs besides what every question's template gets."""
        return {}

    @property
    def sketch(self) -> Sketch:
        """The question in a small picture of the page."""
        return Sketch("box")

    # --- the check ---

    @abstractmethod
    def clean(self, form: Form) -> Answer:
        """The answer in the form, or None if an optional answer is left out. Raises AnswerError."""

    @abstractmethod
    def typed(self, answer: Answer) -> dict[str, str]:
        """The form fields for this answer. `clean` turns them back into the answer."""

    def agrees(self, answer: Answer, right: Answer) -> bool:
        """Whether the answer is as good as ``right``. Default: the same; the order of options and the case of letters
        do not matter."""
        if isinstance(answer, list) and isinstance(right, list):
            return sorted(answer) == sorted(right)
        if isinstance(answer, str) and isinstance(right, str):
            return " ".join(answer.split()).casefold() == " ".join(right.split()).casefold()
        return answer == right

    # --- what is stored ---

    @abstractmethod
    def stored(self, answer: Answer) -> list[Stored]:
        """The ratings that an answer makes."""

    @property
    def stored_on(self) -> Scale:
        """The scale of the ratings from this question."""
        return self.scale

    # --- what the analysis and quality control see ---

    def describe(self) -> QuestionDescription:
        """The question as the analysis sees it."""
        return QuestionDescription(self.topic, self.label, self.scale, self.kind, self.help, self.bounds())

    def bounds(self) -> Mapping[str, float]:
        return {}

    def score(self) -> Score | None:
        """The score that its answers make. Default: their mean, if its scale has an order."""
        return Score(self.topic, self.label) if self.stored_on.level in ("ordinal", "interval") else None

    def sections(self) -> Sequence[ReportSection]:
        """Sections of the report for this question alone, besides those that all questions have. Default: none."""
        return ()

    def texts_in(self, answer: Answer) -> list[str]:
        """The worker's own words in an answer, which quality control reads. Default: none."""
        return []

    def point_in(self, answer: Answer) -> float | None:
        """The point chosen on an ordered scale, which the rule on straight lines reads. Default: None."""
        return None

    # --- answers in words ---

    def every_answer(self) -> Sequence[Answer]:
        """All possible answers, if there are few. Default: none."""
        return ()

    def names(self) -> Mapping[float | str, str]:
        """The page's words for each possible answer, or for each option that an answer lists. Default: none."""
        return {}

    def short_names(self) -> Mapping[float | str, str]:
        """The same for a sentence about the question: without the number of a point that has a name."""
        return self.names()

    def in_words(self, answer: Answer) -> str:
        """An answer in the page's words; empty for None."""
        if answer is None:
            return ""
        if isinstance(answer, list):
            names = self.names()
            return "; ".join([names.get(key, key) for key in answer] or [_("none of the options")])
        default = f"{answer:g}" if isinstance(answer, float) else str(answer)
        return self.names().get(answer, default)

    # --- a judge's answers ---

    def for_judge(self) -> ForJudge | None:
        """How a judge, such as a language model, answers it. None, the default: a judge cannot."""
        return None

    # --- answers that were never given ---

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """The form fields of a simulated worker's answer about the item with this name. ``true``: the answer of a
        perfect worker on the question's scale; None: any. Every kind has one; a question of a single type may leave it
        to `TaskType.simulate`."""
        raise TypeError(f"no simulated worker can answer a {type(self).__name__}")

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """Answers that a worker could give instead: first those that ``right`` names, then some that differ from them
        in one place, among them one that no rule of quality control flags. Default: none."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Option:
    """One of a question's options. ``key`` is its name in the data and stays the same if its wording changes.

    ``group`` is a heading above the first of several neighbouring options (only in a `ChoicesQuestion`).
    """

    key: str
    label: str
    description: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """Several statements on one scale: a table on a wide screen, one after the other on a narrow one.

    Its questions are ordinary scales, each with its own topic, time and error.
    """

    scripts: ClassVar[Sequence[str]] = ()
    styles: ClassVar[Sequence[str]] = ()
    key: str
    label: str
    questions: tuple[Question, ...]
    help: str = ""

    @property
    def scale(self) -> Scale:
        return self.questions[0].scale


@dataclass(frozen=True, slots=True)
class Group:
    """A kind that asks several questions under one heading. Each is a question of its own in the data, with its own
    topic, answer, time and error; the group draws the heading around them.

    The class variables mean what they mean in `Question`.
    """

    kind: ClassVar[Kind]
    kind_name: ClassVar[str]
    settings_form: ClassVar[type[forms.Form] | None]
    scripts: ClassVar[Sequence[str]] = ()
    styles: ClassVar[Sequence[str]] = ()
    of_one_text: ClassVar[bool] = False
    shows_text: ClassVar[bool] = False
    key: str
    label: str
    questions: tuple[Question, ...]
    help: str = ""

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Group:
        """The questions that a study describes. ``settings`` are clean values of `settings_form`."""
        raise NotImplementedError

    def of_item(self, texts: Mapping[str, str]) -> Group:
        return self

    @property
    def template(self) -> str:
        """The template that draws the heading. Gets ``group`` and ``rows``, the drawn questions."""
        return f"annotation/questions/{self.kind}.html"


Part = Question | Grid | Group


def describe_options(question: Question, options: Sequence[Option]) -> QuestionDescription:
    """A question whose ratings are about its options."""
    named = {joined_target(question.target, option.key): option.label for option in options}
    return QuestionDescription(
        question.topic, question.label, question.stored_on, question.kind, question.help, targets=named
    )


def below_heading(heading: str, label: str) -> str:
    """The label of a question below a heading, as one line."""
    between = " " if heading.endswith(tuple(".?!:…。？！：؟")) else ": "
    return f"{heading}{between}{label}"


def joined_target(*parts: str) -> str:
    """A rating's target from its parts, without empty ones."""
    return "/".join(part for part in parts if part)


def clean_text(raw: str) -> str:
    """``raw`` without control characters (no database stores NUL), with newlines as ``\\n`` and trimmed ends."""
    return _NOT_TEXT.sub("", raw.replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(raw: str) -> str:
    """`clean_text` with a single space wherever there is white space."""
    return " ".join(clean_text(raw).split())
