"""Spans marked in a text, each with a severity and perhaps a label: error annotation as in MQM and ESA.

Sources: Freitag et al. 2021, §3.2 (MQM: labels, severities and weights); Kocmi et al. 2024, §3 (ESA). The rating has
the spans as its text (`analysis.spans`) and the sum of their weights as its value: 0 for a text without errors.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.safestring import SafeString

from analysis.description import Kind, ReportSection, Scale, Score
from analysis.quality_control.work import as_number
from analysis.spans import Span, spans_in, spans_text, weight_of
from annotation.languages import gettext, ngettext
from annotation.task_types.answer_rules import About, RuleError, RulesRead, above_in, ranges_in, refuse_outside
from annotation.task_types.kinds.spans.given import GivenError, GivenMarks, traced
from annotation.task_types.kinds.spans.marking import MISSING, Marking, line_of, overlapping, twice
from annotation.task_types.kinds.spans.wanted import wanted_in
from annotation.task_types.questions import (
    Answer,
    AnswerError,
    Asked,
    Form,
    Question,
    Right,
    Sketch,
    Stored,
)
from annotation.task_types.settings import Cell, ConfigForm, TableField

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

MOST_SPANS = 100
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}(/[a-z][a-z0-9_-]{0,39})?")
SEVERITIES = [
    {"key": "minor", "label": "Minor", "weight": "1"},
    {"key": "major", "label": "Major", "weight": "5"},
]
#: How many severities have a look of their own.
LOOKS = 4


class SpansForm(ConfigForm):
    """What can be marked, as a study describes it."""

    severities = TableField(
        label="Severities",
        least=1,
        most=6,
        initial=SEVERITIES,
        cells=[
            Cell("key", "Name in the data", max_length=40),
            Cell("label", "Name", max_length=60),
            Cell("weight", "Weight", max_length=12),
        ],
        help_text="From the lightest. The weight of a mark counts in the score of its text.",
    )
    labels = TableField(
        label="Labels",
        required=False,
        most=60,
        cells=[Cell("key", "Name in the data", max_length=81), Cell("label", "Name", max_length=100)],
        help_text="Kinds of errors. A name such as accuracy/omission puts a kind below another. Empty: none.",
    )
    weights = TableField(
        label="Weights of single labels",
        required=False,
        most=60,
        cells=[
            Cell("label", "Label", max_length=81),
            Cell("severity", "Severity", max_length=40),
            Cell("weight", "Weight", max_length=12),
        ],
        help_text="In place of the weight of the severity.",
    )
    overlap = forms.BooleanField(label="Marks may overlap", initial=False, required=False)
    missing = forms.BooleanField(label="Something missing can be marked", initial=True, required=False)
    blank_is_none = forms.BooleanField(
        label="A text without marks has nothing to mark",
        initial=False,
        required=False,
        help_text="Otherwise people say so with a box that they tick, so that nobody passes a text over.",
    )
    most = forms.IntegerField(
        label="Most marks in a text", min_value=1, max_value=MOST_SPANS, initial=30, required=False
    )

    given = forms.RegexField(
        r"[A-Za-z][A-Za-z0-9_]{0,39}",
        label="Column with marks to check",
        required=False,
        initial="",
        error_messages={"invalid": "Begin with a letter and use only letters, digits and _."},
        help_text="Marks that the text has already when it is shown. People confirm, change and remove them, and add "
        "others. With several texts, each has a column of its own, such as text_a_marks.",
    )

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        settings["most"] = settings.get("most") or 30
        labels = {row["key"] for row in settings.get("labels") or ()}
        above = {key.partition("/")[0] for key in labels}
        severities = {row["key"] for row in settings.get("severities") or ()}
        for number, row in enumerate(settings.get("weights") or (), start=1):
            if row["label"] not in labels | above:
                self.add_error("weights", f"Entry {number}, label: “{row['label']}” is not one of the labels.")
            if row["severity"] not in severities:
                self.add_error(
                    "weights", f"Entry {number}, severity: “{row['severity']}” is not one of the severities."
                )
        return settings

    def clean_severities(self) -> list[dict[str, str]]:
        return _named(_weighed(self.cleaned_data["severities"]))

    def clean_labels(self) -> list[dict[str, str]]:
        return _named(self.cleaned_data["labels"])

    def clean_weights(self) -> list[dict[str, str]]:
        return _weighed(self.cleaned_data["weights"])


def _named(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    keys = [row["key"] for row in rows]
    for number, key in enumerate(keys, start=1):
        if not _KEY.fullmatch(key):
            what = f"Entry {number}, key: “{key}” must be lower-case letters, digits, - and _, with at most one /."
            raise ValidationError(what, code="name")
        if key in keys[: number - 1]:
            raise ValidationError(f"Entry {number}, key: “{key}” is in the list twice.", code="twice")
    return rows


def _weighed(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    for number, row in enumerate(rows, start=1):
        if not re.fullmatch(r"\d{1,6}(\.\d{1,4})?", row["weight"]):
            what = f"Entry {number}, weight: “{row['weight']}” is not a number of at least 0, such as 5 or 0.1."
            raise ValidationError(what, code="weight")
    return rows


def with_returns(text: str) -> SafeString:
    """The text as HTML in which browsers keep carriage returns: places in the page are places in the stored text."""
    return SafeString(escape(text).replace("\r", "&#13;"))


@dataclass(frozen=True, slots=True)
class Named:
    """A severity or a label."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class SpansQuestion(Question):
    """Spans of ``text``. The answer is their stored form."""

    kind: ClassVar[Kind] = "spans"
    kind_name: ClassVar[str] = "Marks in the text"
    shows_text: ClassVar[bool] = True
    of_one_text: ClassVar[bool] = True
    scripts: ClassVar[Sequence[str]] = ("spans.js",)
    styles: ClassVar[Sequence[str]] = ("spans.css",)
    settings_form: ClassVar[type[forms.Form] | None] = SpansForm
    text: str = ""
    severities: tuple[Named, ...] = ()
    labels: tuple[Named, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    special: tuple[tuple[str, str, float], ...] = ()
    overlap: bool = False
    missing: bool = True
    blank_is_none: bool = False
    most: int = 30
    given_column: str = ""
    given: tuple[Span, ...] = ()

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        return cls(
            **(asked.arguments() | {"scale": Scale(asked.topic, "interval")}),
            severities=tuple(Named(row["key"], row["label"]) for row in settings["severities"]),
            labels=tuple(Named(row["key"], row["label"]) for row in settings["labels"]),
            weights=tuple((row["key"], float(row["weight"])) for row in settings["severities"]),
            special=tuple((row["label"], row["severity"], float(row["weight"])) for row in settings["weights"]),
            **{name: settings[name] for name in ("overlap", "missing", "blank_is_none", "most")},
            given_column=settings["given"],
        )

    def of_item(self, texts: Mapping[str, str]) -> Question:
        return replace(self, text=next(iter(texts.values()), ""))

    def check_given(self, cell: str) -> tuple[str, str] | None:
        try:
            self._given_marks.read(cell)
        except GivenError as error:
            return error.what, error.fix
        return None

    def with_given(self, cell: str) -> Question:
        return replace(self, given=self._given_marks.read(cell))

    @property
    def _given_marks(self) -> GivenMarks:
        severities, labels = ([named.key for named in names] for names in (self.severities, self.labels))
        return GivenMarks(self.text, severities, labels, self.overlap, self.missing, self.most)

    @property
    def none_field(self) -> str:
        """The box that says that there is nothing to mark."""
        return f"{self.key}.none"

    def drawn(self, values: Form) -> dict[str, Any]:
        """The given marks are there until the page has been saved with others."""
        is_first = self.key not in values and self.none_field not in values
        return {
            "text_with_returns": with_returns(self.text),
            "lines": self._lines(self.given) if is_first else values.get(self.key, ""),
            "none_field": self.none_field,
            "none": values.get(self.none_field, ""),
            "has_given": bool(self.given),
            "missing_words": MISSING,
            "example": f"{self.severities[0].key}{f' {self.labels[0].key}' if self.labels else ''}",
        }

    @property
    def sketch(self) -> Sketch:
        return Sketch("line", 2)

    def clean(self, form: Form) -> Answer:
        raw = form.get(self.key, "").strip()
        nothing = bool(form.get(self.none_field))
        if not raw:
            if nothing or self.blank_is_none:
                return spans_text([])
            if self.required:
                raise AnswerError(gettext("Please mark something in the text, or say that there is nothing to mark."))
            return None
        severities, labels = ([named.key for named in names] for names in (self.severities, self.labels))
        spans = Marking(self.text, severities, labels, missing=self.missing).read(raw)
        if nothing:
            raise AnswerError(
                gettext("You marked something and said that there is nothing to mark. Change one of them.")
            )
        if len(spans) > self.most:
            what = ngettext("Please mark at most %(most)s place.", "Please mark at most %(most)s places.", self.most)
            raise AnswerError(what % {"most": self.most})
        if self.overlap and (again := twice(spans)):
            what = gettext("“%(words)s” is marked twice in the same way. Please remove one of the marks.")
            raise AnswerError(what % {"words": self.text[again.start : again.end][:60]})
        if not self.overlap and overlapping(spans):
            raise AnswerError(gettext("Two marks overlap. Please remove one of them."))
        return spans_text(traced(spans, self.given))

    def _lines(self, spans: Sequence[Span]) -> str:
        return "\n".join(line_of(span, self.text) for span in spans)

    def agrees(self, answer: Answer, right: Answer) -> bool:
        """Whether the marks are the same, whatever they came from."""
        try:
            marks, right_marks = (sorted(span.mark for span in spans_in(str(text))) for text in (answer, right))
        except ValueError:
            return False
        return marks == right_marks

    def typed(self, answer: Answer) -> dict[str, str]:
        if not isinstance(answer, str):
            return {}
        spans = spans_in(answer)
        return {self.key: self._lines(spans)} if spans or self.blank_is_none else {self.none_field: "yes"}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, str)  # noqa: S101 - `clean` made it
        special = {(label, severity): weight for label, severity, weight in self.special}
        return [Stored(self.target, weight_of(spans_in(answer), dict(self.weights), special), answer)]

    def score(self) -> Score:
        """Minus the weights of all marks of a text, so that more is better."""
        return Score(self.topic, self.label, -1)

    def sections(self) -> Sequence[ReportSection]:
        return (ReportSection("spans", {"topic": self.topic}),)

    def in_words(self, answer: Answer) -> str:
        if not isinstance(answer, str):
            return ""
        names = {named.key: named.label for named in (*self.severities, *self.labels)}
        marks = []
        for span in spans_in(answer):
            words = MISSING if span.missing else self.text[span.start : span.end]
            named = ", ".join(names.get(key, key) for key in (span.severity, span.label) if key)
            marks.append(f"“{words}”{f' ({named})' if named else ''}")
        return "; ".join(marks) or "nothing marked"

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """The errors that the text has, the same for all workers, of which each finds some. Of given marks, each worker
        removes some. A careless worker marks any word."""
        words = list(re.finditer(r"\S+", self.text))
        if not words:
            return {self.none_field: "yes"}
        errors = random.Random(f"{item}/{self.topic}/{self.target}")
        kept = [span for span in self.given if rng.random() < max(worker.ability, 0.5)]
        places = sorted(errors.sample(range(len(words)), min(len(words), self.most, errors.randint(0, 3))))
        if worker.profile == "careless":
            places = [rng.randrange(len(words))]
        spans = kept
        for place in places:
            severity, label = errors.choice(self.severities).key, errors.choice([*self.labels, Named("", "")]).key
            if len(spans) >= self.most or overlapping([*spans, Span(*words[place].span(), "")]):
                continue
            if worker.profile == "careless" or rng.random() < worker.ability:
                label = label or (self.labels[0].key if self.labels else "")
                spans.append(Span(words[place].start(), words[place].end(), severity, label))
        return self.typed(spans_text(spans))

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``[{"start": 4, "end": 7}]``; for the sum of the weights, ``1..5``; of two texts, ``first > second``."""
        if cell.lstrip().startswith("["):
            return RulesRead([wanted_in(cell, about, self._given_marks)])
        read = ranges_in(cell) or above_in(cell, about, sign=-1, most=2)
        for part in filter(None, map(str.strip, (cell if read is None else read.plain).split("|"))):
            if as_number(part) is None:
                fix = "Write marks as a JSON list, or the sum of their weights as a number or a range."
                raise RuleError(f"“{part[:40]}” is no right answer to a question about marks.", fix)
        if read is not None:
            refuse_outside(read.rules, 0, None)
        return read

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """The marks that are right, nothing marked, then each word alone."""
        yield from (answer for answer in right(self.target) if answer.startswith("["))
        yield spans_text([])
        severity, label = self.severities[0].key, self.labels[0].key if self.labels else ""
        for word in list(re.finditer(r"\S+", self.text))[:5]:
            yield spans_text([Span(word.start(), word.end(), severity, label)])
