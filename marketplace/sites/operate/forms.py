"""What operators and requesters type in."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from marketplace.models import AuditRow, LedgerEntry

MOST = Decimal("1000000")


def _amount(label: str, **options: Any) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, min_value=Decimal("0.01"), max_value=MOST, max_digits=12, decimal_places=2, **options
    )


def country_field(**options: Any) -> forms.RegexField:
    return forms.RegexField(
        label="Country",
        regex=r"^[A-Za-z]{2}$",
        required=False,
        max_length=2,
        error_messages={"invalid": "Two letters, such as NL or US."},
        **options,
    )


class RequesterForm(forms.Form):
    """A new requester, and the user who signs in for it."""

    name = forms.CharField(label="Name", max_length=100, help_text="Workers see it on every HIT.")
    email = forms.EmailField(label="E-mail", required=False)
    balance = _amount("First deposit in USD", required=False, help_text="What may be spent. You can add to it later.")
    username = forms.CharField(
        label="User name",
        max_length=150,
        required=False,
        help_text="To sign in here and see HITs, assignments and balance. An API client needs an access key only.",
    )
    password = forms.CharField(
        label="Password for that user",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least ten characters. Or leave both empty, and invite them by a link afterwards.",
    )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"].strip()
        if name and User.objects.filter(username__iexact=name).exists():
            raise ValidationError(f"There is a user called “{name}” already. Choose another name.")
        if name:
            User.username_validator(name)
        return name

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        name, password = data.get("username"), data.get("password")
        if name and not password:
            self.add_error("password", "A user needs a password to sign in with.")
        elif password and not name and "username" not in self.errors:
            self.add_error("username", "Whose password is this? Give a user name, or leave both empty.")
        elif name and password:
            try:
                validate_password(password, User(username=name))
            except ValidationError as error:
                self.add_error("password", error)
        return data


def _once() -> str:
    return secrets.token_urlsafe(12)


class DepositForm(forms.Form):
    """Money paid in. ``once`` is new in every form, so that one sent twice is booked once."""

    amount = _amount("Amount in USD")
    note = forms.CharField(label="Note", max_length=120, required=False, help_text="Such as the number of an invoice.")
    once = forms.CharField(max_length=40, initial=_once, widget=forms.HiddenInput)


class WithdrawalForm(forms.Form):
    """Money paid back, or a deposit put right."""

    amount = _amount("Amount in USD")
    note = forms.CharField(label="Reason", max_length=120, help_text="Such as “typed 500 for 50” or “account closed”.")
    once = forms.CharField(max_length=40, initial=_once, widget=forms.HiddenInput)


class AttachUserForm(forms.Form):
    username = forms.CharField(
        label="User name", max_length=150, help_text="Of somebody who has a user on this server already."
    )


class NewUserForm(forms.Form):
    """What the person who was invited chooses."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least ten characters.",
    )


class NewPasswordForm(forms.Form):
    password = forms.CharField(
        label="New password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least ten characters.",
    )


class InvitationForm(forms.Form):
    """One link, or several at once for a hand-out."""

    email = forms.EmailField(
        label="E-mail", required=False, help_text="The link is sent there. Leave it empty to hand it over yourself."
    )
    count = forms.IntegerField(label="How many links", min_value=1, max_value=200, initial=1)
    days = forms.IntegerField(label="Days until they expire", min_value=1, max_value=365, initial=14)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if data.get("email") and (data.get("count") or 1) > 1:
            self.add_error("count", "An e-mail address gets one link: each is for one worker.")
        return data


class WorkerFilter(forms.Form):
    q = forms.CharField(label="Worker id or name", required=False, widget=forms.SearchInput)
    country = country_field(widget=forms.TextInput(attrs={"size": 2}))
    active = forms.ChoiceField(
        label="Status", required=False, choices=[("", "All"), ("yes", "Active"), ("no", "Deactivated")]
    )


class WorkerForm(forms.Form):
    name = forms.CharField(label="Name", max_length=150, required=False, help_text="As the payroll has to have it.")
    payment_address = forms.CharField(
        label="Payment address",
        max_length=200,
        required=False,
        help_text="Where their money is sent, such as an account number. They can type it in themselves.",
    )
    country = country_field(help_text="Two letters, such as NL. Qualifications by place read it.")


class LedgerFilter(forms.Form):
    account = forms.CharField(
        label="Account", required=False, widget=forms.SearchInput, help_text="A requester's name or a worker's id"
    )
    kind = forms.ChoiceField(label="Kind", required=False, choices=[("", "All"), *LedgerEntry.Kind.choices])
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))


class PayrollForm(forms.Form):
    until = forms.DateField(
        label="Everything earned up to the end of",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="A day in UTC. For today, it is up to now.",
    )


class PaidForm(forms.Form):
    reference = forms.CharField(
        label="Reference", max_length=100, help_text="Such as the number of the transfer. The workers see it, too."
    )


class ReturnedForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=100, help_text="Such as “account closed”.")


class LogFilter(forms.Form):
    requester = forms.CharField(label="Requester", max_length=150, required=False, widget=forms.SearchInput)
    kind = forms.ChoiceField(label="Kind", required=False, choices=[("", "All"), *AuditRow.Kind.choices])
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    q = forms.CharField(label="Person, action, id or key", max_length=100, required=False, widget=forms.SearchInput)


class OwnLogFilter(LogFilter):
    """A requester's own, so nobody else's can be asked for."""

    requester = None  # type: ignore[assignment]  # which is how Django leaves a field out


class DecisionForm(forms.Form):
    """What an operator decides about a rejection that a worker disputes."""

    decision = forms.ChoiceField(
        label="Decision",
        choices=[("overturned", "Overturned: the worker is paid"), ("upheld", "Upheld: it stays rejected")],
        widget=forms.RadioSelect,
    )
    reason = forms.CharField(
        label="Reason", max_length=1000, widget=forms.Textarea(attrs={"rows": 2}), help_text="The worker reads it."
    )


class ReviewForm(forms.Form):
    """What a requester says about an assignment; a rejection needs it."""

    do = forms.ChoiceField(
        label="Decision",
        choices=[("approve", "Approve and pay"), ("reject", "Reject")],
        widget=forms.RadioSelect,
    )
    feedback = forms.CharField(
        label="Feedback to the worker",
        max_length=1024,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Needed for a rejection.",
    )


class OverrideForm(ReviewForm):
    """The one thing left to decide about a rejection: to take it back."""

    do = forms.ChoiceField(choices=[("override", "Approve after all")], widget=forms.HiddenInput, initial="override")
    feedback = forms.CharField(
        label="Feedback to the worker", max_length=1024, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class StatementForm(forms.Form):
    text = forms.CharField(
        label="Your answer to the objection",
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The worker and whoever runs this marketplace read it.",
    )
