"""Accounts on platforms of users and teams. Keys go in and never come out."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Team
from annotation.access import studies_of
from annotation.api.fields import Input, Nothing
from annotation.api.views import Endpoint
from annotation.models import PlatformAccount
from annotation.platforms import all_platforms
from annotation.platforms.account_keys import Keys
from annotation.platforms.paying_accounts import SPENDERS, endpoints_of, usable_by, visible_to
from annotation.recruiting import platform_accounts as service
from common.problems import invalid

KEYS = ("access_key_id", "secret", "token", "hook_secret")
WITH_ACCOUNTS = [name for name, kind in all_platforms().items() if kind.has_accounts]


class PlatformAccountShape(serializers.Serializer[Any]):
    """An account on a platform. Its keys are in no answer."""

    slug = serializers.CharField(help_text="Studies name it as `account` in the settings of the platform.")
    title = serializers.CharField()
    platform = serializers.CharField()
    endpoint = serializers.CharField(help_text="Where calls go.")
    region = serializers.CharField(allow_blank=True, help_text="On MTurk.")
    project = serializers.CharField(allow_blank=True, help_text="On Prolific: of studies that name none.")
    user = serializers.CharField(allow_null=True, help_text="Whose it is. Null: a team's.")
    team = serializers.CharField(allow_null=True, help_text="The short name of the team whose it is. Null: a user's.")
    ends_with = serializers.CharField(allow_blank=True, help_text="The end of the key, by which people recognise it.")
    gets_notices = serializers.BooleanField()
    usable = serializers.BooleanField(help_text="Whether you can publish with it and replace its keys.")
    retired = serializers.BooleanField(help_text="Whether nothing is done with it.")
    keys_at = serializers.DateTimeField(help_text="When the keys were entered.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When the platform last accepted them.")
    balance = serializers.DecimalField(
        max_digits=12, decimal_places=2, allow_null=True, help_text="USD at that moment. Null: not reported."
    )
    trouble = serializers.CharField(allow_blank=True, help_text="Why the latest check failed. Empty: it did not.")
    studies = serializers.ListField(child=serializers.CharField(), help_text="Those of yours that use it.")


class Key(serializers.CharField):
    def __init__(self, help_text: str) -> None:
        super().__init__(required=False, default="", allow_blank=True, max_length=300, help_text=help_text)


class AccountKeys(Input):
    """The keys of an account."""

    access_key_id = Key("On MTurk and marketplaces.")
    secret = Key("The secret access key, on MTurk and marketplaces.")
    token = Key("The API token, on Prolific.")
    hook_secret = Key("The secret of notices, on Prolific. Without it, the server asks for changes.")
    unchecked = serializers.BooleanField(
        default=False, help_text="Save them although the platform cannot be reached. Refused keys are never saved."
    )


class NewAccount(AccountKeys):
    """An account with its keys, whose it is and where it is."""

    platform = serializers.ChoiceField(WITH_ACCOUNTS)
    title = serializers.CharField(max_length=service.MOST_TITLE, help_text="How you recognise it.")
    team = serializers.CharField(
        required=False,
        allow_null=True,
        default=None,
        max_length=60,
        help_text="The short name of a team of which you are an owner or a payer. Null: it is yours.",
    )
    endpoint = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Empty: the first that this server allows."
    )
    region = serializers.CharField(required=False, default="us-east-1", max_length=40, allow_blank=True)
    project = serializers.CharField(required=False, default="", max_length=40, allow_blank=True)


class AccountChanges(Input):
    """What changes. Keys that are left out stay."""

    title = serializers.CharField(required=False, max_length=service.MOST_TITLE)
    project = serializers.CharField(required=False, max_length=40, allow_blank=True)
    retired = serializers.BooleanField(required=False, help_text="True stops everything that uses the account.")


class AccountEndpoint(Endpoint):
    """About accounts. Those of others do not exist."""

    write_scope: ClassVar[str] = "pay"
    pagination_class = None

    def account(self, rows: QuerySet[PlatformAccount] | None = None) -> PlatformAccount:
        """The account in the address, if the user can use it, or is among ``rows``. Raises Http404."""
        rows = usable_by(self.user) if rows is None else rows
        account: PlatformAccount = get_object_or_404(rows, slug=self.kwargs["account"])
        return account

    def shown(self, account: PlatformAccount) -> dict[str, Any]:
        names = ("slug", "title", "platform", "endpoint", "region", "project", "keys_at", "checked_at", "balance")
        own = studies_of(self.user).filter(pk__in=service.studies_of_account(account).values("pk")).order_by("slug")
        values = {name: getattr(account, name) for name in names} | {
            "user": account.user.get_username() if account.user else None,
            "team": account.team.slug if account.team else None,
            "ends_with": account.last_four,
            "gets_notices": account.hears,
            "usable": usable_by(self.user).filter(pk=account.pk).exists(),
            "retired": account.retired_at is not None,
            "trouble": account.trouble,
            "studies": list(own.values_list("slug", flat=True)),
        }
        return dict(PlatformAccountShape(values).data)


class PlatformAccounts(AccountEndpoint):
    more_problems = (502,)
    asks_again = ("POST",)
    _checked: PlatformAccount | None = None

    @method_decorator(sensitive_variables())
    def prepare(self) -> None:
        """Ask the platform whether it accepts the keys."""
        sent = NewAccount.of(self.request)
        places = [address for address, _ in endpoints_of(sent["platform"])]
        owner: User | Team | None = self.user
        if sent["team"] is not None:
            teams = Team.objects.filter(memberships__user=self.user, memberships__role__in=SPENDERS)
            owner = teams.filter(slug=sent["team"]).first()
        if owner is None:
            what = f"You are not an owner or a payer of a team “{sent['team']}”."
            raise invalid("team", what, "Send the short name of one of your teams, or null.")
        entry = service.Entry(
            owner=owner,
            platform=sent["platform"],
            title=sent["title"],
            endpoint=sent["endpoint"] or places[0],
            region="" if sent["platform"] == "prolific" else sent["region"],
            project=sent["project"],
        )
        self._checked = service.checked_account(
            entry=entry, keys=_keys(sent), unchecked=sent["unchecked"], actor=self.actor
        )

    @extend_schema(operation_id="platform_accounts_list", responses=PlatformAccountShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists your accounts on platforms and those of your teams."""
        return Response([self.shown(account) for account in visible_to(self.user).order_by("pk")])

    @extend_schema(operation_id="platform_accounts_add", request=NewAccount, responses={201: PlatformAccountShape})
    def post(self, request: Request) -> Response:
        """Adds an account. The platform checks the keys before anything is saved. No answer ever has them."""
        assert self._checked is not None  # noqa: S101 - prepared above, or refused
        account = service.save_account(account=self._checked, actor=self.actor)
        return Response(self.shown(account), status=201)


class OnePlatformAccount(AccountEndpoint):
    @extend_schema(operation_id="platform_accounts_get", responses=PlatformAccountShape)
    def get(self, request: Request, account: str) -> Response:
        """Gets one account."""
        return Response(self.shown(self.account(visible_to(self.user))))

    @extend_schema(operation_id="platform_accounts_change", request=AccountChanges, responses=PlatformAccountShape)
    def patch(self, request: Request, account: str) -> Response:
        """Changes the title or the project of an account, retires it, or allows it again."""
        sent = AccountChanges.of(request)
        only_retires = set(sent) == {"retired"} and self.user.is_superuser
        changed = self.account(visible_to(self.user) if only_retires else None)
        if {"title", "project"} & set(sent):
            title, project = sent.get("title", changed.title), sent.get("project", changed.project)
            service.change_account(account=changed, title=title, project=project, actor=self.actor)
        if "retired" in sent:
            service.retire_account(account=changed, retired=sent["retired"], actor=self.actor)
        return Response(self.shown(changed))

    @extend_schema(operation_id="platform_accounts_delete", responses={204: None})
    def delete(self, request: Request, account: str) -> Response:
        """Deletes an account that no study uses, with its keys. On the platform, nothing changes."""
        service.delete_account(account=self.account(), actor=self.actor)
        return Response(status=204)


class PlatformAccountKeys(AccountEndpoint):
    more_problems = (502,)
    asks_again = ("PUT",)

    @method_decorator(sensitive_variables())
    def prepare(self) -> None:
        """Ask the platform whether it accepts the keys. If it does, they are saved."""
        sent = AccountKeys.of(self.request)
        service.replace_keys(account=self.account(), keys=_keys(sent), unchecked=sent["unchecked"], actor=self.actor)

    @extend_schema(operation_id="platform_accounts_replace_keys", request=AccountKeys, responses=PlatformAccountShape)
    def put(self, request: Request, account: str) -> Response:
        """Replaces the keys of an account. If the platform refuses the new ones, the old ones stay."""
        return Response(self.shown(self.account()))


class PlatformAccountCheck(AccountEndpoint):
    more_problems = (502,)

    def prepare(self) -> None:
        Nothing.of(self.request)
        service.check_account(account=self.account())

    @extend_schema(operation_id="platform_accounts_check", request=Nothing, responses=PlatformAccountShape)
    def post(self, request: Request, account: str) -> Response:
        """Asks the platform whether it still accepts the keys of an account."""
        return Response(self.shown(self.account()))


class PlatformAccountNotices(AccountEndpoint):
    more_problems = (502,)

    def prepare(self) -> None:
        Nothing.of(self.request)
        account = self.account()
        if account.platform != "prolific":
            raise invalid("account", "Only accounts on Prolific get notices.", "There is nothing to do.")
        service.get_notices(account=account, actor=self.actor)

    @extend_schema(operation_id="platform_accounts_get_notices", request=Nothing, responses=PlatformAccountShape)
    def post(self, request: Request, account: str) -> Response:
        """Gets the secret of notices from Prolific, so that studies published from now on get them."""
        return Response(self.shown(self.account()))


def _keys(sent: dict[str, Any]) -> Keys:
    return Keys(**{name: sent[name] for name in KEYS})


ACCOUNT = "platform-accounts/<slug:account>/"
urlpatterns = [
    path("platform-accounts/", PlatformAccounts.as_view(), name="api_platform_accounts"),
    path(ACCOUNT, OnePlatformAccount.as_view(), name="api_platform_account"),
    path(ACCOUNT + "keys/", PlatformAccountKeys.as_view(), name="api_platform_account_keys"),
    path(ACCOUNT + "check/", PlatformAccountCheck.as_view(), name="api_platform_account_check"),
    path(ACCOUNT + "notices/", PlatformAccountNotices.as_view(), name="api_platform_account_notices"),
]
