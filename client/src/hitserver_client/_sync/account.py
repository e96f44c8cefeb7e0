# Made from _async/account.py by make_sync.py. Change that file, then run make_sync.py.
"""What belongs to you and your teams: tokens, teams, accounts on platforms, and suggesters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hitserver_client._sync.parts import Members, Part

Json = dict[str, Any]


class Tokens(Part):
    """Your API tokens."""

    def create(
        self, name: str, scopes: Sequence[str] = ("read",), *, expires_at: str | None = None, key: str | None = None
    ) -> Json:
        """Create a token that can do no more than this one. Save the ``token`` in the answer: it is shown once."""
        return self._send(
            "POST", self._path, {"name": name, "scopes": list(scopes), "expires_at": expires_at}, key
        )

    def revoke(self, id: int) -> None:
        """Revoke a token, with those that were made with it."""
        self._send("DELETE", self._one(id))


class Teams(Part):
    """Your teams, which share studies and accounts on platforms."""

    def get(self, team: str) -> Json:
        """One team, with your role in it."""
        return self._send("GET", self._one(team))

    def create(self, slug: str, name: str, *, key: str | None = None) -> Json:
        """Create a team. You are its owner."""
        return self._send("POST", self._path, {"slug": slug, "name": name}, key)

    def rename(self, team: str, name: str, *, key: str | None = None) -> Json:
        """Give it another name. Its short name stays."""
        return self._send("PATCH", self._one(team), {"name": name}, key)

    def delete(self, team: str) -> None:
        """Delete a team to which nothing belongs any more."""
        self._send("DELETE", self._one(team))

    def members(self, team: str) -> Members:
        """Its members. Their roles hold in all its studies."""
        return Members(self._transport, self._one(team, "members/"))


class PlatformAccounts(Part):
    """Accounts on platforms, yours and those of your teams. No answer has their keys."""

    def all(self) -> list[Json]:
        """All that you can see."""
        return list(self._transport.get(self._path))

    def get(self, account: str) -> Json:
        """One account with its balance, as it was when the platform last accepted its keys."""
        return self._send("GET", self._one(account))

    def add(
        self, platform: str, title: str, *, team: str | None = None, key: str | None = None, **terms: Any
    ) -> Json:
        """Add an account, if the platform accepts its keys.

        ``terms``: ``access_key_id`` and ``secret``, or ``token`` and ``hook_secret``; ``endpoint``, ``region``,
        ``project``; ``unchecked=True`` saves them although the platform cannot be reached.
        """
        return self._send("POST", self._path, {"platform": platform, "title": title, "team": team, **terms}, key)

    def change(self, account: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change its ``title`` or ``project``; ``retired=True`` stops everything that uses it."""
        return self._send("PATCH", self._one(account), changes, key)

    def replace_keys(self, account: str, *, key: str | None = None, **keys: Any) -> Json:
        """Give it new keys, if the platform accepts them."""
        return self._send("PUT", self._one(account, "keys/"), keys, key)

    def check(self, account: str, *, key: str | None = None) -> Json:
        """Ask the platform whether it accepts the keys."""
        return self._send("POST", self._one(account, "check/"), key=key)

    def get_notices(self, account: str, *, key: str | None = None) -> Json:
        """Let the platform tell this server about changes."""
        return self._send("POST", self._one(account, "notices/"), key=key)

    def delete(self, account: str) -> None:
        """Delete an account that no study uses."""
        self._send("DELETE", self._one(account))


class Suggesters(Part):
    """Models that suggest texts to writers, with their settings."""

    def get(self, name: str) -> Json:
        """One suggester with its pool."""
        return self._send("GET", self._one(name))

    def create(self, name: str, *, model: str, key: str | None = None, **settings: Any) -> Json:
        """Create a suggester. ``settings``: ``decoder``, ``limits``, ``template``, ``wait_seconds`` and others."""
        return self._send("POST", self._path, {"name": name, "model": model, **settings}, key)

    def change(self, name: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change the settings that are named."""
        return self._send("PATCH", self._one(name), changes, key)

    def fill_pool(
        self, name: str, *, run: str | None = None, texts: Sequence[Any] | None = None, key: str | None = None
    ) -> Json:
        """Add texts that it can suggest at once: the samples of a run, or rows with ``text`` and ``round``."""
        body = {"run": run, "texts": None if texts is None else list(texts)}
        sent = {name: value for name, value in body.items() if value is not None}
        return self._send("POST", self._one(name, "pool/"), sent, key)
