"""The form of the page *Questionnaires*: blocks as boxes to tick, own questions as a study file writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import yaml
from django import forms
from django.core.exceptions import ValidationError

from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.standard_questions import BLOCKS
from common.yaml_text import BadYaml, read_mapping

LONGEST = 100_000
#: What a study file may leave out.
_DEFAULTS: tuple[Any, ...] = ("", None, {}, [])
#: Fields that are as in a study file.
OWN_FIELDS = (
    *("screen_out_message", "screen_out_reward", "comprehension_tries", "comprehension_message"),
    *("training_needed", "training_tries", "training_show_right", "training_message", "training_skip_if_passed"),
)
_LINE = re.compile(r"\bline (\d+)")


class SourceField(forms.CharField):
    """A part of a study file, as YAML. ``example``: its first line."""

    def __init__(self, *, rows: int, example: str, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={"rows": rows, "class": "source", "spellcheck": "false"})
        super().__init__(required=False, max_length=LONGEST, strip=False, widget=widget, **kwargs)
        self.example = example

    def clean(self, value: Any) -> Any:
        text = str(super().clean(value) or "").replace("\r\n", "\n").replace("\t", "  ")
        if not text.strip():
            return None
        indented = "".join(f"  {line}\n" for line in text.split("\n"))
        try:
            return read_mapping(f"part:\n{indented}", example=self.example)[1]["part"]
        except BadYaml as wrong:
            raise ValidationError(_LINE.sub(lambda match: f"line {int(match[1]) - 1}", str(wrong)), "yaml") from None


class QuestionnairesPageForm(forms.Form):
    """Everything that a study asks around its tasks. The study's own checks come when it is saved."""

    before_blocks = forms.MultipleChoiceField(
        label="Standard questions",
        choices=[(block.name, block.title) for block in BLOCKS.values()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Worded in the study's language. People can decline each question about themselves.",
    )
    before = SourceField(label="Own questions", rows=8, example="- kind: choice")
    screen_out = SourceField(
        label="Screen out",
        rows=3,
        example="native_language: [other]",
        help_text="Questions above with the answers that screen people out: <code>native_language: [other]</code>, or "
        "everybody but those who answer: <code>native_language: {unless: [english]}</code>",
    )
    comprehension = SourceField(
        label="Questions",
        rows=8,
        example="- kind: choice",
        help_text="Each with <code>right</code> and, if you like, <code>explanation</code>, which people read after a "
        "try that failed.",
    )
    after = SourceField(label="Own questions", rows=8, example="- kind: text")

    def __init__(self, data: Any = None, *, settings: Mapping[str, Any], **kwargs: Any) -> None:
        entries = settings["before"]
        whole = [entry for entry in entries if set(entry) == {"block"}]
        first = entries[: len(whole)] == whole
        blocks = [entry["block"] for entry in whole] if first else []
        super().__init__(
            data,
            initial={
                "before_blocks": blocks,
                "before": _yaml(entries[len(blocks) :]),
                "screen_out": _yaml(settings["screen_out"]),
                "comprehension": _yaml(settings["comprehension"]),
                "after": _yaml(settings["after"]),
            },
            **kwargs,
        )
        for name in OWN_FIELDS:
            field = deepcopy(QuestionnairesForm.base_fields[name])
            self.fields[name] = field
            self.initial[name] = settings.get(name)
            if name.endswith("message"):
                field.widget = forms.Textarea(attrs={"rows": 2})

    def settings(self) -> dict[str, Any]:
        """The values as a study file has them."""
        typed = self.cleaned_data
        own = typed["before"]
        blocks = [{"block": name} for name in typed["before_blocks"]]
        pay = typed["screen_out_reward"]
        return {
            "before": [*blocks, *own] if isinstance(own, list) else own if own is not None else blocks,
            "after": typed["after"] if typed["after"] is not None else [],
            "comprehension": typed["comprehension"] if typed["comprehension"] is not None else [],
            "comprehension_tries": typed["comprehension_tries"],
            "comprehension_message": typed["comprehension_message"],
            "screen_out": typed["screen_out"] if typed["screen_out"] is not None else {},
            "screen_out_message": typed["screen_out_message"],
            "screen_out_reward": None if pay is None else str(pay),
            **{name: typed[name] for name in OWN_FIELDS if name.startswith("training_")},
        }


def _yaml(value: Any) -> str:
    """As people write it: without what has its default."""
    if not value:
        return ""
    return str(yaml.safe_dump(_short(value), allow_unicode=True, sort_keys=False, width=100, default_flow_style=None))


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        shortened = {name: _short(part) for name, part in value.items()}
        return {
            name: part
            for name, part in shortened.items()
            if part not in _DEFAULTS and (name, part) != ("required", True)
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_short(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
