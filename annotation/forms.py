"""The form of a study's own fields, for the console, the command line and study files alike.

A task type brings the form of its settings (``TaskType.config_form``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Field

from annotation.models import Study
from annotation.task_types.questions import MAX_CHARS

#: The largest acceptable value of each number: what the smallest database column holds, or what makes sense.
MOST = {
    "ratings_per_item": 1_000,
    "items_per_hit": 1_000,
    "hits_per_worker": 1_000_000,
    "reward": 99_999,
    "time_limit_minutes": 43_200,
    "seed": 2_147_483_647,
}


if TYPE_CHECKING:
    _StudyModelForm = forms.ModelForm[Study]
else:
    _StudyModelForm = forms.ModelForm


class StudyForm(_StudyModelForm):
    """Everything about a study that is not its task type's. Give it a value for every field."""

    class Meta:
        model = Study
        fields = (
            "slug",
            "title",
            "contact",
            "consent",
            "ratings_per_item",
            "items_per_hit",
            "hits_per_worker",
            "reward",
            "time_limit_minutes",
            "access",
            "feedback_box",
            "seed",
        )
        labels = {
            "slug": "Short name in addresses",
            "contact": "Contact for workers",
            "consent": "Consent text",
            "ratings_per_item": "Ratings wanted per item",
            "items_per_hit": "Items per hit",
            "hits_per_worker": "Hits per worker at most",
            "reward": "Reward per hit (USD)",
            "time_limit_minutes": "Time limit per hit (minutes)",
            "access": "Who may take part",
            "feedback_box": "Ask for feedback at the end",
        }
        help_texts = {
            "slug": "Lower-case letters, digits and hyphens. Workers see it in the study link.",
            "title": "Workers see it at the top of every page.",
            "contact": "Whom workers write to, such as an e-mail address.",
            "consent": "Shown before anything else; workers have to agree. Left out when empty.",
            "ratings_per_item": "By as many different workers.",
            "items_per_hit": "A hit is what one worker does at one go and is paid for.",
            "hits_per_worker": "Empty: no limit.",
            "reward": "Zero for volunteers or a course.",
            "time_limit_minutes": "After that, an unfinished hit goes to somebody else.",
            "feedback_box": "An optional box on the last page of a hit.",
            "seed": "Fixes the order in which items are given out, so that the plan can be made again.",
        }
        error_messages = {
            "slug": {"unique": "Another study has this name."},
        }
        widgets = {"consent": forms.Textarea(attrs={"rows": 5})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, most in MOST.items():
            field = self.fields.get(name)
            if isinstance(field, forms.IntegerField):
                _bound_by(field, _least(name), most)
        consent = self.fields.get("consent")
        if isinstance(consent, forms.CharField):
            consent.max_length = MAX_CHARS

    def clean_title(self) -> str:
        return " ".join(str(self.cleaned_data["title"]).split())

    def clean_contact(self) -> str:
        return " ".join(str(self.cleaned_data["contact"]).split())

    def clean_consent(self) -> str:
        """A browser sends ``\\r\\n`` for what was stored as ``\\n``: the same text must stay the same."""
        text = str(self.cleaned_data["consent"]).replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > MAX_CHARS:
            raise forms.ValidationError(f"This is {len(text):,} characters long.")
        return text


def _least(name: str) -> int:
    """The model's own lower bound, so that the form's message and the page know it too."""
    field = cast("Field[Any, Any]", Study._meta.get_field(name))
    return max((int(v.limit_value) for v in field.validators if isinstance(v, MinValueValidator)), default=0)


def _bound_by(field: forms.IntegerField, least: int, most: int) -> None:
    """Replaces what the database happens to be able to hold."""
    field.min_value, field.max_value = least, most
    field.validators = [v for v in field.validators if not isinstance(v, MinValueValidator | MaxValueValidator)]
    field.validators += [MinValueValidator(least), MaxValueValidator(most)]
    field.widget.attrs |= {"min": least, "max": most}


def accepts(field: forms.Field) -> str:
    """What a field takes, in words that finish “Write …”."""
    if isinstance(field, forms.MultipleChoiceField):
        return f"a list of any of {', '.join(choices_of(field))}"
    if isinstance(field, forms.ChoiceField):
        return f"one of {', '.join(choices_of(field))}"
    if isinstance(field, forms.BooleanField):
        return "true or false"
    empty = "" if field.required else ", or nothing"
    if isinstance(field, forms.IntegerField):
        return (
            _number(field, "a number" if isinstance(field, forms.FloatField | forms.DecimalField) else "a whole number")
            + empty
        )
    if isinstance(field, forms.CharField):
        most = f" of at most {field.max_length:,} characters" if field.max_length else ""
        return f"text{most}"
    return "a value of the kind that its description names" + empty


def _number(field: forms.IntegerField, kind: str) -> str:
    low, high = _bound(field, MinValueValidator), _bound(field, MaxValueValidator)
    decimals = getattr(field, "decimal_places", None)
    text = kind
    if low is not None and high is not None:
        text += f" from {low:,} to {high:,}"
    elif low is not None:
        text += f" of at least {low:,}"
    elif high is not None:
        text += f" of at most {high:,}"
    return text + (f" with at most {decimals} decimals" if decimals is not None else "")


def _bound(field: forms.Field, kind: type[MinValueValidator] | type[MaxValueValidator]) -> Any:
    """The tightest bound among the field's validators: a model's field may bring a wider one of the database."""
    found = [v.limit_value for v in field.validators if type(v) is kind]
    numbers = [limit() if callable(limit) else limit for limit in found]
    if not numbers:
        return None
    return max(numbers) if kind is MinValueValidator else min(numbers)


def choices_of(field: forms.ChoiceField) -> Sequence[str]:
    """The values that a choice takes, groups opened up."""
    values: list[str] = []
    for value, label in cast("Iterable[tuple[Any, Any]]", field.choices):
        nested = label if isinstance(label, list | tuple) else [(value, label)]
        values += [str(inner) for inner, _ in nested if inner not in (None, "")]
    return values
