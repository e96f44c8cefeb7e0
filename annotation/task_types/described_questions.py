"""Questions that a study describes: a list of records in a study file, all checked at once.

A record has what every question has (`COMMON`) and the settings of its kind (`Question.settings_form`)::

    - kind: scale
      topic: fluency
      question: How fluent is the text?
      points: 5
      shown_if: {readable: [1]}

`DescribedQuestionsField` cleans such a list to records with every setting; `build` makes a question of a clean record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.task_types.kinds import all_kinds, describable_kinds
from annotation.task_types.question_blocks import QuestionBlocksWidget
from annotation.task_types.questions import Asked, Group, Question, ShownIf, one_line
from annotation.task_types.settings import RESERVED, TOPIC

#: What a study says about a question of any kind.
COMMON = ("kind", "topic", "question", "help", "required", "shown_if")
MOST_QUESTIONS = 60

Record = dict[str, Any]
#: The questions and groups above a record by topic; None for those with problems.
Earlier = dict[str, "Described | None"]


#: What a clean record asks: one question, or a group of several.
Described = Question | Group


def build(record: Record, *, target: str = "", key: Callable[[str], str] = str) -> Described:
    """The question or group of a clean record, about this part of the item. ``key``: the name of the form field for a
    topic, for pages that ask the same question more than once."""
    conditions = [ShownIf(key(topic), tuple(values)) for topic, values in record["shown_if"].items()]
    asked = Asked(
        key(record["topic"]),
        record["question"],
        record["topic"],
        help=record["help"],
        target=target,
        required=record["required"],
        shown_if=conditions[0] if conditions else None,
        key_of=key,
    )
    return all_kinds()[record["kind"]].from_settings(asked, record)


class DescribedQuestionsField(forms.Field):
    """A list of records of questions.

    ``about``: what a question can be about, in its setting ``of``, with how it reads. The first is the default; without
    any, all questions are about the same. ``reserved``: topics that the owner of the field uses itself. ``also``: names
    of further settings that the owner of the field checks.
    """

    def __init__(
        self,
        *,
        about: Mapping[str, str] | None = None,
        also: Collection[str] = (),
        reserved: Collection[str] = (),
        least: int = 0,
        most: int = MOST_QUESTIONS,
        **kwargs: Any,
    ) -> None:
        self.also = tuple(also)
        self.about, self.reserved, self.least, self.most = dict(about or {}), {*RESERVED, *reserved}, least, most
        kwargs.setdefault("required", least > 0)
        kwargs.setdefault("initial", [])
        super().__init__(widget=QuestionBlocksWidget(most, self.about), **kwargs)

    def clean(self, value: Any) -> list[Record]:
        """Raises ValidationError with every problem of every question."""
        if value in (None, ""):
            value = []
        if not isinstance(value, list | tuple):
            raise ValidationError("This is not a list of questions.", code="list")
        if not self.least <= len(value) <= self.most:
            limits = f"at least {self.least}" if len(value) < self.least else f"at most {self.most}"
            raise ValidationError(f"There are {len(value)} questions; {limits} are needed or allowed.", code="count")
        problems: list[str] = []
        records: list[Record] = []
        earlier: Earlier = {}
        for number, row in enumerate(value, start=1):
            record, faults = self._checked(row, earlier)
            if record:
                built = None if faults else build(record)
                topics = [question.topic for question in built.questions] if isinstance(built, Group) else []
                faults += [
                    f"topic: “{topic}” is longer than 40 characters. Shorten one."
                    for topic in topics
                    if len(topic) > 40
                ]
                faults += [f"topic: “{topic}” is used twice." for topic in topics if topic in earlier]
                earlier.setdefault(record["topic"], built)
                earlier |= {question.topic: question for question in (built.questions if built else ())}
            topic = row.get("topic") if isinstance(row, Mapping) else None
            name = f"Question {number} ({str(topic)[:40]})" if topic else f"Question {number}"
            problems += [f"{name}: {fault}" for fault in faults]
            records.append(record)
        if problems:
            raise ValidationError([ValidationError(problem, code="question") for problem in problems])
        return records

    def _checked(self, row: Any, earlier: Earlier) -> tuple[Record, list[str]]:
        """The record with every setting, and what is wrong with it."""
        if not isinstance(row, Mapping):
            return {}, ["this is not a record with kind, topic and question."]
        kinds = describable_kinds()
        kind = kinds.get(str(row.get("kind", "")))
        if kind is None or kind.settings_form is None:
            return {}, [f"kind: “{str(row.get('kind', ''))[:40]}” is unknown. The kinds are {', '.join(kinds)}."]
        common: Record = {"kind": kind.kind}
        for name in ("topic", "question", "help"):
            common[name] = "" if row.get(name) is None else one_line(str(row[name]))
        common |= {"required": row.get("required", True), "shown_if": row.get("shown_if") or {}}
        faults = [*self._common_faults(common, earlier)]
        own = (*COMMON, *self.also, "of") if self.about else (*COMMON, *self.also)
        settings = {name: value for name, value in row.items() if name not in own}
        form = kind.settings_form(settings)
        unknown = sorted(set(map(str, settings)) - set(form.fields))
        faults += [f"“{name[:40]}” is not a setting of the kind {kind.kind}." for name in unknown]
        # A setting that is not named has its default, as in the other settings of a study.
        form.data = {
            name: settings.get(name, field.initial if field.initial is not None else "")
            for name, field in form.fields.items()
        }
        if not form.is_valid():
            faults += [f"{name}: {text}" for name, errors in form.errors.items() for text in errors]
        if self.about:
            common["of"] = row.get("of") or next(iter(self.about))
            if common["of"] not in self.about:
                faults.append(f"of: “{str(common['of'])[:40]}” is not one of {', '.join(self.about)}.")
        further = {name: row[name] for name in self.also if name in row}
        return {**further, **common, **getattr(form, "cleaned_data", {})}, faults

    def _common_faults(self, record: Record, earlier: Earlier) -> Iterator[str]:
        topic = record["topic"]
        if not TOPIC.fullmatch(topic):
            yield f"topic: “{topic[:40]}” must begin with a letter and hold only a–z, 0–9 and _."
        elif topic in self.reserved:
            yield f"topic: “{topic}” is already used for something else. Choose another."
        elif topic in earlier:
            yield f"topic: “{topic}” is used twice."
        if not record["question"]:
            yield "question is empty: write what people are asked."
        if not isinstance(record["required"], bool):
            yield "required: write true or false."
        if not isinstance(record["shown_if"], Mapping) or len(record["shown_if"]) > 1:
            yield "shown_if: write one earlier question and its answers, such as {fluency: [1, 2]}."
            record["shown_if"] = {}
        for asked, values in record["shown_if"].items():
            yield from _condition_faults(topic, str(asked), values, earlier)


def _condition_faults(topic: str, asked: str, values: Any, earlier: Earlier) -> Iterator[str]:
    before = earlier.get(asked)
    if asked == topic:
        yield "shown_if: a question cannot depend on its own answer."
    elif asked not in earlier:
        yield f"shown_if: “{asked[:40]}” is not an earlier question. A condition names a question above this one."
    elif isinstance(before, Group):
        topics = ", ".join(question.topic for question in before.questions)
        yield f"shown_if: “{asked}” asks several questions. Name one of them: {topics}."
    elif not isinstance(values, list) or not values:
        yield f"shown_if: write the answers to “{asked}” as a list, such as {{{asked}: [1, 2]}}."
    elif before is not None:  # else that question has problems of its own
        names = before.names()
        strange = [value for value in values if names and value not in names]
        if strange:
            possible = ", ".join(f"{value:g}" if isinstance(value, float) else value for value in names)
            yield f"shown_if: “{strange[0]}” is not an answer to “{asked}”. Its answers are {possible}."
