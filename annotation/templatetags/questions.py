"""How task types draw their questions: ``{% load questions %}{% question asked %}`` inside a step's template.

What was typed and what is wrong with it come from the page's ``values`` and ``errors``, by the question's key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import get_template
from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe

from annotation.task_types.questions import Question, Scale

register = template.Library()


@dataclass(frozen=True, slots=True)
class Option:
    """One radio button. ``spoken`` is what a screen reader adds to the number of a point without a name."""

    key: str
    label: str
    spoken: str = ""


@lru_cache(maxsize=256)
def options(scale: Scale) -> tuple[Option, ...]:
    """The points of a scale in the published order; an unnamed one is described by its neighbours."""
    points = scale.points
    found = []
    for at, point in enumerate(points):
        spoken = ""
        if not point.label and 0 < at < len(points) - 1:
            spoken = f"between “{points[at - 1].label}” and “{points[at + 1].label}”"
        found.append(Option(point.key, point.label, spoken))
    return tuple(found)


@register.simple_tag(takes_context=True)
def question(context: template.Context, asked: Question, lead: object = "") -> SafeString:
    """One question with its label, help, error and what was typed. ``lead`` is read out before the label."""
    value = context["values"].get(asked.key, "")
    if asked.scale.points and all(value != point.key for point in asked.scale.points):
        value = ""
    error = context["errors"].get(asked.key, "")
    if type(asked) is Question and not error and not asked.extra:
        return _scale(asked.key, asked.label, asked.help, asked.required, asked.scale, value, str(lead))
    return _render(asked, value, error, str(lead))


@lru_cache(maxsize=4096)
def _scale(key: str, label: str, help_text: str, required: bool, scale: Scale, value: str, lead: str) -> SafeString:
    """Fifty radio buttons on a page cost more than all its queries, and they look the same for every worker."""
    asked = Question(key, label, "", scale, help=help_text, required=required)
    return _render(asked, value, "", lead)


def _render(asked: Question, value: str, error: str, lead: str) -> SafeString:
    described = [part for part, there in (("help", asked.help), ("error", error)) if there]
    page: dict[str, Any] = {
        "question": asked,
        "value": value,
        "error": error,
        "lead": lead,
        "options": options(asked.scale),
        "described": " ".join(f"f-{asked.key}-{part}" for part in described),
    }
    return mark_safe(get_template(f"annotation/questions/{asked.kind}.html").render(page))  # noqa: S308 - our own template


@register.filter
@lru_cache(maxsize=256)
def paragraphs(text: str) -> SafeString:
    """Plain text with blank lines between paragraphs, as HTML."""
    return mark_safe(linebreaks(text.strip(), autoescape=True))  # noqa: S308 - escaped by linebreaks


@register.filter
def spaced(text: str) -> str:
    """Text that is going to be shown; nothing but white space counts as nothing."""
    return text if text.strip() else ""
