"""The forms of a study's own fields and of an arm's, for the console, the command line and study files.

Each task type has a form for its settings (``TaskType.config_form``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db.models import Field, Model

from annotation.models import Arm, Study
from annotation.task_types.described_questions import COMMON, DescribedQuestionsField
from annotation.task_types.questions import MAX_CHARS
from annotation.task_types.settings import TableField
from common.words import counted

#: The largest value of each number: what fits in the smallest database column, or what makes sense.
MOST = {
    "ratings_per_item": 1_000,
    "items_per_hit": 1_000,
    "hits_per_worker": 1_000_000,
    "reward": 99_999,
    "estimated_minutes": 43_200,
    "time_limit_minutes": 43_200,
    "part_pay_amount": 99_999,
    "seed": 2_147_483_647,
    "exam_percent": 100,
    "wanted": 1_000_000,
}
ARM_NAME = RegexValidator(
    r"^\w[\w -]*\Z", "Use letters, digits, hyphens, underscores and spaces, beginning with a letter or digit."
)
#: A language with its script and region, as HTML writes it (BCP 47).
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-[A-Za-z0-9]{5,8})*")
PARAMETER = RegexValidator(r"^[A-Za-z][A-Za-z0-9_-]*\Z", "Use letters, digits, hyphens and underscores.")
#: Parameters that the server's own links use.
TAKEN_PARAMETERS = ("k", "bot", "step", "page")


if TYPE_CHECKING:
    _StudyModelForm = forms.ModelForm[Study]
    _ArmModelForm = forms.ModelForm[Arm]
else:
    _StudyModelForm = _ArmModelForm = forms.ModelForm


class FormattedText(forms.Textarea):
    """A long text that workers see formatted. The console offers a preview of it."""

    formatted = True


class StudyForm(_StudyModelForm):
    """Everything about a study except its task type's settings and texts. Give it a value for every field."""

    class Meta:
        model = Study
        fields = (
            "slug",
            "title",
            "contact",
            "consent",
            "language",
            "item_language",
            "ratings_per_item",
            "items_per_hit",
            "hits_per_worker",
            "reward",
            "pay_note",
            "estimated_minutes",
            "time_limit_minutes",
            "access",
            "identity",
            "identity_parameter",
            "panel",
            "exam_study",
            "exam_percent",
            "feedback_box",
            "part_pay",
            "part_pay_amount",
            "keep_ratings",
            "seed",
        )
        labels = {
            "slug": "Short name in addresses",
            "language": "Language of workers' pages",
            "item_language": "Language of the items",
            "contact": "Contact for workers",
            "consent": "Consent text",
            "ratings_per_item": "Ratings wanted per item",
            "items_per_hit": "Items per hit",
            "hits_per_worker": "Maximum hits per worker",
            "reward": "Reward per hit (USD)",
            "pay_note": "How and when workers are paid",
            "estimated_minutes": "Estimated time per hit (minutes)",
            "time_limit_minutes": "Time limit per hit (minutes)",
            "access": "Who may take part",
            "identity": "Prevent repeat participation",
            "identity_parameter": "Name of the panel's parameter",
            "panel": "Name of the panel",
            "exam_study": "Only people who passed the exam in this study",
            "exam_percent": "Pass mark (%)",
            "feedback_box": "Ask for feedback at the end",
            "part_pay": "Pay for people who stop in the middle of a hit",
            "part_pay_amount": "Fixed amount for a stopped hit (USD)",
            "keep_ratings": "After a deletion request, keep the ratings without a name",
        }
        help_texts = {
            "slug": "Lower-case letters, digits and hyphens. Workers see it in the study link.",
            "title": "Workers see it at the top of every page.",
            "language": "Of buttons, notices and errors. The texts of the task, such as instructions, questions and "
            "consent, stay as you write them.",
            "item_language": "If it is not that of the pages: a tag such as en, pt-BR or sw. Browsers pick fonts "
            "and voices by it.",
            "contact": "Who workers can contact, such as an e-mail address.",
            "consent": "Workers read it first and must agree. Leave it empty for none.",
            "ratings_per_item": "Each rating is by a different worker. With arms, this is the number in each arm.",
            "items_per_hit": "A hit is the work that one worker does in one session, for one reward.",
            "hits_per_worker": "Empty: no limit.",
            "reward": "Zero for volunteers or students. An arm can have a different reward.",
            "pay_note": "Workers read it before they start and when they have done a task. Without a reward, say here "
            "what they get instead, such as course credit. Empty: a sentence about how the platform pays, or nothing.",
            "estimated_minutes": "How long you expect a hit to take. Workers see it, with the pay per hour, until the "
            "first five have sent their work; then they see the median time.",
            "time_limit_minutes": "After that, an unfinished hit goes to another worker. Workers see it beside the "
            "expected time.",
            "identity": "Without a check, the same person can use the open link again. One participation per browser "
            "stops most repeats, but not a second device or a private window. If a panel sends people here and adds "
            "their id to the link, you can use that id; but the server cannot check it, so whoever knows somebody's id "
            "can start in their place. A personal link is always for one person.",
            "identity_parameter": "Such as PROLIFIC_PID, for links that end in ?PROLIFIC_PID=…",
            "panel": "Such as prolific. The same id from the same panel is the same person in all studies.",
            "exam_study": "The short name of a study whose items have right answers. Leave it empty for no exam. "
            "People are recognised by personal link, browser or panel id, whichever both studies use.",
            "exam_percent": "Only used with an exam. Unanswered questions count as wrong.",
            "feedback_box": "An optional box on the last page of a hit.",
            "part_pay": "Workers can then stop after any step. Their place is free again. The start page tells them.",
            "part_pay_amount": "Only used with a fixed amount.",
            "keep_ratings": "Only the numbers stay. Everything people wrote is deleted in any case. "
            "The start page tells them.",
            "seed": "Fixes the order in which items are given out, so that the plan can be reproduced.",
        }
        error_messages = {
            "slug": {"unique": "Another study already has this name."},
        }
        widgets = {"consent": FormattedText(attrs={"rows": 5}), "pay_note": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _bound_numbers(self, Study)
        parameter = self.fields.get("identity_parameter")
        if parameter is not None:
            parameter.validators.append(PARAMETER)
        consent = self.fields.get("consent")
        if isinstance(consent, forms.CharField):
            consent.max_length = MAX_CHARS

    def clean_title(self) -> str:
        return " ".join(str(self.cleaned_data["title"]).split())

    def clean_item_language(self) -> str:
        tag = str(self.cleaned_data["item_language"]).strip()
        if tag and not LANGUAGE_TAG.fullmatch(tag):
            raise forms.ValidationError("This is not a language tag. Write one such as en, pt-BR or zh-Hant.", "tag")
        return tag

    def clean_contact(self) -> str:
        return " ".join(str(self.cleaned_data["contact"]).split())

    def clean_panel(self) -> str:
        return " ".join(str(self.cleaned_data["panel"]).split())

    def clean_identity_parameter(self) -> str:
        name = str(self.cleaned_data["identity_parameter"])
        if name.lower() in TAKEN_PARAMETERS:
            raise forms.ValidationError("The server uses this parameter itself.", code="taken")
        return name

    def clean(self) -> dict[str, Any]:
        super().clean()
        if {"part_pay", "part_pay_amount", "reward"} <= self.cleaned_data.keys():
            rule, amount, reward = (self.cleaned_data[name] for name in ("part_pay", "part_pay_amount", "reward"))
            problem = None
            if rule == Study.PartPay.FIXED and amount is None:
                problem = forms.ValidationError("Needed for a fixed amount.", "required")
            elif rule != Study.PartPay.FIXED and amount is not None:
                problem = forms.ValidationError("Only used with a fixed amount (part_pay: fixed).", "unused")
            elif amount is not None and amount > reward:
                problem = forms.ValidationError("This is more than the reward of a whole hit.", "more_than_reward")
            if problem:
                self.add_error("part_pay_amount", problem)
        by_parameter = self.cleaned_data.get("identity") == Study.Identity.PARAMETER
        for name in ("identity_parameter", "panel"):
            if name not in self.cleaned_data or "identity" not in self.cleaned_data:
                continue
            if by_parameter and not self.cleaned_data[name]:
                self.add_error(name, forms.ValidationError("Needed to recognise people by a panel's id.", "required"))
            elif self.cleaned_data[name] and not by_parameter:
                what = "Only used if a panel's id prevents repeat participation (identity: parameter)."
                self.add_error(name, forms.ValidationError(what, "unused"))
        return self.cleaned_data

    def clean_consent(self) -> str:
        """A browser sends ``\\r\\n`` for a stored ``\\n``. The same text must stay the same."""
        text = str(self.cleaned_data["consent"]).replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > MAX_CHARS:
            raise forms.ValidationError(f"This is {len(text):,} characters long.")
        return text


class ArmForm(_ArmModelForm):
    """An arm's own fields. Its changes to the type's settings and texts are checked together with those."""

    class Meta:
        model = Arm
        fields = ("name", "reward", "wanted")
        labels = {"name": "Name", "reward": "Reward per hit (USD)", "wanted": "Participants wanted"}
        help_texts = {
            "name": "Appears in the data, never on workers' pages.",
            "reward": "Empty: the study's reward.",
            "wanted": "When this many people have done a hit, nobody new joins this arm. Empty: no limit.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = True
        self.fields["name"].validators.append(ARM_NAME)
        _bound_numbers(self, Arm)


def _bound_numbers(form: forms.BaseForm, model: type[Model]) -> None:
    for name, most in MOST.items():
        field = form.fields.get(name)
        if not isinstance(field, forms.IntegerField):
            continue
        column = cast("Field[Any, Any]", model._meta.get_field(name))
        bounds = [v.limit_value for v in column.validators if type(v) is MinValueValidator]
        # The model's own lower bound; the form's own bounds only come from what the database can hold.
        least = max((bound for bound in bounds if isinstance(bound, int | Decimal)), default=0)
        field.min_value, field.max_value = least, most  # type: ignore[assignment]  # a DecimalField may have decimals
        field.validators = [v for v in field.validators if not isinstance(v, MinValueValidator | MaxValueValidator)]
        field.validators += [MinValueValidator(least), MaxValueValidator(most)]
        field.widget.attrs |= {"min": least, "max": most}


def accepts(field: forms.Field) -> str:
    """What a field accepts, in words that complete “Write …”."""
    if isinstance(field, DescribedQuestionsField):
        about = ["of"] if field.about else []
        return f"a list of records with {', '.join([*COMMON, *about])} and the settings of the kind"
    if isinstance(field, TableField):
        names = ", ".join(cell.name for cell in field.cells if cell.name)
        return f"a list of {f'records with {names}' if names else 'texts'}" + ("" if field.required else ", or nothing")
    if isinstance(field, forms.MultipleChoiceField):
        return f"a list of any of {', '.join(choices_of(field))}"
    if isinstance(field, forms.ChoiceField):
        return f"one of {', '.join(choices_of(field))}"
    if isinstance(field, forms.BooleanField):
        return "true or false"
    empty = "" if field.required else ", or nothing"
    if isinstance(field, forms.IntegerField):
        low, high = bound(field, MinValueValidator), bound(field, MaxValueValidator)
        decimals = getattr(field, "decimal_places", None)
        text = "a number" if isinstance(field, forms.FloatField | forms.DecimalField) else "a whole number"
        if low is not None and high is not None:
            text += f" from {low:,} to {high:,}"
        elif low is not None:
            text += f" of at least {low:,}"
        elif high is not None:
            text += f" of at most {high:,}"
        return text + (f" with at most {counted(decimals, 'decimal')}" if decimals is not None else "") + empty
    if isinstance(field, forms.CharField):
        most = f" of at most {field.max_length:,} characters" if field.max_length else ""
        return f"text{most}"
    return "a value as the description says" + empty


def bound(field: forms.Field, kind: type[MinValueValidator] | type[MaxValueValidator]) -> Any:
    """The tightest bound among the field's validators. A model's field may also have a wider one from the database."""
    limits = [v.limit_value for v in field.validators if type(v) is kind]
    numbers = [limit() if callable(limit) else limit for limit in limits]
    if not numbers:
        return None
    return max(numbers) if kind is MinValueValidator else min(numbers)


def choices_of(field: forms.ChoiceField) -> Sequence[str]:
    """The values that a choice field accepts, including those inside groups."""
    values: list[str] = []
    for value, label in cast("Iterable[tuple[Any, Any]]", field.choices):
        nested = label if isinstance(label, list | tuple) else [(value, label)]
        values += [str(inner) for inner, _ in nested if inner not in (None, "")]
    return values
