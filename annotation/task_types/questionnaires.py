"""Questionnaires around the tasks of a study, whatever its type: before the first, a check of what people have
understood, and after the last. Plain values; nothing here reads the database.

A study stores clean values of `QuestionnairesForm`. `Questionnaires.of` makes questions and rules of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

from annotation.languages import gettext as _
from annotation.languages import marked, speaking
from annotation.task_types.base import Answers, Page
from annotation.task_types.described_questions import Described, DescribedQuestionsField, build
from annotation.task_types.questions import Answer, Question
from annotation.task_types.standard_questions import BLOCKS

BEFORE, COMPREHENSION, AFTER = "before", "comprehension", "after"
#: In the order in which they are asked.
NAMES = (BEFORE, COMPREHENSION, AFTER)
TITLES = {
    BEFORE: marked("Before you start"),
    COMPREHENSION: marked("Have you understood the task?"),
    AFTER: marked("A few last questions"),
}
TRIES = 2
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """Whose answer to one question turns them away: who gave one of ``values``, or with ``unless`` who gave none of
    them."""

    topic: str
    values: tuple[float | str, ...]
    unless: bool = False

    def holds(self, answers: Answers) -> bool:
        answer = answers.get(self.topic)
        if answer in (None, []):
            return False  # not asked, or left out
        chosen = answer if isinstance(answer, list) else [answer]
        return self.unless != any(value in self.values for value in chosen)


@dataclass(frozen=True, slots=True)
class Checked:
    """A question of the comprehension check with the right answers (any of them) and an explanation."""

    question: Question
    right: tuple[Answer, ...]
    explanation: str = ""

    def passed(self, answers: Answers) -> bool:
        return any(self.question.agrees(answers.get(self.question.key), right) for right in self.right)


@dataclass(frozen=True, slots=True)
class Training:
    """How the training round is judged. Its items are the study's items with the role training.

    ``needed``: how many of them must be right in one round; None: all. ``tries``: rounds. ``show_right``: whether
    people see the right answers, not only which were not right and why. ``skip_if_passed``: short names of studies;
    who has passed the training of one of them needs none here.
    """

    needed: int | None = None
    tries: int = TRIES
    show_right: bool = False
    skip_if_passed: tuple[str, ...] = ()

    def needed_of(self, items: int) -> int:
        return items if self.needed is None else self.needed


@dataclass(frozen=True, slots=True)
class Questionnaires:
    """Everything that a study asks around its tasks. ``screen_out_reward`` is in USD; None: nothing."""

    NONE: ClassVar[Questionnaires]

    before: tuple[Described, ...] = ()
    comprehension: tuple[Checked, ...] = ()
    after: tuple[Described, ...] = ()
    tries: int = TRIES
    conditions: tuple[Condition, ...] = ()
    messages: Mapping[str, str] = field(default_factory=dict)
    screen_out_reward: Decimal | None = None
    training: Training = Training()

    @classmethod
    def of(cls, stored: Mapping[str, Any], language: str) -> Questionnaires:
        """Blocks are worded in ``language``."""
        if not stored:
            return cls.NONE
        with speaking(language):
            comprehension = [
                Checked(build(record).questions[0], tuple(_as_answers(record)), str(record.get("explanation", "")))
                for record in stored.get("comprehension", ())
            ]
            return cls(
                before=tuple(parts_of(stored.get("before", ()))),
                comprehension=tuple(comprehension),
                after=tuple(parts_of(stored.get("after", ()))),
                tries=stored.get("comprehension_tries") or TRIES,
                conditions=conditions_of(stored.get("screen_out") or {}),
                messages={
                    "screened_out": stored.get("screen_out_message", ""),
                    "not_understood": stored.get("comprehension_message", ""),
                    "not_trained": stored.get("training_message", ""),
                },
                training=Training(
                    stored.get("training_needed"),
                    stored.get("training_tries") or TRIES,
                    bool(stored.get("training_show_right")),
                    tuple(stored.get("training_skip_if_passed") or ()),
                ),
                screen_out_reward=Decimal(str(stored["screen_out_reward"]))
                if stored.get("screen_out_reward")
                else None,
            )

    def __bool__(self) -> bool:
        return bool(self.before or self.comprehension or self.after)

    @property
    def gates(self) -> tuple[str, ...]:
        """What must be answered before the first task, in order."""
        return tuple(name for name in (BEFORE, COMPREHENSION) if getattr(self, name))

    def questions(self, name: str) -> tuple[Question, ...]:
        if name == COMPREHENSION:
            return tuple(check.question for check in self.comprehension)
        return tuple(question for part in self._parts(name) for question in part.questions)

    def _parts(self, name: str) -> tuple[Described, ...]:
        if name == COMPREHENSION:
            return self.questions(name)
        return self.before if name == BEFORE else self.after

    @property
    def all_questions(self) -> tuple[Question, ...]:
        return tuple(question for name in NAMES for question in self.questions(name))

    def page(self, name: str) -> Page:
        """The questionnaire as a page, titled in the language of this moment."""
        return Page(name, _(TITLES[name]), "work/questionnaire.html", self._parts(name), {}, None)

    def screens_out(self, answers: Answers) -> bool:
        return any(condition.holds(answers) for condition in self.conditions)

    def wrong(self, answers: Answers) -> list[Checked]:
        """What the answers to the comprehension check got wrong."""
        return [check for check in self.comprehension if not check.passed(answers)]


Questionnaires.NONE = Questionnaires()


def expanded(entries: Sequence[Record]) -> list[dict[str, Any]]:
    """The records of questions, with blocks written out in the language of this moment."""
    records: list[dict[str, Any]] = []
    for entry in entries:
        if "block" not in entry:
            records.append(dict(entry))
            continue
        without = entry.get("without", ())
        records += [record for record in BLOCKS[entry["block"]].records() if record["topic"] not in without]
    return records


def questions_of(entries: Sequence[Record]) -> list[Question]:
    """All questions of clean entries."""
    return [question for part in parts_of(entries) for question in part.questions]


def parts_of(entries: Sequence[Record]) -> list[Described]:
    """The questions and groups of clean entries. Those of blocks get the defaults of their kinds."""
    parts: list[Described] = []
    for entry in entries:
        records = DescribedQuestionsField().clean(expanded([entry])) if "block" in entry else [entry]
        parts += [build(dict(record)) for record in records]
    return parts


def conditions_of(stored: Mapping[str, Any]) -> tuple[Condition, ...]:
    return tuple(
        Condition(topic, tuple(values["unless"]), unless=True)
        if isinstance(values, Mapping)
        else Condition(topic, tuple(values))
        for topic, values in sorted(stored.items())
    )


def _as_answers(record: Record) -> list[Answer]:
    """The right answers of a record. For a question with several choices, they are one answer together."""
    right = record["right"]
    return [list(right)] if record["kind"] == "choices" else list(right)
