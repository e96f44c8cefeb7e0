"""The forms that make API tokens and personal links."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils import timezone

from accounts.models import ApiToken
from annotation.access import Role, studies_of
from annotation.models import Study


class TokenForm(forms.Form):
    """What a token is called, what it may do, and when it expires."""

    NEVER, ON_DATE = "never", "date"
    ENDS = [
        ("30", "After 30 days"),
        ("90", "After 90 days"),
        ("365", "After 365 days"),
        (ON_DATE, "On the date below"),
        (NEVER, "Never: whoever finds it can use it until you revoke it"),
    ]
    name = forms.CharField(
        label="Name",
        max_length=80,
        help_text="What you use it for, such as “nightly backup on my laptop”. Only you see it.",
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=ApiToken.Scope.choices,
        initial=[ApiToken.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        help_text="It can never do more than your role in a study allows.",
        error_messages={"required": "Choose at least one thing that the token may do."},
    )
    expires = forms.ChoiceField(label="Expires", choices=ENDS, initial="90")
    date = forms.DateField(
        label="Last day",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="If you chose a date. The token works until this day ends, in UTC.",
        error_messages={"invalid": "Enter a date as year-month-day, such as 2027-06-30."},
    )

    def clean(self) -> None:
        """Sets ``expires_at``, the moment after which the token no longer works."""
        expires, date = self.cleaned_data.get("expires"), self.cleaned_data.get("date")
        self.expires_at: datetime | None = None
        if expires == self.ON_DATE and "date" not in self.errors:
            if date is None:
                self.add_error("date", "Enter the last day on which the token works.")
            elif date < timezone.now().date():
                self.add_error("date", "This day is over. Enter a later one.")
            else:
                self.expires_at = datetime.combine(date, time.max, tzinfo=UTC)
        elif expires and expires not in (self.NEVER, self.ON_DATE):
            self.expires_at = timezone.now() + timedelta(days=int(expires))


class PersonalLinksForm(forms.Form):
    """Names of the people to invite, one per line."""

    MOST = 1000
    names = forms.CharField(
        label="Names or numbers of your participants, one per line",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Each person gets a personal link. The same name always gives the same link.",
    )

    def clean_names(self) -> list[str]:
        names = list(dict.fromkeys(line.strip() for line in self.cleaned_data["names"].splitlines() if line.strip()))
        if len(names) > self.MOST:
            raise forms.ValidationError(f"There are {len(names):,} names. Enter up to {self.MOST:,} at a time.")
        return names


class InviteParticipantsForm(forms.Form):
    """The study whose participants get personal links to this one: any study that ``user`` can edit."""

    of = forms.ModelChoiceField(
        Study.objects.none(),
        label="Study",
        empty_label="Choose a study",
        help_text="Everybody who took part in that study gets a link and counts as the same person here, so "
        "nobody judges their own text.",
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = studies_of(user, Role.EDITOR).exclude(pk=study.pk).filter(participants__isnull=False)
        field = self.fields["of"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - as declared above
        field.queryset = others.distinct().order_by("-pk")
