"""A setting that lists the questions: one record per question, with its name in the data."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError

from annotation.task_types.settings import Cell, TableField

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Names of fields on every page.
RESERVED = ("form", "timing", "feedback")


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
            if not _NAME.fullmatch(topic):
                what = f"Entry {number}, topic: “{topic}” must begin with a letter and hold only a–z, 0–9 and _."
                raise ValidationError(what, code="name")
            if topic in self.reserved:
                raise ValidationError(
                    f"Entry {number}, topic: “{topic}” is already used for something else.", code="reserved"
                )
            if topic in topics[: number - 1]:
                raise ValidationError(f"Entry {number}, topic: “{topic}” is in the list twice.", code="twice")
        return rows
