"""The form that makes a HIT in the browser. The API can do more; this is for a simple HIT, or a first one."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from marketplace.countries import is_code
from marketplace.models import HITLayout, Requester
from marketplace.money import assignment_fee
from marketplace.questions import external_question, html_question
from marketplace.services.hits import layouts, posting
from marketplace.services.qualifications import builtin_types
from marketplace.services.refusals import InvalidParameter
from marketplace.sites.operate.forms import MOST, once_field

SOURCES = [
    ("url", "A page on the web (ExternalQuestion)"),
    ("html", "A page typed here (HTMLQuestion)"),
    ("layout", "One of your layouts"),
]
TALLEST = layouts.TALLEST
#: Form fields for API parameters with other names, to show a refusal next to the right field.
FIELDS = {
    "Title": "title",
    "Description": "description",
    "Keywords": "keywords",
    "MaxAssignments": "assignments",
    "LifetimeInSeconds": "days",
    "AssignmentDurationInSeconds": "minutes",
    "AutoApprovalDelayInSeconds": "approve_days",
    "RequesterAnnotation": "annotation",
    "HITLayoutParameters": "values",
    "QualificationRequirements": "countries",
}


class HitForm(forms.Form):
    """What a HIT is about, what it pays, who can do it, and what workers see."""

    #: Fields that are required for some choices, so the page does not call them optional.
    conditional = ("url", "html", "layout", "values")

    title = forms.CharField(label="Title", max_length=128)
    description = forms.CharField(
        label="Description",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What workers will do.",
    )
    keywords = forms.CharField(label="Keywords", max_length=1000, required=False, help_text="With commas between them.")
    reward = forms.DecimalField(
        label="Reward in $", min_value=Decimal(0), max_value=MOST, max_digits=12, decimal_places=2
    )
    assignments = forms.IntegerField(label="Workers", min_value=1, max_value=10_000, initial=1)
    minutes = forms.IntegerField(
        label="Time limit in minutes", min_value=1, max_value=525_600, initial=30, help_text="For each worker."
    )
    days = forms.IntegerField(label="Days on offer", min_value=1, max_value=365, initial=7)
    approve_days = forms.IntegerField(
        label="Days until work is approved automatically",
        min_value=0,
        max_value=30,
        initial=3,
        help_text="Work that you have not decided on by then is approved and paid.",
    )
    countries = forms.CharField(
        label="Only workers in these countries",
        required=False,
        max_length=200,
        help_text="Two-letter codes with commas between them, such as DE, US.",
    )
    percent = forms.IntegerField(label="Minimum approval rate in percent", required=False, min_value=1, max_value=100)
    source = forms.ChoiceField(label="What workers see", choices=SOURCES, initial="url", widget=forms.RadioSelect)
    url = forms.URLField(
        label="Address, for a page on the web",
        required=False,
        max_length=2000,
        assume_scheme="https",
        help_text="It gets assignmentId, hitId, workerId and turkSubmitTo, and sends its form to turkSubmitTo + "
        "/mturk/externalSubmit.",
    )
    html = forms.CharField(
        label="HTML, for a page typed here",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "code-input"}),
        help_text="HTML with a form that sends assignmentId and the answers to /mturk/externalSubmit.",
    )
    layout = forms.ChoiceField(label="Layout, if you chose one", required=False)
    values = forms.CharField(
        label="Values for the layout",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "code-input"}),
        help_text="One on each line, such as image_url=https://example.org/1.png",
    )
    height = forms.IntegerField(
        label="Height in pixels",
        min_value=0,
        max_value=TALLEST,
        initial=0,
        help_text="Of the frame around the page. 0 fills most of the window. A layout has its own height.",
    )
    annotation = forms.CharField(
        label="Your note", max_length=255, required=False, help_text="For you: workers do not see it."
    )
    once = once_field()

    def __init__(self, requester: Requester, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.requester = requester
        names = requester.layouts.order_by("name", "pk").values_list("layout_id", "name")
        layout = self.fields["layout"]
        assert isinstance(layout, forms.ChoiceField)  # noqa: S101 - it is declared above
        layout.choices = [("", "Choose one"), *names]

    def clean_countries(self) -> list[str]:
        typed = [code.strip().upper() for code in self.cleaned_data["countries"].split(",") if code.strip()]
        if wrong := [code for code in typed if not is_code(code)]:
            raise ValidationError(f"Not a country code of ISO 3166: {', '.join(wrong)[:100]}.")
        return typed

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        source = data.get("source", "")
        if source in data and not str(data[source]).strip():
            missing = {"url": "Enter the address.", "html": "Type the page.", "layout": "Choose a layout."}
            self.add_error(source, missing[source])
        elif source and source not in self.errors:
            try:
                data["question"] = self._question(data)
            except (InvalidParameter, ValidationError) as error:
                self.add_error("values", str(getattr(error, "message", error)))
        return data

    def _question(self, data: dict[str, Any]) -> str:
        if data["source"] == "url":
            return external_question(data["url"], height=data.get("height") or 0)
        if data["source"] == "html":
            return html_question(data["html"].replace("\r\n", "\n"), height=data.get("height") or 0)
        layout = self._layout(data)
        values: dict[str, str] = {}
        for number, line in enumerate(data.get("values", "").splitlines(), start=1):
            if not line.strip():
                continue
            name, sign, value = line.partition("=")
            if not sign or not name.strip():
                raise ValidationError(f"Line {number} is not name=value: {line.strip()[:60]}")
            values[name.strip()] = value.strip()
        return layouts.filled(layout, values)

    def _layout(self, data: dict[str, Any]) -> HITLayout:
        return layouts.find_layout(requester=self.requester, layout_id=data["layout"])

    # --- What it makes --------------------------------------------------------------------------------------

    def properties(self) -> posting.Properties:
        data = self.cleaned_data
        requirements: list[dict[str, Any]] = []
        if data["countries"]:
            places = [{"Country": code} for code in data["countries"]]
            requirements.append(
                {"QualificationTypeId": builtin_types.LOCALE, "Comparator": "In", "LocaleValues": places}
            )
        if data["percent"]:
            least = {"Comparator": "GreaterThanOrEqualTo", "IntegerValues": [data["percent"]]}
            requirements.append({"QualificationTypeId": builtin_types.PERCENT_APPROVED} | least)
        return posting.Properties(
            title=data["title"],
            description=data["description"],
            keywords=data["keywords"],
            reward=data["reward"],
            assignment_duration=60 * data["minutes"],
            auto_approval_delay=int(timedelta(days=data["approve_days"]).total_seconds()),
            requirements=requirements,
        )

    def work(self) -> posting.Work:
        data = self.cleaned_data
        return posting.Work(
            question=data["question"],
            layout=self._layout(data) if data["source"] == "layout" else None,
            lifetime=int(timedelta(days=data["days"]).total_seconds()),
            max_assignments=data["assignments"],
            annotation=data["annotation"],
        )

    def cost(self) -> tuple[Decimal, Decimal]:
        """The total rewards and the total fees of all assignments."""
        reward, number = self.cleaned_data["reward"], self.cleaned_data["assignments"]
        return reward * number, assignment_fee(reward, max_assignments=number) * number

    def add_refusal(self, refused: Exception, message: str) -> None:
        """Show why a service refused, next to the field in question if there is one."""
        parameter = getattr(refused, "parameter", "")
        field = self.cleaned_data["source"] if parameter == "Question" else FIELDS.get(parameter)
        self.add_error(field, message)
