"""Renders the questions of task types: ``{% load questions %}{% part asked %}`` in a page's template.

Typed values and errors come from the page's ``values`` and ``errors``, by the question's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from annotation.languages import gettext as _
from annotation.languages import spoken, spoken_key
from annotation.rich_text import as_html
from annotation.task_types.kinds.scale.scale import buttons, layout
from annotation.task_types.questions import Grid, Group, Part, Question

register = template.Library()


@register.simple_tag(takes_context=True)
def part(context: template.Context, shown_part: Part, lead: object = "") -> SafeString:
    """A question or a grid with labels, help, errors and what was typed. Screen readers read ``lead`` first."""
    if "mark" in context:  # the page is for a reader without a form
        return context["mark"](shown_part)  # type: ignore[no-any-return]  # Callable[[Part], SafeString]
    values, errors = context["values"], context["errors"]
    if isinstance(shown_part, Grid):
        keys = [question.key for question in shown_part.questions]
        typed, wrong = (tuple(texts.get(key, "") for key in keys) for texts in (values, errors))
        return _grid(shown_part, typed, wrong, spoken_key())
    if isinstance(shown_part, Group):
        rows = [part(context, question) for question in shown_part.questions]
        return _rendered(shown_part.template, {"group": shown_part, "rows": rows, "lead": str(lead)})
    error = errors.get(shown_part.key, "")
    only_if = condition(shown_part, context["page"].questions) if shown_part.shown_if else ""
    if shown_part.cached and not error:
        return _cached(shown_part, values.get(shown_part.key, ""), str(lead), only_if, spoken_key())
    return _draw(shown_part, values, error, str(lead), only_if)


def condition(dependent: Question, questions: Sequence[Question]) -> str:
    """When a question applies, in words, for browsers without the script that hides it."""
    assert dependent.shown_if is not None  # noqa: S101 - the caller looked
    other = next(question for question in questions if question.key == dependent.shown_if.key)
    names = other.short_names()
    quoted = [_("“%(answer)s”") % {"answer": names.get(value, str(value))} for value in dependent.shown_if.values]
    # Translators: an alternative between answers: “yes” or “partly”.
    chosen = reduce(lambda one, other: _("%(one)s or %(other)s") % {"one": one, "other": other}, quoted)
    return _("Only if you chose %(answers)s above.") % {"answers": chosen}


@lru_cache(maxsize=4096)
def _cached(question: Question, value: str, lead: str, only_if: str, _voice: str) -> SafeString:
    """A drawn question with one field, as it looks without an error."""
    return _draw(question, {question.key: value}, "", lead, only_if)


@lru_cache(maxsize=1024)
def _grid(grid: Grid, values: tuple[str, ...], errors: tuple[str, ...], _voice: str) -> SafeString:
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
    page |= question.drawn(values)
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
    return mark_safe(as_html(text, level, spoken().rtl))  # noqa: S308 - made of known tags, everything else escaped


@register.filter
def spaced(text: str) -> str:
    """Text to be shown. Text with only white space counts as empty."""
    return text if text.strip() else ""
