"""The kinds of values in study files: whether one is right for its field, and what is wrong in words."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from django import forms

from annotation.task_types.settings import TableField
from common.problems import Problem


def fits(field: forms.Field, value: Any) -> bool:
    """Whether the YAML value is of a kind that the field accepts, without surprising conversions."""
    if value is None:
        return not field.required and not isinstance(field, forms.BooleanField)
    if isinstance(field, TableField):
        return isinstance(value, list)
    if isinstance(field, forms.MultipleChoiceField):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    if isinstance(field, forms.BooleanField):
        return isinstance(value, bool)
    if isinstance(field, forms.FloatField | forms.DecimalField):
        return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if isinstance(field, forms.IntegerField):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(field, forms.CharField | forms.ChoiceField):
        return isinstance(value, str)
    return True


def wrong_type(where: str, value: Any, wanted: str) -> Problem:
    """The problem that a value is of another kind, with the beginning of the value."""
    quote = ", in quotes" if wanted.startswith(("text", "one of")) and not isinstance(value, list | dict) else ""
    # At most 60 characters: a file may contain something long or secret by mistake.
    shown = ""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**60:
        shown = " “…”"
    elif value is not None and not isinstance(value, list | dict):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        shown = f" “{text[:60]}”"
    return Problem(where, f"This is {kind_of(value)}{shown}.", f"Write {wanted}{quote}.")


def kind_of(value: Any) -> str:
    """The kind of a YAML value in words."""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
    if value is None:
        return "nothing"
    return "a date" if isinstance(value, date) else kinds.get(type(value), type(value).__name__)
