"""The forms of operators and requesters."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from marketplace.countries import checked_code
from marketplace.models import AuditRow, LedgerEntry, Worker

MOST = Decimal("1000000")


def _amount(label: str, **options: Any) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, min_value=Decimal("0.01"), max_value=MOST, max_digits=12, decimal_places=2, **options
    )


def _check_country(typed: str) -> None:
    try:
        checked_code(typed)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def country_field(**options: Any) -> forms.CharField:
    return forms.CharField(label="Country", required=False, max_length=2, validators=[_check_country], **options)


class RequesterForm(forms.Form):
    """A new requester, and the user who signs in for it."""

    name = forms.CharField(label="Name", max_length=100, help_text="Workers see it on every HIT.")
    email = forms.EmailField(label="E-mail", required=False)
    balance = _amount("First deposit in $", required=False, help_text="The money it can spend. You can add more later.")
    username = forms.CharField(
        label="User name",
        max_length=150,
        required=False,
        help_text="For a person to sign in here. Programs only need an access key.",
    )
    password = forms.CharField(
        label="Password for that user",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 10 characters. Or leave both empty and invite them by link afterwards.",
    )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"].strip()
        if name and User.objects.filter(username__iexact=name).exists():
            raise ValidationError(f"The user name “{name}” is taken. Choose another.")
        if name:
            User.username_validator(name)
        return name

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        name, password = data.get("username"), data.get("password")
        if name and not password:
            self.add_error("password", "Enter a password for this user.")
        elif password and not name and "username" not in self.errors:
            self.add_error("username", "Enter a user name for this password, or leave both empty.")
        elif name and password:
            try:
                validate_password(password, User(username=name))
            except ValidationError as error:
                self.add_error("password", error)
        return data


def once_field() -> forms.CharField:
    """A value that is new in every form, so a form that is sent twice takes effect only once."""
    return forms.CharField(max_length=40, initial=lambda: secrets.token_urlsafe(12), widget=forms.HiddenInput)


class DepositForm(forms.Form):
    """Money that a requester paid in."""

    amount = _amount("Amount in $")
    note = forms.CharField(label="Note", max_length=120, required=False, help_text="For example an invoice number.")
    once = once_field()


class WithdrawalForm(forms.Form):
    """Money paid back to a requester, or the correction of a deposit."""

    amount = _amount("Amount in $")
    note = forms.CharField(
        label="Reason", max_length=120, help_text="For example “typed 500 instead of 50” or “account closed”."
    )
    once = once_field()


class AttachUserForm(forms.Form):
    username = forms.CharField(
        label="User name", max_length=150, help_text="Of somebody who already has a user on this server."
    )


class NewUserForm(forms.Form):
    """What an invited person chooses."""

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
        help_text="At least 10 characters.",
    )


class NewPasswordForm(forms.Form):
    password = forms.CharField(
        label="New password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 10 characters.",
    )


class InvitationForm(forms.Form):
    """One link, or several at once."""

    email = forms.EmailField(
        label="E-mail", required=False, help_text="We send the link there. Leave it empty to pass the link on yourself."
    )
    count = forms.IntegerField(label="How many links", min_value=1, max_value=200, initial=1)
    days = forms.IntegerField(label="Days until they expire", min_value=1, max_value=365, initial=14)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if data.get("email") and (data.get("count") or 1) > 1:
            self.add_error("count", "Each link is for one worker, so an e-mail address can get only one.")
        return data


class WorkerFilter(forms.Form):
    q = forms.CharField(label="Worker ID or name", required=False, widget=forms.SearchInput)
    country = country_field(widget=forms.TextInput(attrs={"size": 2}))
    active = forms.ChoiceField(
        label="Status", required=False, choices=[("", "All"), ("yes", "Active"), ("no", "Deactivated")]
    )


class WorkerForm(forms.Form):
    name = forms.CharField(label="Name", max_length=150, required=False, help_text="As it should be on the payroll.")
    payment_address = forms.CharField(
        label="Payment address",
        max_length=200,
        required=False,
        help_text="Where to send their money, for example an account number. Workers can also enter it themselves.",
    )
    country = country_field(help_text="Two letters, such as NL. Location qualifications use it.")


class LedgerFilter(forms.Form):
    account = forms.CharField(
        label="Account", required=False, widget=forms.SearchInput, help_text="A requester's name or a worker's ID"
    )
    kind = forms.ChoiceField(label="Kind", required=False, choices=[("", "All"), *LedgerEntry.Kind.choices])
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))


class PayrollForm(forms.Form):
    until = forms.DateField(
        label="Everything earned up to the end of",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="A day in UTC. If you choose today, everything up to now.",
    )


class PaidForm(forms.Form):
    reference = forms.CharField(
        label="Reference", max_length=100, help_text="For example the number of the transfer. Workers see it too."
    )


class ReturnedForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=100, help_text="For example “account closed”.")


class LogFilter(forms.Form):
    requester = forms.CharField(label="Requester", max_length=150, required=False, widget=forms.SearchInput)
    kind = forms.ChoiceField(label="Kind", required=False, choices=[("", "All"), *AuditRow.Kind.choices])
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    q = forms.CharField(label="Person, action, ID or key", max_length=100, required=False, widget=forms.SearchInput)


class OwnLogFilter(LogFilter):
    """The filter of a requester's own log, so there is no requester to choose."""

    requester = None  # type: ignore[assignment]  # how Django removes a field


class DecisionForm(forms.Form):
    """What an operator decides about a rejection that a worker disputes."""

    decision = forms.ChoiceField(
        label="Decision",
        choices=[("overturned", "Overturned: the worker is paid"), ("upheld", "Upheld: it stays rejected")],
        widget=forms.RadioSelect,
    )
    reason = forms.CharField(
        label="Reason", max_length=1000, widget=forms.Textarea(attrs={"rows": 2}), help_text="The worker sees it."
    )


class ReviewForm(forms.Form):
    """A requester's decision on an assignment. A rejection needs feedback."""

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
        help_text="Required for a rejection.",
    )


class OverrideForm(ReviewForm):
    """After a rejection, the only decision left is to withdraw it."""

    do = forms.ChoiceField(choices=[("override", "Approve after all")], widget=forms.HiddenInput, initial="override")
    feedback = forms.CharField(
        label="Feedback to the worker", max_length=1024, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class ApprovalForm(forms.Form):
    """Feedback for several workers whose assignments are approved together."""

    feedback = forms.CharField(
        label="Feedback to the workers",
        max_length=1024,
        required=False,
        error_messages={"max_length": "Feedback can have at most 1,024 characters. Nothing was approved."},
    )


class BonusForm(forms.Form):
    amount = _amount("Bonus in $")
    reason = forms.CharField(
        label="Reason", max_length=1024, widget=forms.Textarea(attrs={"rows": 2}), help_text="The worker sees it."
    )
    once = once_field()


class UntilForm(forms.Form):
    until = forms.DateField(
        label="On offer until the end of",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="A day in UTC.",
    )


class BlockForm(forms.Form):
    worker = forms.CharField(label="Worker ID", max_length=64)
    reason = forms.CharField(
        label="Reason", max_length=1024, widget=forms.Textarea(attrs={"rows": 2}), help_text="Workers never see it."
    )

    def clean_worker(self) -> Worker:
        typed: str = self.cleaned_data["worker"].strip()
        worker = Worker.objects.filter(worker_id=typed).first()
        if worker is None:
            raise ValidationError(f"There is no worker “{typed}”. Copy the ID from an assignment.")
        return worker


class AnswerForm(forms.Form):
    text = forms.CharField(
        label="Your answer",
        max_length=4096,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="The worker gets it as a message.",
    )


class StatementForm(forms.Form):
    text = forms.CharField(
        label="Your answer to the objection",
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The worker and the people who run this marketplace see it.",
    )
