"""The files that belong to an assignment's answers."""

from __future__ import annotations

from dataclasses import dataclass

from django import template

from marketplace.models import Assignment
from marketplace.services.hits import uploaded_files

register = template.Library()


@dataclass(frozen=True, slots=True)
class ShownFile:
    question: str
    key: str
    size: str
    name: str


@register.simple_tag
def files_of(assignment: Assignment) -> list[ShownFile]:
    """The submitted files, in upload order. ``name`` is the worker's own name for the file; show it only to them."""
    rows = assignment.files.filter(submitted=True).order_by("pk")
    return [ShownFile(row.question_identifier, row.key, uploaded_files.in_words(row.size), row.name) for row in rows]
