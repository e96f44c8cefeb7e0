"""Renders the questions of task types: ``{% load questions %}{% part asked %}`` in a page's template.

Typed values and errors come from the page's ``values`` and ``errors``, by the question's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from analysis.description import Scale
from annotation.rich_text import as_html
from annotation.task_types.questions import (
    MAX_CHARS,
    ChoiceQuestion,
    ChoicesQuestion,
    Grid,
    Part,
    Question,
    RankingQuestion,
    ScaleQuestion,
    TextQuestion,
)

register = template.Library()
#: How many options of a choice fit next to each other on a wide screen, and the maximum length of each in characters.
MOST_IN_ROW, LONGEST_IN_ROW = 4, 24


@dataclass(frozen=True, slots=True)
class Button:
    """One radio button. ``spoken`` is what a screen reader adds to the number of an unnamed point."""

    key: str
    label: str
    description: str = ""
    spoken: str = ""


@lru_cache(maxsize=512)
def buttons(scale: Scale) -> tuple[Button, ...]:
    """The points of a scale in the order shown. An unnamed point is described by its two named neighbours."""
    points = scale.points
    drawn = []
    for index, point in enumerate(points):
        spoken = ""
        if not point.label and 0 < index < len(points) - 1 and points[index - 1].label and points[index + 1].label:
            spoken = f"between “{points[index - 1].label}” and “{points[index + 1].label}”"
        drawn.append(Button(point.key, point.label, point.description, spoken))
    return tuple(drawn)


@lru_cache(maxsize=512)
def layout(scale: Scale) -> str:
    """``ends``: a row of numbers, with names at its ends. ``list``: one below the other on every screen.

    Empty: a row on wide screens and a list on narrow ones.
    """
    if not any(point.label for point in scale.points[1:-1]):
        return "ends"
    return "list" if len(scale.points) > 5 and any(point.description for point in scale.points) else ""


@lru_cache(maxsize=512)
def choice_layout(scale: Scale) -> str:
    """Empty for a few short options, which fit into a row on a wide screen; otherwise ``list``."""
    short = len(scale.points) <= MOST_IN_ROW and all(
        len(point.label) <= LONGEST_IN_ROW and not point.description for point in scale.points
    )
    return "" if short else "list"


@register.simple_tag(takes_context=True)
def part(context: template.Context, shown_part: Part, lead: object = "") -> SafeString:
    """A question or a grid with labels, help, errors and what was typed. Screen readers read ``lead`` first."""
    values, errors = context["values"], context["errors"]
    if isinstance(shown_part, Grid):
        keys = [question.key for question in shown_part.questions]
        return _grid(shown_part, tuple(values.get(key, "") for key in keys), tuple(errors.get(key, "") for key in keys))
    error = errors.get(shown_part.key, "")
    only_if = condition(shown_part, context["page"].questions) if shown_part.shown_if else ""
    if isinstance(shown_part, ScaleQuestion) and not error:
        return _scale(shown_part, values.get(shown_part.key, ""), str(lead), only_if)
    return _draw(shown_part, values, error, str(lead), only_if)


def condition(dependent: Question, questions: Sequence[Question]) -> str:
    """When a question applies, in words, for browsers without the script that hides it."""
    assert dependent.shown_if is not None  # noqa: S101 - the caller looked
    other = next(question for question in questions if question.key == dependent.shown_if.key)
    names: dict[object, str] = {point.value: point.label or point.key for point in other.scale.points}
    if isinstance(other, ChoicesQuestion | RankingQuestion):
        names = {option.key: option.label for option in other.options}
    chosen = " or ".join(f"“{names.get(value, str(value))}”" for value in dependent.shown_if.values)
    return f"Only if you chose {chosen} above."


@lru_cache(maxsize=4096)
def _scale(question: ScaleQuestion, value: str, lead: str, only_if: str) -> SafeString:
    """A rendered scale, cached: fifty radio buttons cost more time than all queries of a page, and never differ."""
    return _draw(question, {question.key: value}, "", lead, only_if)


@lru_cache(maxsize=1024)
def _grid(grid: Grid, values: tuple[str, ...], errors: tuple[str, ...]) -> SafeString:
    rows = [
        _context(question, {question.key: value}, error, "")
        for question, value, error in zip(grid.questions, values, errors, strict=True)
    ]
    page = {"grid": grid, "rows": rows, "buttons": buttons(grid.scale), "layout": layout(grid.scale)}
    return _rendered("annotation/questions/grid.html", page)


def _draw(question: Question, values: Mapping[str, str], error: str, lead: str, only_if: str) -> SafeString:
    return _rendered(question.template, _context(question, values, error, lead) | {"only_if": only_if})


def _context(question: Question, values: Mapping[str, str], error: str, lead: str) -> dict[str, Any]:
    described = [name for name, present in (("help", question.help), ("error", error)) if present]
    page: dict[str, Any] = {
        "question": question,
        "value": values.get(question.key, ""),
        "values": values,
        "error": error,
        "lead": lead,
        "described": " ".join(f"f-{question.key}-{name}" for name in described),
    }
    if isinstance(question, ScaleQuestion):
        find = choice_layout if isinstance(question, ChoiceQuestion) else layout
        page |= {"buttons": buttons(question.scale), "layout": find(question.scale)}
    elif isinstance(question, ChoicesQuestion | RankingQuestion):
        page["options"] = [
            (option, question.field(option), values.get(question.field(option), "")) for option in question.options
        ]
        page["ranks"] = [str(rank) for rank in range(1, len(question.options) + 1)]
    elif isinstance(question, TextQuestion):
        # For the script to check and count, by attribute name.
        limits = {
            "min-words": question.min_words,
            "max-words": question.max_words or 0,
            "min-chars": question.min_chars,
            "max-chars": 0 if question.max_chars == MAX_CHARS else question.max_chars,
        }
        page["limits"] = {name: limit for name, limit in limits.items() if limit}
    if question.shown_if is not None:
        page["shown_values"] = "|".join(
            f"{value:g}" if isinstance(value, int | float) else value for value in question.shown_if.values
        )
    return page


def _rendered(name: str, page: dict[str, Any]) -> SafeString:
    return mark_safe(get_template(name).render(page))  # noqa: S308 - our own templates


@register.filter
def paragraphs(text: str, level: int = 2) -> SafeString:
    """A study's long text with its formatting. Its top headings have this ``level``."""
    return mark_safe(as_html(text, level))  # noqa: S308 - made of known tags, everything else escaped


@register.filter
def spaced(text: str) -> str:
    """Text to be shown. Text with only white space counts as empty."""
    return text if text.strip() else ""
