"""The settings of questionnaires as a study writes them, and everything that can be wrong with them.

The names of the form's fields are the keys of a study file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.task_types.described_questions import DescribedQuestionsField, build
from annotation.task_types.questionnaires import TRIES, Condition, conditions_of, expanded, questions_of
from annotation.task_types.questions import Answer, Group, Question, clean_text
from annotation.task_types.settings import ConfigForm, ListField
from annotation.task_types.standard_questions import BLOCKS

MOST_TRIES = 5
LONGEST_MESSAGE = 1_000
CENT = Decimal("0.01")


class EntriesField(DescribedQuestionsField):
    """Questions as records, and names of blocks: ``demographics``, or ``{block: demographics, without: [country]}``."""

    def clean(self, value: Any) -> list[Any]:
        if value in (None, ""):
            value = []
        if not isinstance(value, list | tuple):
            raise ValidationError("This is not a list of questions and blocks.", code="list")
        entries: list[Any] = []
        rows: list[Any] = []
        problems: list[str] = []
        for number, entry in enumerate(value, start=1):
            entry = {"block": entry} if isinstance(entry, str) else entry
            if not (isinstance(entry, Mapping) and "block" in entry):
                entries.append(len(rows))
                rows.append(entry)
                continue
            faults = list(_block_faults(entry))
            problems += [f"Entry {number}: {fault}" for fault in faults]
            if not faults:
                without = sorted(set(entry.get("without") or ()))
                block = {"block": entry["block"], **({"without": without} if without else {})}
                entries.append(block)
                rows += expanded([block])
        if problems:
            raise ValidationError([ValidationError(problem, code="question") for problem in problems])
        records = super().clean(rows)
        return [records[entry] if isinstance(entry, int) else entry for entry in entries]


def _block_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    name, without = entry["block"], entry.get("without") or []
    if name not in BLOCKS:
        yield f"there is no block “{str(name)[:40]}”. The blocks are {', '.join(BLOCKS)}."
        return
    if strange := [key for key in entry if key not in ("block", "without")]:
        yield f"“{str(strange[0])[:40]}” is not a setting of a block. A block has block and without."
    topics = [record["topic"] for record in BLOCKS[name].records()]
    if not isinstance(without, list) or not all(isinstance(topic, str) for topic in without):
        yield "without: write names of questions as a list, such as [country]."
    elif strange := [topic for topic in without if topic not in topics]:
        yield f"without: “{strange[0][:40]}” is not a question of {name}. Its questions are {', '.join(topics)}."
    elif len(set(without)) == len(topics):
        yield f"without: nothing is left of {name}. Remove the block."


class ChecksField(DescribedQuestionsField):
    """Questions with ``right`` (one answer or several, any of which is right) and ``explanation``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(also=("right", "explanation"), **kwargs)

    def clean(self, value: Any) -> list[Any]:
        records = super().clean(value)
        problems: list[str] = []
        for number, record in enumerate(records, start=1):
            where = f"Question {number} ({record['topic']})"
            record["explanation"] = clean_text(str(record.get("explanation") or ""))
            right = record.get("right")
            if right in (None, "", []):
                problems.append(f"{where}: right is missing. Write the right answer.")
                continue
            if record["shown_if"] or not record["required"]:
                problems.append(f"{where}: everybody must answer it, so it has no shown_if, and required is true.")
                continue
            question = build(record)
            if isinstance(question, Group):
                problems.append(f"{where}: {question.kind} asks several questions. Ask each by itself.")
                continue
            answers, strange = resolved(question, right if isinstance(right, list) else [right])
            if strange:
                problems.append(f"{where}: right: {strange}")
            record["right"] = answers
        if problems:
            raise ValidationError([ValidationError(problem, code="question") for problem in problems])
        return records


class ConditionsField(forms.Field):
    """Conditions by the name of a question: a list of answers, or ``{unless: [answers]}``."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        kwargs.setdefault("initial", {})
        super().__init__(**kwargs)

    def clean(self, value: Any) -> dict[str, Any]:
        if value in (None, ""):
            return {}
        if not isinstance(value, Mapping):
            raise ValidationError(
                "Write a question and the answers that screen out, such as native_language: [other].", code="mapping"
            )
        clean: dict[str, Any] = {}
        for topic, answers in value.items():
            listed = answers.get("unless") if isinstance(answers, Mapping) else answers
            if not isinstance(listed, list) or not listed or (isinstance(answers, Mapping) and len(answers) > 1):
                what = f"{str(topic)[:40]}: write a list of answers, or unless with a list: {{unless: [english]}}."
                raise ValidationError(what, code="answers")
            clean[str(topic)] = {"unless": listed} if isinstance(answers, Mapping) else listed
        return dict(sorted(clean.items()))


class QuestionnairesForm(ConfigForm):
    """What a study asks before and after, and whom the answers turn away."""

    before = EntriesField(
        label="Before the first task",
        help_text="Asked once, after consent. Questions, or names of blocks: " + ", ".join(BLOCKS) + ".",
    )
    after = EntriesField(
        label="After the last task",
        help_text="Asked once, when a person has done their last task or says that they have finished.",
    )
    comprehension = ChecksField(
        label="Comprehension check",
        help_text="Questions about the instructions, each with right and an explanation. Asked before the first task.",
    )
    comprehension_tries = forms.IntegerField(
        label="Tries",
        min_value=1,
        max_value=MOST_TRIES,
        initial=TRIES,
        required=False,
        help_text="People read the number before they answer. Who fails the last try cannot take part. Prolific asks "
        "for two.",
    )
    comprehension_message = forms.CharField(
        label="What people read who fail it", max_length=LONGEST_MESSAGE, required=False, initial=""
    )
    screen_out = ConditionsField(
        label="Screen out",
        help_text="Answers to the questions before the first task with which nobody can take part.",
    )
    screen_out_message = forms.CharField(
        label="What people read who are screened out", max_length=LONGEST_MESSAGE, required=False, initial=""
    )
    screen_out_reward = forms.DecimalField(
        label="Pay for people who are screened out (USD)",
        max_digits=8,
        decimal_places=2,
        min_value=CENT,
        required=False,
        help_text="Empty: nothing. On Prolific, the platform pays it: see its completion codes.",
    )

    training_needed = forms.IntegerField(
        label="Training items that must be right",
        min_value=1,
        required=False,
        help_text="In one round. Empty: all of them. An item is right if all its answers are.",
    )
    training_tries = forms.IntegerField(
        label="Rounds of training",
        min_value=1,
        max_value=MOST_TRIES,
        initial=TRIES,
        required=False,
        help_text="People read the number before they answer. Who fails the last round cannot take part.",
    )
    training_message = forms.CharField(
        label="What people read who fail the training", max_length=LONGEST_MESSAGE, required=False, initial=""
    )
    training_show_right = forms.BooleanField(
        label="Show the right answers",
        required=False,
        initial=False,
        help_text="After each page of the training, besides which answers were not right and why.",
    )
    training_skip_if_passed = ListField(
        label="Skip the training after that of",
        required=False,
        most=20,
        max_length=60,
        initial=[],
        help_text="Short names of studies. Who has passed the training there goes straight to the tasks.",
    )

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("comprehension_tries", "training_tries"):
            settings[name] = settings.get(name) or TRIES
        for name in ("comprehension_message", "screen_out_message", "training_message"):
            settings[name] = clean_text(settings.get(name) or "")
        if settings.get("screen_out_reward"):
            settings["screen_out_reward"] = settings["screen_out_reward"].quantize(CENT)
        if not self.errors:
            self._check_together(settings)
        return settings

    def _check_together(self, settings: dict[str, Any]) -> None:
        topics: dict[str, str] = {}
        for name in ("before", "comprehension", "after"):
            for question in questions_of(settings[name]):
                first = topics.setdefault(question.topic, name)
                if first != name:
                    what = f"The topic “{question.topic}” is already used in {first}. Use another name."
                    self.add_error(name, ValidationError(what, code="twice"))
        questions = {question.topic: question for question in questions_of(settings["before"])}
        listed = settings["screen_out"].items()
        settings["screen_out"] = conditions = {
            topic: self._condition(topic, answers, questions) for topic, answers in listed
        }
        if not self.errors and everybody(list(questions.values()), conditions_of(conditions)):
            what = "Whatever people answer, these conditions screen them out, so nobody could take part. Remove one."
            self.add_error("screen_out", ValidationError(what, code="everybody"))
        for name in ("screen_out_message", "screen_out_reward"):
            if settings.get(name) and not conditions:
                what = "Only used with conditions that screen people out. Add screen_out, or remove this."
                self.add_error(name, ValidationError(what, code="unused"))
        if settings["comprehension_message"] and not settings["comprehension"]:
            what = "Only used with a comprehension check. Add comprehension, or remove this."
            self.add_error("comprehension_message", ValidationError(what, code="unused"))

    def _condition(self, topic: str, answers: Any, questions: Mapping[str, Question]) -> Any:
        """The condition with answers as the data have them. Adds an error for what is not possible."""
        question = questions.get(topic)
        listed = answers["unless"] if isinstance(answers, Mapping) else answers
        wrong = ""
        values: list[Answer] = []
        if question is None:
            names = ", ".join(questions) or "none yet"
            wrong = f"“{topic[:40]}” is not a question of before. Its questions are {names}."
        elif not question.names():
            wrong = f"“{topic}” has no fixed answers. Only questions with options or points can screen people out."
        else:
            values, strange = resolved(question, listed)
            wrong = f"{topic}: {strange}" if strange else ""
        if wrong:
            self.add_error("screen_out", ValidationError(wrong, code="condition"))
        return {"unless": values} if isinstance(answers, Mapping) else values


def resolved(question: Question, answers: Sequence[Any]) -> tuple[list[Any], str]:
    """Answers as the data have them, from their values, their names in the data or the page's words; and what is wrong
    with the first that is not an answer."""
    names = question.names()
    if not names:
        return [clean_text(str(answer)) for answer in answers], ""
    by_words = {word.casefold(): key for key, word in question.short_names().items()}
    values: list[Any] = []
    for answer in answers:
        if isinstance(answer, bool) or not isinstance(answer, int | float | str):
            return values, "write numbers or words."
        value = by_words.get(answer.casefold(), answer) if isinstance(answer, str) else float(answer)
        if value not in names:
            possible = ", ".join(
                f"{key:g} ({word})" if isinstance(key, float) else key for key, word in question.short_names().items()
            )
            return values, f"“{str(answer)[:40]}” is not an answer to “{question.topic}”. Its answers are {possible}."
        if value not in values:
            values.append(value)
    return values, ""


def everybody(questions: Sequence[Question], conditions: Sequence[Condition]) -> bool:
    """Whether these conditions turn everybody away: all answers to a question that everybody must answer.

    If they cover a question that is shown only after a certain answer, that answer turns away, too.
    """
    out: dict[str, set[Any]] = {question.topic: set() for question in questions}
    for condition in conditions:
        question = next(question for question in questions if question.topic == condition.topic)
        listed = set(condition.values)
        out[condition.topic] |= set(question.names()) - listed if condition.unless else listed
    for question in reversed(questions):
        names = set(question.names())
        if not question.required or not names or names - out[question.topic]:
            continue
        if question.shown_if is None:
            return True
        if question.shown_if.key in out:
            out[question.shown_if.key] |= set(question.shown_if.values)
    return False
