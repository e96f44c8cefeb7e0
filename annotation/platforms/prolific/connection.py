"""One account on Prolific: its calls, the workspace that pays, its balance, and its webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Self

from django.conf import settings as django_settings

from annotation.models import PlatformAccount
from annotation.platforms.base import ByReward
from annotation.platforms.calls import Json, PlatformTrouble
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.audience import ProlificAudience
from common.words import counted

#: Operation → method, path, and whether sending it twice has the same effect as sending it once.
OPERATIONS = {
    "create_study": ("POST", "studies/", False),
    "look_up_study": ("GET", "studies/{id}/", True),
    "update_study": ("PATCH", "studies/{id}/", True),
    "delete_study": ("DELETE", "studies/{id}/", True),
    "transition_study": ("POST", "studies/{id}/transition/", False),
    "look_up_balance": ("GET", "workspaces/{id}/balance/", True),
    "look_up_project": ("GET", "projects/{id}/", True),
    "calculate_cost": ("POST", "study-cost-calculator/", True),
    "look_up_submission": ("GET", "submissions/{id}/", True),
    "transition_submission": ("POST", "submissions/{id}/transition/", True),
    "approve_many": ("POST", "submissions/bulk-approve/", True),
    "send_message": ("POST", "messages/", False),
    "count_eligible": ("POST", "eligibility-count/", True),
    "create_group": ("POST", "participant-groups/", False),
    "add_to_group": ("POST", "participant-groups/{id}/participants/", True),
    "request_return": ("POST", "submissions/{id}/request-return/", False),
    "set_up_bonus": ("POST", "submissions/bonus-payments/", False),
    "pay_bonus": ("POST", "bulk-bonus-payments/{id}/pay/", False),
}
_KEPT = ("id", "status", "project", "currency_code", "presentment_currency_code")


class Connection(ByReward):
    """The account that a user or a team has entered, or the one whose token is HITSERVER_PROLIFIC_TOKEN."""

    has_accounts = True

    def __init__(self, api: Api | None) -> None:
        self._given = api

    @classmethod
    def connected(cls, account: PlatformAccount | None = None) -> Self:
        return cls(Api(Account.of(account))).paid_by(account)

    @classmethod
    def for_check(cls, account: PlatformAccount) -> Self:
        return cls(Api(Account.of(account), attempts=1)).paid_by(account)

    @classmethod
    def offline(cls, account: PlatformAccount | None = None) -> Self:
        return cls(None).paid_by(account)

    @property
    def is_offline(self) -> bool:
        return self._given is None

    @property
    def _api(self) -> Api:
        if self._given is None:
            raise self._cannot("make calls without a token")
        return self._given

    def call(self, operation: str, **params: Any) -> Json:
        if operation == "subscribe":
            return self.subscribe(**params)
        method, path, repeat = OPERATIONS[operation]
        body = {name: value for name, value in params.items() if f"{{{name}}}" not in path}
        answer = self._api.send(method, path.format_map(params), body or None, repeat=repeat)
        return answer if isinstance(answer, dict) else {}

    def read(self, path: str, **query: Any) -> Json:
        """The answer to a request that changes nothing."""
        answer = self._api.send("GET", path, **query)
        return answer if isinstance(answer, dict) else {}

    def audience(self) -> ProlificAudience:
        return ProlificAudience(self)

    @staticmethod
    def kept(answer: Json) -> Json:
        return {name: answer[name] for name in _KEPT if name in answer}

    def endpoint(self) -> str:
        return self.account.endpoint if self.account else str(django_settings.PROLIFIC_API)

    def project(self, settings: Json) -> str:
        """The project on Prolific of a study with these settings; empty: the default one."""
        return str(settings.get("project") or (self.account.project if self.account else ""))

    def balance(self, settings: Json | None = None) -> Decimal | None:
        """What the study's workspace can still spend, in US dollars; None in another currency.

        “Get the balance of a workspace”: available_balance is in cents, without what active studies have reserved.
        """
        funds = self.funds_of(self.project(settings or {}))
        cents = funds.get("available_balance")
        return Decimal(cents) / 100 if isinstance(cents, int) and funds.get("currency_code") == "USD" else None

    def funds_of(self, project: str) -> Json:
        return self.call("look_up_balance", id=self.workspace(project))

    def workspace(self, project: str = "") -> str:
        """The id of the workspace that pays the project's studies, or of the only one. Raises PlatformTrouble."""
        if project:
            return str(self.call("look_up_project", id=project).get("workspace"))
        ids = [str(row["id"]) for row in self.pages("workspaces/")]
        if len(ids) != 1:
            raise PlatformTrouble(
                f"The token can use {counted(len(ids), 'workspace')}, and each has its own balance.",
                "Set project to the id of one of your projects on Prolific.",
                may_be_done=False,
            )
        return ids[0]

    def subscribe(self, workspace: str, event: str, url: str) -> Json:
        """Subscribe to an event unless that was done before (“Create a subscription”, “Confirm a subscription”)."""
        for row in self.read("hooks/subscriptions/", workspace_id=workspace).get("results") or ():
            if row.get("event_type") == event and row.get("target_url") == url and row.get("is_enabled") is not False:
                return {"subscription": str(row.get("id"))}
        body = {"workspace_id": workspace, "event_type": event, "target_url": url}
        answer, headers = self._api.send_for_headers("POST", "hooks/subscriptions/", body)
        subscription = (answer.get("results") or [answer])[0] if isinstance(answer, dict) else {}
        self._api.send(
            "POST", f"hooks/subscriptions/{subscription['id']}/", {"secret": headers.get("X-Hook-Secret", "")}
        )
        return {"subscription": str(subscription["id"])}

    def hook_secret(self, workspace: str) -> str:
        """The workspace's secret for signatures. There is one for all its subscriptions, so an existing one stays."""
        rows = self.read("hooks/secrets/", workspace_id=workspace).get("results") or ()
        if rows:
            return str(rows[0]["value"])
        return str(self._api.send("POST", "hooks/secrets/", {"workspace_id": workspace}, repeat=False)["value"])

    def pages(self, path: str) -> Iterator[Json]:
        following = ""
        while True:
            rows, following = self._api.page(path, following)
            yield from rows
            if not following:
                return
