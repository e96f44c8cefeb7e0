"""The forms of the workers' site. `form_page` shows a requester's QuestionForm."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.http import HttpRequest

from accounts.signing_in import SignInRefused, check_own_password
from common.languages import gettext as _
from common.languages import marked, ngettext
from common.text_length import is_blank
from marketplace.countries import checked_code


class Described(forms.Form):
    """Words the fields in the worker's language, and connects each with its help and error, for screen readers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.label, field.help_text = _(str(field.label)), _(str(field.help_text))
            validators = {check.code: check.message for check in field.validators if isinstance(check, EmailValidator)}
            messages = {**validators, **field.error_messages}
            field.error_messages = {code: _(str(message)) for code, message in messages.items()}
        for name in self.fields:
            bound = self[name]
            described = []
            if bound.help_text:
                described.append(f"{bound.auto_id}_helptext")
            if self.is_bound and bound.errors:
                described.append(f"{bound.auto_id}_error")
                self.fields[name].widget.attrs["aria-invalid"] = "true"
            if described:
                self.fields[name].widget.attrs["aria-describedby"] = " ".join(described)


def _new_password(**options: Any) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(strip=False, required=False, widget=widget, **options)


def _email(**options: Any) -> forms.EmailField:
    return forms.EmailField(widget=forms.EmailInput(attrs={"autocomplete": "email"}), **options)


class SignInForm(Described):
    username = forms.CharField(
        label=marked("User name"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    password = forms.CharField(
        label=marked("Password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class AskLinkForm(Described):
    email = _email(label=marked("E-mail address"))


class JoinForm(Described):
    username = forms.CharField(
        label=marked("User name"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text=marked("Only you and the people who run this marketplace see it."),
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    email = _email(label=marked("E-mail address"), required=False, help_text=marked("Only for sign-in links."))
    password = _new_password(
        label=marked("Password"),
        help_text=marked("At least 10 characters. Leave it empty to sign in by e-mail instead."),
    )
    country = forms.CharField(
        label=marked("Country"),
        required=False,
        max_length=2,
        help_text=marked("Two letters, such as DE or US. Some tasks are only for certain countries."),
        widget=forms.TextInput(attrs={"autocomplete": "country", "autocapitalize": "characters", "size": "2"}),
    )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(_("This user name is taken. Choose another."))
        return name

    def clean_country(self) -> str:
        return clean_country(self.cleaned_data["country"])

    def clean_password(self) -> str:
        return _clean_password(self.cleaned_data["password"], User(username=self.data.get("username", "")))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if "password" in values and "email" in values and not values["password"] and not values["email"]:
            self.add_error("password", _("Choose a password, or enter an e-mail address for sign-in links."))
        return values


class AccountForm(Described):
    """What the payroll needs, the e-mail address and a new password. The current password confirms it."""

    name = forms.CharField(
        label=marked("Your name"),
        max_length=150,
        required=False,
        help_text=marked("As your bank has it. Only the people who run this marketplace see it, never a requester."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    payment_address = forms.CharField(
        label=marked("Where to send your money"),
        max_length=200,
        required=False,
        help_text=marked("For example an account number. Ask your operator how they pay. Requesters never see it."),
    )
    email = _email(label=marked("E-mail address"), required=False, help_text=marked("Only for sign-in links."))
    new_password = _new_password(
        label=marked("New password"), help_text=marked("Leave it empty to keep the one you have.")
    )
    present_password = forms.CharField(
        label=marked("Current password"),
        strip=False,
        required=False,
        help_text=marked("To confirm a change. Leave it empty if you have none."),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, request: HttpRequest, user: User, *args: Any, **kwargs: Any) -> None:
        self.request, self.user = request, user
        super().__init__(*args, **kwargs)

    def clean_new_password(self) -> str:
        return _clean_password(self.cleaned_data["new_password"], self.user)

    def clean_present_password(self) -> str:
        typed: str = self.cleaned_data["present_password"]
        if self.user.has_usable_password():
            if not typed:
                raise ValidationError(_("Enter your current password to confirm the change."))
            try:
                check_own_password(self.request, self.user, typed)
            except SignInRefused as refused:
                raise ValidationError(refused.message, code=refused.code) from None
        return typed

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        will_have_password = bool(values.get("new_password")) or self.user.has_usable_password()
        if not values.get("email") and not will_have_password and "email" in values:
            self.add_error("email", _("You have no password, so you need an e-mail address to sign in."))
        return values


def _visible(text: str) -> None:
    if is_blank(text):
        raise ValidationError(_("Please write something here."))


class DisputeForm(Described):
    comment = forms.CharField(
        label=marked("Why this should have been approved"),
        max_length=2000,
        validators=[_visible],
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=marked(
            "The requester and the people who run this marketplace will read it. At most 2,000 characters."
        ),
    )


class ReplyForm(Described):
    text = forms.CharField(
        label=marked("Your reply"),
        max_length=4096,
        validators=[_visible],
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=marked("The sender sees it with your worker ID. At most 4,096 characters."),
    )


def clean_country(typed: str) -> str:
    try:
        return checked_code(typed)
    except ValueError as error:
        raise ValidationError(str(error)) from None


def _clean_password(typed: str, user: User) -> str:
    if typed:
        try:
            password_validation.validate_password(typed, user)
        except ValidationError as error:
            raise ValidationError([_in_words(problem) for problem in error.error_list]) from None
    return typed


def _in_words(problem: ValidationError) -> str:
    """Django's message about a password, from Django's own catalogue."""
    values = dict(problem.params or {})
    if problem.code == "password_too_short":
        one = "This password is too short. It must contain at least %d character."
        several = "This password is too short. It must contain at least %d characters."
        least = int(values["min_length"])
        return ngettext(one, several, least) % least
    return _(str(problem.message)) % values
