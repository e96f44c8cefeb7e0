"""The settings of a task type as a form: fields with types, limits, help and initial values.

`ListField` contains several texts, `TableField` several records, such as statements with the labels of their ends,
`TopicsField` questions with their names in the data, `SuggestersField` names of suggesters. They are lists in a study
file and repeatable rows in the console.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from annotation.task_types.questions import one_line

_SUGGESTER = re.compile(r"[-a-zA-Z0-9_]{1,60}")
#: The name of a question in the data.
TOPIC = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Names of fields on every page.
RESERVED = ("form", "timing", "feedback")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a new study is, in fields of the study: the sizes of the published study where it tells them.

    Study files and the console's form start with these. A reward is never suggested: a study that does not name one
    must not promise money.
    """

    items_per_hit: int = 1
    ratings_per_item: int = 10
    hits_per_worker: int | None = 1


class ConfigForm(forms.Form):
    """A type's settings. Unknown names are refused automatically. Override ``clean`` for rules across settings."""


def record_edits_field() -> forms.BooleanField:
    """The setting ``record_edits``, for types with text boxes: whether each change in them is recorded.

    Off unless the study asks for it: what people delete is more than what they agree to send.
    """
    return forms.BooleanField(
        label="Record how workers write",
        required=False,
        initial=False,
        help_text="Saves each change in a text box with its time, for the replay and the export “events”. Workers see "
        "a notice. Needs JavaScript in their browser.",
    )


def refuse_crossed_limits(form: forms.Form, least: str, most: str, name: str) -> None:
    """Adds an error to the field ``least`` if its value is above that of ``most``, which the message calls ``name``."""
    lower, upper = form.cleaned_data.get(least), form.cleaned_data.get(most)
    if lower and upper and lower > upper:
        form.add_error(least, f"This is more than the {name}, {upper}. Lower it.")


@dataclass(frozen=True, slots=True)
class Cell:
    """One part of a record in a `TableField`. ``choices`` are (value, label); empty: any one-line text."""

    name: str
    label: str
    required: bool = True
    max_length: int = 500
    choices: Sequence[tuple[str, str]] = ()


class RowsWidget(forms.Widget):
    """One text box per entry. Without JavaScript there are a few empty rows; with it, buttons add and remove rows.

    The form fields are ``<name>-0``, ``<name>-1``, … (of a table ``<name>-0-<cell>``).
    """

    template_name = "console/_rows_widget.html"
    spare_rows = 2
    #: The id of a list on the page whose values the browser offers.
    offered = ""

    def __init__(self, cells: Sequence[Cell], most: int) -> None:
        super().__init__()
        self.cells, self.most = cells, most

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        if name in data:  # a whole list, from a study file or code
            return data[name]
        single = not self.cells[0].name
        rows: list[Any] = []
        for number in range(self.most + self.spare_rows + 1):
            fields = {cell.name: f"{name}-{number}-{cell.name}".rstrip("-") for cell in self.cells}
            if not any(field in data for field in fields.values()):
                continue
            row = {cell: str(data.get(field, "")).strip() for cell, field in fields.items()}
            if any(row.values()):
                rows.append(row[""] if single else row)
        return rows

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return False

    def _render(self, template_name: str, context: dict[str, Any], renderer: Any = None) -> SafeString:
        """Renders with the project's templates, because Django's own form renderer finds only those of apps."""
        return render_to_string(template_name, context)

    def id_for_label(self, id_: str, index: Any = None) -> str:
        return f"{id_}-0" if id_ else ""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        rows = [row if isinstance(row, dict) else {"": row} for row in (value or [])]
        rows += [{} for _ in range(min(self.spare_rows, max(0, self.most - len(rows))) or (0 if rows else 1))]
        context["widget"] |= {
            "most": self.most,
            "cells": self.cells,
            "offered": self.offered,
            "rows": [
                [(cell, f"{name}-{number}-{cell.name}".rstrip("-"), row.get(cell.name, "")) for cell in self.cells]
                for number, row in enumerate(rows)
            ],
        }
        return context


class TableField(forms.Field):
    """A list of records. Each maps the cells' names to texts."""

    def __init__(self, *, cells: Sequence[Cell], least: int = 0, most: int = 50, **kwargs: Any) -> None:
        self.cells, self.least, self.most = tuple(cells), least, most
        kwargs.setdefault("required", least > 0)
        kwargs.setdefault("initial", [])
        super().__init__(widget=RowsWidget(self.cells, most), **kwargs)

    def clean(self, value: Any) -> list[Any]:
        if value in (None, ""):
            value = []
        if not isinstance(value, list | tuple):
            raise ValidationError("This is not a list.", code="list")
        rows = [self.clean_row(row, number) for number, row in enumerate(value, start=1)]
        if len(rows) < self.least:
            raise ValidationError(f"At least {_entries(self.least)} needed; there are {len(rows)}.", code="least")
        if len(rows) > self.most:
            raise ValidationError(f"At most {_entries(self.most)} allowed; there are {len(rows)}.", code="most")
        return rows

    def clean_row(self, row: Any, number: int) -> Any:
        if not isinstance(row, Mapping):
            names = ", ".join(cell.name for cell in self.cells)
            raise ValidationError(f"Entry {number} is not a record with {names}.", code="record")
        if strange := sorted(set(map(str, row)) - {cell.name for cell in self.cells}):
            raise ValidationError(f"Entry {number} has an unknown name “{strange[0][:40]}”.", code="unknown")
        return {cell.name: self.clean_cell(row.get(cell.name, ""), cell, number) for cell in self.cells}

    def clean_cell(self, value: Any, cell: Cell, number: int) -> str:
        where = f"Entry {number}" + (f", {cell.name}" if cell.name else "")
        if value is None:
            value = ""
        if not isinstance(value, str):
            raise ValidationError(f"{where}: “{str(value)[:40]}” is not text; put it in quotes.", code="text")
        text = one_line(value)
        if cell.required and not text:
            raise ValidationError(f"{where} is empty.", code="empty")
        if len(text) > cell.max_length:
            what = f"{where} is {len(text):,} characters long; at most {cell.max_length:,} fit."
            raise ValidationError(what, code="long")
        allowed = [key for key, _ in cell.choices]
        if allowed and text not in allowed and (text or cell.required):
            raise ValidationError(f"{where}: “{text[:40]}” is not one of {', '.join(allowed)}.", code="choice")
        return text


class ListField(TableField):
    """A list of texts. With ``gaps``, a study file may leave some of them empty."""

    def __init__(
        self, *, least: int = 0, most: int = 50, max_length: int = 500, gaps: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(cells=[Cell("", "", not gaps, max_length=max_length)], least=least, most=most, **kwargs)

    def clean(self, value: Any) -> list[Any]:
        entries = super().clean(value)
        doubled = next((entry for at, entry in enumerate(entries) if entry and entry in entries[:at]), None)
        if doubled is not None:
            raise ValidationError(f"“{doubled[:60]}” is in the list twice.", code="twice")
        return entries

    def clean_row(self, row: Any, number: int) -> Any:
        return self.clean_cell(row, self.cells[0], number)


class TopicsField(TableField):
    """Records of ``topic``, a name in the data, and ``question``, what workers read."""

    def __init__(self, *, question: str, reserved: Collection[str] = (), most: int = 30, **kwargs: Any) -> None:
        self.reserved = {*RESERVED, *reserved}
        cells = [Cell("topic", "Name in the data", max_length=40), Cell("question", question, max_length=300)]
        super().__init__(cells=cells, least=1, most=most, **kwargs)

    def clean(self, value: Any) -> list[Any]:
        rows = super().clean(value)
        topics = [row["topic"] for row in rows]
        for number, topic in enumerate(topics, start=1):
            if not TOPIC.fullmatch(topic):
                what = f"Entry {number}, topic: “{topic}” must begin with a letter and hold only a–z, 0–9 and _."
                raise ValidationError(what, code="name")
            if topic in self.reserved:
                raise ValidationError(
                    f"Entry {number}, topic: “{topic}” is already used for something else.", code="reserved"
                )
            if topic in topics[: number - 1]:
                raise ValidationError(f"Entry {number}, topic: “{topic}” is in the list twice.", code="twice")
        return rows


class OptionsField(TableField):
    """The options of a question: ``key``, a name in the data that stays when the wording changes, ``label``,
    ``description`` and ``group``, a heading above neighbouring options."""

    def __init__(self, *, least: int = 2, most: int = 30, **kwargs: Any) -> None:
        cells = [
            Cell("key", "Name in the data", max_length=40),
            Cell("label", "Option", max_length=300),
            Cell("description", "Description", required=False),
            Cell("group", "Heading above", required=False, max_length=100),
        ]
        super().__init__(cells=cells, least=least, most=most, **kwargs)

    def clean(self, value: Any) -> list[Any]:
        rows = super().clean(value)
        keys = [row["key"] for row in rows]
        for number, key in enumerate(keys, start=1):
            if not TOPIC.fullmatch(key):
                what = f"Entry {number}, key: “{key}” must begin with a letter and hold only a–z, 0–9 and _."
                raise ValidationError(what, code="name")
            if key in keys[: number - 1]:
                raise ValidationError(f"Entry {number}, key: “{key}” is in the list twice.", code="twice")
        return rows


class SuggestersField(ListField):
    """Names of suggesters. If a name is listed twice, its suggester makes two suggestions."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.widget.offered = "suggesters"

    def clean(self, value: Any) -> list[Any]:
        names = TableField.clean(self, value)
        for number, name in enumerate(names, start=1):
            if not _SUGGESTER.fullmatch(name):
                what = f"Entry {number}: “{name[:60]}” is not the name of a suggester: use letters, digits, - and _."
                raise ValidationError(what, code="name")
        return names


def _entries(count: int) -> str:
    return f"{count} {'entry is' if count == 1 else 'entries are'}"
