"""The forms for accounts on platforms. No form ever shows a key that was entered, not even after a mistake."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from accounts.models import Team
from annotation.platforms.account_keys import Keys
from annotation.platforms.paying_accounts import SPENDERS, endpoints_of

#: The value of the choice of an owner for “you”; a team has its short name, which cannot be this.
ME = "-"


def key_field(label: str, help_text: str = "", *, required: bool = True) -> forms.CharField:
    """A key. Browsers neither fill it in nor offer to save it, and the page never shows it again."""
    box = forms.PasswordInput(render_value=False, attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, required=required, max_length=300, help_text=help_text, widget=box)


class KeysForm(forms.Form):
    """The keys of an account on one platform."""

    def __init__(self, platform: str, data: Any = None, **more: Any) -> None:
        super().__init__(data, label_suffix="", **more)
        if platform == "prolific":
            self.fields["token"] = key_field("API token", "On Prolific, under Settings, API tokens.")
            self.fields["hook_secret"] = key_field(
                "Secret for notices",
                "The secret of your workspace’s webhooks. With it, this server hears of changes at once. Without it, "
                "it asks every few minutes.",
                required=False,
            )
        else:
            self.fields["access_key_id"] = key_field("Access key ID")
            self.fields["secret"] = key_field("Secret access key")
        self.fields["unchecked"] = forms.BooleanField(
            label="Save the keys unchecked",
            required=False,
            widget=forms.HiddenInput(),
            help_text="Only if the platform cannot be reached. Check the account before you publish with it.",
        )

    def keys(self) -> Keys:
        """What was entered. Only for a valid form."""
        names = ("access_key_id", "secret", "token", "hook_secret")
        return Keys(**{name: self.cleaned_data.get(name, "") for name in names})

    def offer_unchecked(self) -> None:
        """Shows the box that saves the keys without a check."""
        self.fields["unchecked"].widget = forms.CheckboxInput()


class AccountForm(KeysForm):
    """A new account: whose it is, where it is, and its keys."""

    title = forms.CharField(
        label="Title", max_length=80, help_text="How you and your team recognise it, such as Writing lab on MTurk."
    )
    owner = forms.ChoiceField(
        label="Belongs to",
        initial=ME,
        help_text="A team’s owners and payers can publish with its account and replace its keys.",
    )

    def __init__(self, platform: str, user: User, data: Any = None) -> None:
        super().__init__(platform, data)
        teams = Team.objects.filter(memberships__user=user, memberships__role__in=SPENDERS).order_by("name")
        self.teams = {team.slug: team for team in teams}
        self.user = user
        owner = self.fields["owner"]
        assert isinstance(owner, forms.ChoiceField)  # noqa: S101 - for mypy
        owner.choices = [(ME, f"You ({user.get_username()})"), *((team.slug, f"Team {team.name}") for team in teams)]
        places = endpoints_of(platform)
        self.fields["endpoint"] = forms.ChoiceField(label="Where calls go", choices=places, initial=places[0][0])
        if platform == "prolific":
            self.fields["project"] = forms.CharField(
                label="Project",
                required=False,
                max_length=40,
                help_text="Id of the project of studies that name none. Needed if the token can use several "
                "workspaces.",
            )
        else:
            self.fields["region"] = forms.CharField(
                label="Region", max_length=40, initial="us-east-1", help_text="For which requests are signed."
            )
        self.order_fields(["title", "owner", "endpoint", "region", "project"])

    def owner_chosen(self) -> User | Team:
        """Only for a valid form."""
        return self.teams.get(self.cleaned_data["owner"], self.user)


class DetailsForm(forms.Form):
    """What can change without new keys."""

    title = forms.CharField(label="Title", max_length=80)
    project = forms.CharField(
        label="Project", required=False, max_length=40, help_text="On Prolific: of studies that name none."
    )
