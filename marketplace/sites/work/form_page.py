"""A QuestionForm as a page: what its templates show, and what was answered."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.http import QueryDict

from common.languages import gettext as _
from common.languages import marked
from marketplace.questions import Block, Form, FormQuestion, Given, Option, TextRule, Upload, check_answers
from marketplace.services.hits.uploaded_files import in_words
from marketplace.sites.work.frames import origin

MOST_CHOICES_IN_VIEW = 12
NAME_LENGTH = 90
#: AWS's message when a requester sets no errorText.
INVALID = marked("Invalid input supplied.")
_MARKUP = re.compile(r"<[^>]*>")
_SOURCE = re.compile(r"""\bsrc=["']([^"']+)["']""")


@dataclass(frozen=True, slots=True)
class Choice:
    option: Option
    chosen: bool


@dataclass(frozen=True, slots=True)
class Formats:
    """The expressions that a typed answer must match, for the browser.

    ``as_json``: a list of [expression, flags, message], which a script checks. ``pattern`` is for browsers without the
    script, with its ``message``. It is empty where an HTML pattern cannot say the same: for several expressions, and
    for flags.
    """

    as_json: str
    pattern: str = ""
    message: str = ""


def formats_of(rule: TextRule) -> Formats | None:
    if not rule.patterns:
        return None
    checks = [(pattern.regex, pattern.flags, pattern.error or _(INVALID)) for pattern in rule.patterns]
    as_json = json.dumps(checks, ensure_ascii=False)
    (regex, flags, message), *others = checks
    if flags or others:
        return Formats(as_json)
    # An HTML pattern must match the whole answer, and AnswerFormatRegex any part of it.
    return Formats(as_json, rf"[\s\S]*(?:{regex})[\s\S]*", message)


@dataclass(frozen=True, slots=True)
class Field:
    """One question with its answer so far. Its fields are named q1, q2, …, because identifiers can be anything.

    There are also q1-other, for the text typed as “other”, and q1-remove, to remove a file. ``most_bytes`` is the
    largest size that a file can have here.
    """

    number: int
    question: FormQuestion
    given: Given = field(default_factory=Given)
    error: str = ""
    most_bytes: int | None = None

    @property
    def html_id(self) -> str:
        return f"q{self.number}"

    @property
    def name(self) -> str:
        """A short name for labels and lists of errors."""
        question_text = " ".join(plain(block) for block in self.question.blocks).strip()
        name = self.question.name or question_text or _("Question %(number)s") % {"number": self.number}
        return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"

    @property
    def style(self) -> str:
        """text, lines, file, radio, checkbox or select."""
        if self.question.kind == "several":
            return "checkbox"
        if self.question.kind == "one":
            words = all(block.kind == "text" for option in self.question.options for block in option.blocks)
            return "select" if words and self.question.style in ("dropdown", "combobox") else "radio"
        if self.question.kind == "file":
            return "file"
        return "lines" if self.question.rule.lines > 1 else "text"

    @property
    def value(self) -> str:
        return self.given.values[0] if self.given.values else ""

    @property
    def choices(self) -> list[Choice]:
        return [Choice(option, option.identifier in self.given.values) for option in self.question.options]

    @property
    def long_list(self) -> bool:
        return len(self.question.options) > MOST_CHOICES_IN_VIEW

    @property
    def upload(self) -> Upload | None:
        return self.given.upload

    @property
    def upload_size(self) -> str:
        return in_words(self.given.upload.size) if self.given.upload else ""

    @property
    def told(self) -> bool:
        """Whether there is a rule or a note between the question and its answer."""
        return bool(self.rule or self.question.required)

    @property
    def described_by(self) -> str:
        """The IDs of the texts that describe this question, for screen readers."""
        parts = {"text": self.question.blocks, "rule": self.told, "kept": self.upload, "error": self.error}
        return " ".join(f"{self.html_id}-{name}" for name, shown in parts.items() if shown)

    @property
    def keyboard(self) -> str:
        """The keyboard for phones. On some phones, the keyboard with digits has no minus sign."""
        rule = self.question.rule
        return "decimal" if rule.numeric and rule.least is not None and rule.least >= 0 else ""

    @property
    def rule(self) -> str:
        """The rules for the answer, in words."""
        if self.question.kind == "file":
            least, most = self.question.least, self.most_bytes
            sizes = (in_words(least) if least and least > 1 else None, in_words(most) if most else None)
            return _limits(FILE_LIMITS, *sizes)
        if self.question.kind == "several":
            return _limits(CHOICE_LIMITS, self.question.least or None, self.question.most)
        return _text_rule(self.question.rule) if self.question.kind == "text" else ""

    @property
    def formats(self) -> Formats | None:
        return formats_of(self.question.rule)

    @property
    def other_rule(self) -> str:
        return _text_rule(self.question.other) if self.question.other else ""

    @property
    def other_formats(self) -> Formats | None:
        return formats_of(self.question.other) if self.question.other else None


#: Limits in words: without any, with the lower one, with the upper one, and with both.
FILE_LIMITS = (
    marked("A file."),
    marked("A file of at least %(least)s."),
    marked("A file of at most %(most)s."),
    marked("A file of at least %(least)s and at most %(most)s."),
)
CHOICE_LIMITS = (
    "",
    marked("Choose at least %(least)s."),
    marked("Choose at most %(most)s."),
    marked("Choose at least %(least)s and at most %(most)s."),
)
NUMBER_LIMITS = (
    marked("A number."),
    marked("A number, at least %(least)s."),
    marked("A number, at most %(most)s."),
    marked("A number, at least %(least)s and at most %(most)s."),
)
LENGTH_LIMITS = (
    "",
    marked("Write at least %(least)s characters."),
    marked("Write at most %(most)s characters."),
    marked("Write at least %(least)s and at most %(most)s characters."),
)


def _limits(texts: tuple[str, str, str, str], least: object, most: object) -> str:
    text = texts[(least is not None) + 2 * (most is not None)]
    return _(text) % {"least": least, "most": most}


def _text_rule(rule: TextRule) -> str:
    """The rule in words. A number's limits can be zero or negative. A minimum length of zero is not worth showing."""
    sentences = []
    if rule.numeric:
        sentences.append(_limits(NUMBER_LIMITS, rule.least, rule.most))
    sentences.append(_limits(LENGTH_LIMITS, rule.shortest or None, rule.longest))
    return " ".join(filter(None, sentences))


@dataclass(frozen=True, slots=True)
class Part:
    """Content between the questions (``blocks``), or one question."""

    blocks: tuple[Block, ...] = ()
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class FormPage:
    parts: list[Part] = field(default_factory=list)
    takes_files: bool = False

    @property
    def wrong(self) -> list[Field]:
        return [part.field for part in self.parts if part.field and part.field.error]


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a form's questions: those that are saved, what was wrong with others, and the size limit."""

    kept: Mapping[str, Upload] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    most_bytes: int | None = None


def fresh(form: Form, files: Files | None = None) -> FormPage:
    """The form when it is first shown, with the files that were chosen before."""
    files = files or Files()
    filled = {
        question.identifier: Given(
            (question.rule.default,) if question.rule.default else (), question.other.default if question.other else ""
        )
        for question in form.questions
    }
    filled |= {name: Given(upload=upload) for name, upload in files.kept.items()}
    return _page(form, filled, {}, files)


def answered(form: Form, fields: QueryDict, files: Files | None = None) -> tuple[FormPage, dict[str, Given]]:
    """The form with the sent answers and their errors, and the answers by question."""
    files = files or Files()
    answers = {}
    for number, question in enumerate(form.questions, start=1):
        if question.kind == "file":
            answers[question.identifier] = Given(upload=files.kept.get(question.identifier))
        else:
            values = [value.replace("\r\n", "\n") for value in fields.getlist(f"q{number}")]
            other = fields.get(f"q{number}-other", "").replace("\r\n", "\n") if question.other else ""
            answers[question.identifier] = Given(tuple(value for value in values if value), other)
    answered_only = {name: answer for name, answer in answers.items() if answer.values or answer.other or answer.upload}
    problems = {**check_answers(form, answered_only), **files.problems}
    return _page(form, answers, problems, files), answered_only


def _page(form: Form, filled: Mapping[str, Given], problems: Mapping[str, str], files: Files) -> FormPage:
    parts, number = [], 0
    for part in form.parts:
        if isinstance(part, FormQuestion):
            number += 1
            answer = filled.get(part.identifier, Given())
            most = min(part.most, files.most_bytes) if part.kind == "file" and part.most and files.most_bytes else None
            parts.append(Part(field=Field(number, part, answer, problems.get(part.identifier, ""), most)))
        else:
            parts.append(Part(blocks=part))
    return FormPage(parts, form.takes_files)


def plain(block: Block) -> str:
    """A block's words on one line."""
    text = _MARKUP.sub(" ", block.text) if block.kind == "html" else block.text
    return " ".join(" ".join((text, *block.items)).split())


def media_origins(form: Form) -> list[str]:
    """The origins of the form's pictures and sounds: its page can load from these and no others."""
    urls: list[str] = []
    for block in form.blocks:
        if block.kind == "html":
            urls += _SOURCE.findall(block.text)
        elif block.kind in ("image", "audio", "video"):
            urls.append(block.url)
    return sorted({origin(url) for url in urls} - {""})
