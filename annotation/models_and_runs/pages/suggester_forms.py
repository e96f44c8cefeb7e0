"""Forms for suggesters and their pools. The services check the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.html import format_html

from annotation.access import runs_of
from generation.models import GenerationRun, LanguageModel, Suggester
from generation.registry.registration import EMBEDDED_NAMES, ensure_embedded_model
from generation.suggestions.definitions import DEFAULT_LIMITS

#: The model that comes as a package. It is registered when it is first used.
EMBEDDED = EMBEDDED_NAMES["transformers"]


class RulesForm(forms.Form):
    """The model and settings of a suggester, and the rules for what it may show to writers."""

    model = forms.ChoiceField(
        label="Model",
        error_messages={"required": "Choose a model. An administrator registers models on the page Models."},
    )
    decoder = forms.CharField(
        max_length=60,
        initial="top_p=0.9",
        help_text="How texts are drawn: <code>ancestral</code>, <code>top_p=0.9</code>, <code>temperature=0.7</code> …",
    )
    template = forms.CharField(
        initial="{story}",
        widget=forms.Textarea(attrs={"rows": 3, "class": "source"}),
        help_text="The prompt. <code>{story}</code> is the text so far.",
    )
    priming = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Text before every prompt",
        help_text="Such as examples of what to write.",
    )
    least_characters = forms.IntegerField(initial=20, min_value=1, label="Shortest suggestion, in characters")
    most_characters = forms.IntegerField(initial=260, min_value=1, label="Longest suggestion, in characters")
    one_sentence = forms.BooleanField(initial=True, required=False, label="One sentence only")
    max_new_tokens = forms.IntegerField(
        initial=DEFAULT_LIMITS["max_new_tokens"], min_value=1, max_value=2000, label="Maximum tokens"
    )
    wait_seconds = forms.FloatField(
        initial=10,
        min_value=0.5,
        max_value=120,
        label="Seconds to wait before using a prepared text",
        help_text="After half of this time, a second suggestion is requested.",
    )
    tries = forms.IntegerField(initial=3, min_value=1, max_value=10, label="Maximum attempts")
    word_list = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Words that no suggestion may contain",
        help_text="One word or phrase per line.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["model"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - as declared above
        retired = dict(LanguageModel.objects.order_by("name").values_list("name", "retired"))
        names = sorted({*retired, EMBEDDED} - {name for name in retired if retired[name]})
        field.choices = [(name, f"{name} (comes with HITServer)" if name == EMBEDDED else name) for name in names]
        others = format_html('Others are added on the page <a href="{}">Models</a>.', reverse("console_models"))
        field.help_text = others

    def values(self, limits: Mapping[str, Any] = DEFAULT_LIMITS) -> dict[str, Any]:
        """The values in the form that services accept. Limits that the page does not show stay as in ``limits``."""
        values = dict(self.cleaned_data)
        model = LanguageModel.objects.filter(name=values["model"]).first()
        values["model"] = model or ensure_embedded_model()
        stop = "sentence" if values.pop("one_sentence") else ""
        changed = {"max_new_tokens": values.pop("max_new_tokens"), "stop": stop}
        return values | {"limits": {**limits, **changed}}


class SuggesterForm(RulesForm):
    """A new suggester."""

    name = forms.SlugField(max_length=60, help_text="What studies call it, such as <code>model-a</code>.")
    field_order = ("name",)


def rules_of_suggester(suggester: Suggester) -> dict[str, Any]:
    """The initial values of a form that changes this suggester."""
    names = [name for name in RulesForm.base_fields if hasattr(suggester, name)]
    limits = suggester.limits
    return {name: getattr(suggester, name) for name in names} | {
        "model": suggester.model.name,
        "one_sentence": limits.get("stop") == "sentence",
        "max_new_tokens": limits.get("max_new_tokens"),
    }


class TryForm(forms.Form):
    """A story to continue."""

    story = forms.CharField(
        label="Text so far",
        max_length=20_000,
        initial="The ferry had left an hour early.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class PoolForm(forms.Form):
    """Texts for a pool: samples of a run, or a CSV file."""

    run = forms.ModelChoiceField(
        GenerationRun.objects.none(),
        required=False,
        to_field_name="name",
        empty_label="No run",
        label="Samples of a run",
        help_text="Of the same model and decoder. The field <code>round</code> of a context says which round they fit.",
    )
    file = forms.FileField(
        required=False,
        label="Or a CSV file",
        help_text="With the column <code>text</code> and, if you like, <code>round</code> (0 fits every round) and "
        "<code>suggester</code> (texts for another one are left out).",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["run"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - as declared above
        field.queryset = runs_of(user).order_by("-pk")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and bool(values.get("run")) == bool(values.get("file")):
            both = bool(values.get("run"))
            raise forms.ValidationError("Choose a run or a file, not both." if both else "Choose a run or a file.")
        return values
