"""The form that excludes a worker."""

from __future__ import annotations

from django import forms


class ExcludeWorkerForm(forms.Form):
    """Why a worker is excluded, and whether other workers replace them."""

    note = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="Saved with each submission and in the activity.",
        error_messages={"required": "Say why: the reason is saved with each submission and in the activity."},
    )
    release = forms.BooleanField(required=False, label="Release the places, so that other workers fill them")
