"""The interface of a task type. Subclass ``TaskType`` in a package of its own; ``registry`` finds it.

A type is stateless: every hook is a function of its arguments, and all randomness comes in as ``rng`` or a seed.
See ``docs/adding-a-task-type.md`` for a walk-through.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from typing import Any, ClassVar, Literal

import yaml
from django import forms

from annotation.task_types.questions import Answer, AnswerError, Question, Scale

Json = dict[str, Any]
Profile = Literal["careful", "noisy", "careless"]
PROFILES: tuple[Profile, ...] = ("careful", "noisy", "careless")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file. ``row`` counts data rows from 1 (0: the whole file); ``column`` may be empty."""

    row: int
    column: str
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class Row:
    """One data row of an imported file, all cells as text. ``number`` counts from 1."""

    number: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ItemData:
    """An item as imported: the researcher's id, and the payload that every other hook receives."""

    external_id: str
    payload: Json


@dataclass(frozen=True, slots=True)
class Shown:
    """What one worker is shown: the hit's items in order, the study's config, and the recorded order."""

    items: Sequence[ItemData]
    config: Json
    order: Json


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One page. ``context`` goes to ``template``; it must hold nothing that the worker may not see."""

    name: str
    title: str
    template: str
    questions: Sequence[Question] = ()
    context: Mapping[str, object] = field(default_factory=dict)
    item: int = 0

    def clean(self, data: Mapping[str, str]) -> tuple[dict[str, Answer], dict[str, str]]:
        """Answers by question key, and errors by question key; the step may be stored when there are none."""
        answers: dict[str, Answer] = {}
        errors: dict[str, str] = {}
        for question in self.questions:
            try:
                answers[question.key] = question.clean(data.get(question.key, ""))
            except AnswerError as error:
                errors[question.key] = str(error)
        return answers, errors


@dataclass(frozen=True, slots=True)
class RatingData:
    """One row of the data set: ``item`` indexes ``Shown.items``; exactly one of ``value`` and ``text`` is set."""

    item: int
    question: str
    scale: str
    target: str = ""
    value: float | None = None
    text: str = ""
    key: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class FlagData:
    """A reason for a person to look at a submission."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """How an item's ratings on one topic become its score: ``sign`` × their mean.

    ``middle``, for an item that compares two things: the rating that finds no difference between them, so that the
    score less ``middle`` is the difference. None for everything else.
    """

    topic: str
    title: str
    sign: Literal[1, -1] = 1
    middle: float | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A worked case of a type: rows of a file, a config, form posts, and the ratings that must come out.

    ``config`` holds what differs from the settings' initial values. ``posts`` holds one form per step; ``ratings``
    lists [item's external id, question, target, value or text], ``flags`` the reasons. ``order`` fixes what is
    shown where it matters. An invalid example has ``problems`` [row, column] (of the file) or ``errors`` [step's
    name, question's key] (of the posts) in place of ratings.
    """

    name: str
    rows: Sequence[Mapping[str, str]]
    config: Mapping[str, Any] = field(default_factory=dict)
    order: Json | None = None
    posts: Sequence[Mapping[str, str]] = ()
    ratings: Sequence[Sequence[Any]] = ()
    flags: Sequence[str] = ()
    problems: Sequence[Sequence[Any]] = ()
    errors: Sequence[Sequence[Any]] = ()


class ConfigForm(forms.Form):
    """A type's settings: fields with types, bounds, help and initial values. Unknown keys are refused for it."""


class TaskType(ABC):
    """One instrument. ``name`` is stored with studies and never changes."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str] = ""
    config_form: ClassVar[type[ConfigForm]] = ConfigForm

    # --- what a researcher gives -------------------------------------------------------------------------------

    @abstractmethod
    def columns(self, config: Json) -> str:
        """One paragraph for researchers: which columns an items file has, and what each holds."""

    @abstractmethod
    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[Problem]]:
        """Items from all rows of a file, and every problem of every row at once.

        Several rows may make one item. The items count only when there are no problems.
        """

    @abstractmethod
    def default_texts(self, config: Json) -> dict[str, str]:
        """The texts that a study may word itself, by name, as plain text with blank lines between paragraphs.

        ``instructions`` is required: it is shown before the first step and beside every later one.
        """

    def plan(self, ids: Sequence[str], *, items_per_hit: int, config: Json, rng: random.Random) -> list[list[str]]:
        """Bundles of external ids, in the order in which hits are given out. Default: shuffled, cut in order."""
        shuffled = list(ids)
        rng.shuffle(shuffled)
        return [shuffled[at : at + items_per_hit] for at in range(0, len(shuffled), items_per_hit)]

    #: Which rows of a generation run are items of this type: a name of ``generation.exporting.FORMATS``. Empty: none.
    run_format: ClassVar[str] = ""

    # --- what a worker sees ------------------------------------------------------------------------------------

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order to record for one assignment. ``slot`` runs 0 … wanted−1 within a hit: balance sides over it.

        ``rng`` is seeded per assignment. Whatever ``steps`` shows in random order, the hit's items among it, must
        come from here: the order is stored as JSON with the answers, and the pages are drawn from it again and again.
        """
        return {}

    @abstractmethod
    def steps(self, shown: Shown, texts: Mapping[str, str]) -> list[StepSpec]:
        """The pages, in order; names are unique. Fewer questions on more pages suits small screens."""

    def question_topics(self, config: Json) -> dict[str, Question]:
        """One sample question per topic, for reports and the export's code book: key topic, any target."""
        return {}

    def stored_scale(self, question: Question) -> Scale:
        """The scale of the ratings of one of `question_topics`, where `ratings` stores them in other terms than asked.

        The same values as workers see; only what they mean may be put in other words.
        """
        return question.scale

    # --- what becomes of the answers ---------------------------------------------------------------------------

    def ratings(
        self, shown: Shown, steps: Sequence[StepSpec], answers: Sequence[Mapping[str, Answer]]
    ) -> list[RatingData]:
        """Rows of the data set from the answers of all steps. Default: one per question that was answered."""
        rows: list[RatingData] = []
        for number, (step, given) in enumerate(zip(steps, answers, strict=True)):
            for question in step.questions:
                answer = given.get(question.key)
                if answer is None:
                    continue
                text = answer if isinstance(answer, str) else ""
                value = None if isinstance(answer, str) else answer
                rows.append(
                    RatingData(
                        step.item,
                        question.topic,
                        question.scale.name,
                        question.about,
                        value,
                        text,
                        question.key,
                        number,
                    )
                )
        return rows

    def flags(
        self, shown: Shown, steps: Sequence[StepSpec], answers: Sequence[Mapping[str, Answer]], *, pastes: int
    ) -> Iterable[FlagData]:
        """Reasons to look at this submission; ``pastes`` counts paste events over all text boxes."""
        return ()

    @abstractmethod
    def simulate(self, shown: Shown, step: StepSpec, *, profile: Profile, rng: random.Random) -> dict[str, str]:
        """The form a simulated worker of ``profile`` sends for ``step``.

        ``careful`` follows the item, ``noisy`` does so with large errors, ``careless`` clicks anything.
        """

    # --- what the analysis may know ----------------------------------------------------------------------------

    #: Names of the report's sections (``analysis.reports``) that suit this type besides the general ones.
    report_sections: ClassVar[Sequence[str]] = ()

    def scores(self) -> Sequence[Score]:
        """The scores of an item that the report tabulates; none for types whose data are texts."""
        return ()

    def parameter(self, payload: Json) -> tuple[str, float] | None:
        """Name and value of what was varied between items, such as a temperature; None where nothing was."""
        return None

    def responses(self, payload: Json) -> list[str]:
        """The texts of the item that automatic metrics score; empty where there is no such set."""
        return []

    @abstractmethod
    def export_columns(self, payload: Json) -> dict[str, str]:
        """The item as columns of the export, in the order of the file it came from."""

    def source_rows(self, payload: Json) -> list[dict[str, str]]:
        """The item as the rows of the file it came from: reading them again gives the same item. Default: one row."""
        return [self.export_columns(payload)]

    @classmethod
    def examples(cls) -> list[Example]:
        """Valid and invalid worked cases, from ``examples/<name>.yaml`` in the type's package.

        The test suite runs every one of them, and the documentation and the preview show them.
        """
        package = import_module(cls.__module__).__package__
        text = files(str(package)).joinpath("examples", f"{cls.name}.yaml").read_text("utf-8")
        return [Example(**case) for case in yaml.safe_load(text)]
