"""The settings of coding studies: the labels in their categories, and the draw of the comments."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.task_types.items import Json
from annotation.task_types.settings import Cell, ConfigForm, TableField

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
NULL = "Null"
#: The labels of Clark 2021, app. C.3: name in the data, category, wording, description.
PUBLISHED = (
    ("grammar", "Form", "Grammar", "Spelling, punctuation or sentence structure."),
    ("detail", "Form", "Level of detail", "How specific or general the text is."),
    ("genre", "Form", "Genre", "Whether the text reads like its genre, such as a story or a recipe."),
    ("repetition", "Content", "Repetition", "Whether words or ideas are repeated."),
    ("factuality", "Content", "Factuality", "Whether what the text claims is true."),
    ("consistency", "Content", "Consistency", "Whether the text contradicts itself or its beginning."),
    ("common_sense", "Content", "Common sense", "Whether what happens is possible in the real world."),
    ("coherence", "Content", "Coherence", "Whether the parts fit together and have a point."),
    (
        "intent",
        "Machine capabilities",
        "Writer’s intent",
        "What the writer meant or felt, and whether a machine could.",
    ),
    ("miscellaneous", NULL, "Miscellaneous", "A reason that no other label covers."),
    ("vague", NULL, "Vague or no reason", "The comment gives no reason or is unclear."),
)


class LabelsField(TableField):
    """Records of ``label``, its name in the data; ``category``; ``name``, what coders read; and ``description``."""

    def __init__(self, **kwargs: Any) -> None:
        cells = [
            Cell("label", "Name in the data", max_length=40),
            Cell("category", "Category", max_length=60),
            Cell("name", "Label", max_length=100),
            Cell("description", "Description", required=False, max_length=300),
        ]
        super().__init__(cells=cells, least=1, most=40, **kwargs)

    def clean(self, value: Any) -> list[Any]:
        rows = super().clean(value)
        names = [row["label"] for row in rows]
        for number, name in enumerate(names, start=1):
            if not _NAME.fullmatch(name):
                what = f"Entry {number}, label: “{name}” must begin with a letter and hold only a–z, 0–9 and _."
                raise ValidationError(what, code="name")
            if name in names[: number - 1]:
                raise ValidationError(f"Entry {number}, label: “{name}” is in the list twice.", code="twice")
        return rows


class CodingConfig(ConfigForm):
    """What coders choose from, what they see, and which comments they get."""

    labels = LabelsField(
        label="Labels",
        initial=[dict(zip(("label", "category", "name", "description"), each, strict=True)) for each in PUBLISHED],
        help_text="Coders choose one or more for each comment. Labels of a category appear together.",
    )
    null_category = forms.CharField(
        label="Category of comments that say nothing",
        initial=NULL,
        max_length=60,
        required=False,
        help_text="Comments whose labels are all of this category are left out of the shares. Empty: none is left out.",
    )
    show_text = forms.BooleanField(
        label="Show the text that a comment is about",
        initial=True,
        required=False,
        help_text="With the answer that its author gave there, if the item has them.",
    )
    authors_per_domain = forms.IntegerField(
        label="Authors per domain",
        min_value=1,
        max_value=10_000,
        initial=50,
        help_text="For items from another study: so many authors are drawn from each domain, with one comment each.",
    )
    draw_seed = forms.IntegerField(
        label="Seed of the draw",
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        help_text="The same seed draws the same comments from the same study.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        null, labels = cleaned.get("null_category"), cleaned.get("labels")
        if null and labels and null not in categories({"labels": labels}):
            known = ", ".join(categories({"labels": labels}))
            what = f"No label has the category “{null}”. Write one of {known}, or leave this empty."
            self.add_error("null_category", ValidationError(what, code="category"))
        return cleaned


def categories(config: Json) -> dict[str, list[str]]:
    """The names of the labels by category, both in the order of their first entry."""
    found: dict[str, list[str]] = {}
    for row in config["labels"]:
        found.setdefault(row["category"], []).append(row["label"])
    return found
