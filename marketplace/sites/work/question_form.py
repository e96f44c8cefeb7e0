"""A QuestionForm as a page of ours: what its templates draw, and what was answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.http import QueryDict

from marketplace.questions import Block, Form, FormQuestion, Option, check_answers
from marketplace.sites.work.framing import origin

MOST_CHOICES_IN_VIEW = 12
NAME_LENGTH = 90
_MARKUP = re.compile(r"<[^>]*>")
_SOURCE = re.compile(r"""\bsrc=["']([^"']+)["']""")


@dataclass(frozen=True, slots=True)
class Choice:
    option: Option
    chosen: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One question with what is filled in. Its fields are called q1, q2, …: identifiers may be anything."""

    number: int
    question: FormQuestion
    values: tuple[str, ...] = ()
    error: str = ""

    @property
    def html_id(self) -> str:
        return f"q{self.number}"

    @property
    def name(self) -> str:
        """A short name for labels and lists of errors."""
        said = " ".join(plain(block) for block in self.question.blocks).strip()
        name = self.question.name or said or f"Question {self.number}"
        return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"

    @property
    def style(self) -> str:
        """text, lines, radio, checkbox or select."""
        if self.question.kind == "several":
            return "checkbox"
        if self.question.kind == "one":
            words = all(block.kind == "text" for option in self.question.options for block in option.blocks)
            return "select" if words and self.question.style in ("dropdown", "combobox") else "radio"
        return "lines" if self.question.lines > 1 else "text"

    @property
    def value(self) -> str:
        return self.values[0] if self.values else ""

    @property
    def choices(self) -> list[Choice]:
        return [Choice(option, option.identifier in self.values) for option in self.question.options]

    @property
    def long_list(self) -> bool:
        return len(self.question.options) > MOST_CHOICES_IN_VIEW

    @property
    def rule(self) -> str:
        """What to know before answering, in words."""
        least, most = self.question.least, self.question.most
        if self.question.kind == "one" or (least is None and most is None and self.question.kind != "number"):
            return ""
        parts = [f"at least {least}"] if least else []
        parts += [f"at most {most}"] if most is not None else []
        bounds = " and ".join(parts)
        if self.question.kind == "several":
            return f"Choose {bounds}." if bounds else ""
        if self.question.kind == "number":
            return f"A number{', ' if bounds else ''}{bounds}."
        return f"Write {bounds} characters." if bounds else ""


@dataclass(frozen=True, slots=True)
class Part:
    """What stands between the questions (``blocks``), or one of them."""

    blocks: tuple[Block, ...] = ()
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class FormPage:
    parts: list[Part] = field(default_factory=list)

    @property
    def wrong(self) -> list[Field]:
        return [part.field for part in self.parts if part.field and part.field.error]


def fresh(form: Form) -> FormPage:
    """The form as it is first seen."""
    defaults = {question.identifier: [question.default] for question in form.questions if question.default}
    return _page(form, defaults, {})


def answered(form: Form, sent: QueryDict) -> tuple[FormPage, dict[str, list[str]]]:
    """The form with what was sent and what is wrong with it, and the answers by question."""
    answers = {}
    for number, question in enumerate(form.questions, start=1):
        values = [value.replace("\r\n", "\n") for value in sent.getlist(f"q{number}")]
        answers[question.identifier] = [value for value in values if value]
    given = {name: values for name, values in answers.items() if values}
    return _page(form, answers, check_answers(form, given)), given


def _page(form: Form, values: Mapping[str, list[str]], problems: Mapping[str, str]) -> FormPage:
    parts, number = [], 0
    for part in form.parts:
        if isinstance(part, FormQuestion):
            number += 1
            filled = tuple(values.get(part.identifier, ()))
            parts.append(Part(field=Field(number, part, filled, problems.get(part.identifier, ""))))
        else:
            parts.append(Part(blocks=part))
    return FormPage(parts)


def plain(block: Block) -> str:
    """A block's words on one line."""
    text = _MARKUP.sub(" ", block.text) if block.kind == "html" else block.text
    return " ".join(" ".join((text, *block.items)).split())


def media_origins(form: Form) -> list[str]:
    """Where the form's pictures and sounds come from: its page may load those and no others."""
    found = {origin(url) for block in _all_blocks(form) for url in (block.url, *_SOURCE.findall(block.text))}
    return sorted(found - {""})


def _all_blocks(form: Form) -> Iterator[Block]:
    for part in form.parts:
        groups: Iterable[tuple[Block, ...]] = (part,)  # type: ignore[assignment]
        if isinstance(part, FormQuestion):
            groups = (part.blocks, *(option.blocks for option in part.options))
        for blocks in groups:
            yield from blocks
