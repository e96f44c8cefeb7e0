"""What a person chooses from the list of submissions, and the terms of an action on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from annotation.models import BulkAction, Review, Study
from annotation.recruiting.pay_states import PAY_STATES
from annotation.review.bulk_decisions import MOST_BONUS, NEEDS_NOTE
from annotation.review.submission_lists import SHOWS, Filter
from common.numbers import whole_number


def filter_of(study: Study, query: Mapping[str, Any]) -> Filter:
    """The filter in an address or a form. Invalid values are left out."""

    def text(name: str, most: int) -> str:
        return str(query.get(name, "")).replace("\x00", "").strip()[:most]

    show, pay, arm = text("show", 20), text("pay", 20), query.get("arm")
    arms = list(study.arms.values_list("name", flat=True))
    faster = whole_number(text("faster", 10), least=1, most=10**6)
    return Filter(
        show=show if show in SHOWS else "all",
        pseudonym=text("worker", 40),
        arm=arm if len(arms) > 1 and arm in arms else None,
        pay=pay if pay in PAY_STATES else "",
        reason=text("reason", 40),
        faster=faster,
    )


def query_of(chosen_filter: Filter) -> str:
    """The filter as it is written in an address."""
    query = QueryDict(mutable=True)
    names: dict[str, Any] = {
        "show": chosen_filter.show if chosen_filter.show != "all" else "",
        "worker": chosen_filter.pseudonym,
        "arm": chosen_filter.arm,
    }
    names |= {"pay": chosen_filter.pay, "reason": chosen_filter.reason, "faster": chosen_filter.faster}
    for name, value in names.items():
        if value or (name == "arm" and value is not None):
            query[name] = str(value)
    return query.urlencode()


class TermsForm(forms.Form):
    """The reason, the amount and the places of an action that is about to be confirmed."""

    amount = forms.DecimalField(
        label="Bonus for each submission, in US dollars",
        min_value=0,
        max_value=MOST_BONUS,
        decimal_places=2,
        error_messages={"required": "Enter the bonus in dollars and cents, such as 0.50."},
    )
    note = forms.CharField(label="Reason", max_length=1024, required=False, widget=forms.Textarea(attrs={"rows": 3}))
    exclude = forms.BooleanField(label="Leave what you reject out of the analysis, too", required=False, initial=True)
    release = forms.BooleanField(label="Release the places, so that other workers fill them", required=False)

    def __init__(self, *args: Any, bulk: BulkAction, places: int = 0, rejected: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        note = self.fields["note"]
        if bulk.action in NEEDS_NOTE:
            note.required = True
            note.error_messages["required"] = NEEDS_NOTE[bulk.action]
        note.help_text = (
            "The worker reads it."
            if bulk.action in ("reject", "ask_back", "bonus", "block")
            else "Saved with each submission and in the activity."
        )
        if bulk.action == "file":
            del self.fields["note"]
        if bulk.action == "approve":
            note.label, note.help_text = "Message", "The worker reads it, if the platform shows it."
        if bulk.action != "bonus":
            del self.fields["amount"]
        if bulk.action not in ("reject", "file") or not rejected:
            del self.fields["exclude"]
        if bulk.action not in ("exclude", "exclude_workers") or not places:
            del self.fields["release"]


class ReviewForm(forms.Form):
    """A person's decision on a submission."""

    decision = forms.ChoiceField(choices=Review.Decision.choices, widget=forms.RadioSelect)
    note = forms.CharField(
        label="Note", max_length=500, required=False, help_text="Why. Saved with the decision and in the activity."
    )
    release = forms.BooleanField(required=False)
