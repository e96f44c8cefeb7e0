"""The widget of described questions: a block for each question, with the settings of its kind.

The form fields are ``<name>-0-kind``, ``<name>-0-topic``, … and those of the kind's settings, ``<name>-0-points``, ….
Without JavaScript there is an empty block at the end; saving brings the settings of its kind and another empty one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from annotation.task_types.kinds import describable_kinds
from annotation.task_types.questions import Group, Question

#: Stands for the number of a block in the templates of new blocks.
PLACEHOLDER = "__n__"


class QuestionBlocksWidget(forms.Widget):
    """``about``: what a question can be about, by value; empty if all are about the same."""

    template_name = "console/_question_blocks.html"
    #: Shown as a group of fields.
    blocks = True

    def __init__(self, most: int, about: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.most, self.about = most, dict(about or {})

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        if name in data:  # a whole list, from a study file or code
            return data[name]
        kind_field = re.compile(rf"{re.escape(name)}-(\d{{1,4}})-kind")
        numbers = [int(match[1]) for field in data if (match := kind_field.fullmatch(field)) and data[field].strip()]
        numbers.sort(key=lambda number: (self._place(data, name, number), number))
        return [self._block(data, files, f"{name}-{number}") for number in numbers]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return False

    def _place(self, data: Mapping[str, Any], name: str, number: int) -> float:
        raw = str(data.get(f"{name}-{number}-place", "")).strip()
        return float(raw) if raw.isdecimal() and len(raw) < 5 else number + 1

    def _block(self, data: Mapping[str, Any], files: Any, prefix: str) -> dict[str, Any]:
        """What was typed into one block. Settings that it lacks, because its kind was just chosen, are left out."""
        text = {part: str(data.get(f"{prefix}-{part}", "")).strip() for part in ("kind", "topic", "question", "help")}
        block: dict[str, Any] = text | {"required": f"{prefix}-required" in data or f"{prefix}-place" not in data}
        if self.about:
            block["of"] = str(data.get(f"{prefix}-of", "")) or next(iter(self.about))
        if condition := str(data.get(f"{prefix}-if", "")).strip():
            answers = str(data.get(f"{prefix}-answers", ""))
            block["shown_if"] = {condition: [_number(part.strip()) for part in answers.split("|") if part.strip()]}
        kind = describable_kinds().get(text["kind"])
        if kind is not None and data.get(f"{prefix}-drawn") == text["kind"]:
            for name, field in _settings(kind, prefix).fields.items():
                block[name] = field.widget.value_from_datadict(data, files, f"{prefix}-{name}")
        return block

    def _render(self, template_name: str, context: dict[str, Any], renderer: Any = None) -> SafeString:
        """Renders with the project's templates, because Django's own form renderer finds only those of apps."""
        return render_to_string(template_name, context)

    def id_for_label(self, id_: str, index: Any = None) -> str:
        return f"{id_}-0-kind" if id_ else ""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        disabled = bool(context["widget"]["attrs"].get("disabled"))
        rows = [row for row in (value if isinstance(value, Sequence) else []) if isinstance(row, Mapping)]
        blocks = [self._drawn(f"{name}-{number}", number, row, disabled=disabled) for number, row in enumerate(rows)]
        if not disabled and len(rows) < self.most:
            blocks.append(self._drawn(f"{name}-{len(rows)}", len(rows), {}, disabled=False))
        kinds = describable_kinds()
        context["widget"] |= {
            "blocks": blocks,
            "kinds": [(key, kind.kind_name or key) for key, kind in kinds.items()],
            "about": list(self.about.items()),
            "most": self.most,
            "new_settings": [
                (key, _settings(kind, f"{name}-{PLACEHOLDER}"), f"{name}-{PLACEHOLDER}") for key, kind in kinds.items()
            ]
            if not disabled
            else [],
        }
        return context

    def _drawn(self, prefix: str, number: int, row: Mapping[str, Any], *, disabled: bool) -> dict[str, Any]:
        condition = row.get("shown_if") or {}
        asked, answers = next(iter(condition.items()), ("", [])) if isinstance(condition, Mapping) else ("", [])
        kind = describable_kinds().get(str(row.get("kind", "")))
        form = _settings(kind, prefix, row) if kind is not None else None
        if disabled and form is not None:
            for field in form.fields.values():
                field.disabled = True
                field.widget.attrs["disabled"] = True
        answers = answers if isinstance(answers, list) else []
        words = [f"{answer:g}" if isinstance(answer, float) else str(answer) for answer in answers]
        return {
            "prefix": prefix,
            "number": number + 1,
            "row": row,
            "required": row.get("required", True),
            "condition": asked,
            "answers": " | ".join(words),
            "settings": form,
        }


def _settings(kind: type[Question] | type[Group], prefix: str, row: Mapping[str, Any] | None = None) -> forms.Form:
    """The form of the kind's settings, unbound, with the values of ``row``."""
    assert kind.settings_form is not None  # noqa: S101 - only kinds that a study can describe are offered
    return kind.settings_form(prefix=prefix, initial=dict(row or {}), auto_id="id_%s")


def _number(text: str) -> float | str:
    """A number if the text is one: answers of a scale are numbers, and keys of options texts."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number
