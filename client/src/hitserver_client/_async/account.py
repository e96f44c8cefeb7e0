"""What belongs to you and your teams: tokens, teams, accounts on platforms, and suggesters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hitserver_client._async.parts import AsyncMembers, AsyncPart

Json = dict[str, Any]


class AsyncTokens(AsyncPart):
    """Your API tokens."""

    async def create(
        self, name: str, scopes: Sequence[str] = ("read",), *, expires_at: str | None = None, key: str | None = None
    ) -> Json:
        """Create a token that can do no more than this one. Save the ``token`` in the answer: it is shown once."""
        return await self._send(
            "POST", self._path, {"name": name, "scopes": list(scopes), "expires_at": expires_at}, key
        )

    async def revoke(self, id: int) -> None:
        """Revoke a token, with those that were made with it."""
        await self._send("DELETE", self._one(id))


class AsyncTeams(AsyncPart):
    """Your teams, which share studies and accounts on platforms."""

    async def get(self, team: str) -> Json:
        """One team, with your role in it."""
        return await self._send("GET", self._one(team))

    async def create(self, slug: str, name: str, *, key: str | None = None) -> Json:
        """Create a team. You are its owner."""
        return await self._send("POST", self._path, {"slug": slug, "name": name}, key)

    async def rename(self, team: str, name: str, *, key: str | None = None) -> Json:
        """Give it another name. Its short name stays."""
        return await self._send("PATCH", self._one(team), {"name": name}, key)

    async def delete(self, team: str) -> None:
        """Delete a team to which nothing belongs any more."""
        await self._send("DELETE", self._one(team))

    def members(self, team: str) -> AsyncMembers:
        """Its members. Their roles hold in all its studies."""
        return AsyncMembers(self._transport, self._one(team, "members/"))


class AsyncPlatformAccounts(AsyncPart):
    """Accounts on platforms, yours and those of your teams. No answer has their keys."""

    async def all(self) -> list[Json]:
        """All that you can see."""
        return list(await self._transport.get(self._path))

    async def get(self, account: str) -> Json:
        """One account with its balance, as it was when the platform last accepted its keys."""
        return await self._send("GET", self._one(account))

    async def add(
        self, platform: str, title: str, *, team: str | None = None, key: str | None = None, **terms: Any
    ) -> Json:
        """Add an account, if the platform accepts its keys.

        ``terms``: ``access_key_id`` and ``secret``, or ``token`` and ``hook_secret``; ``endpoint``, ``region``,
        ``project``; ``unchecked=True`` saves them although the platform cannot be reached.
        """
        return await self._send("POST", self._path, {"platform": platform, "title": title, "team": team, **terms}, key)

    async def change(self, account: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change its ``title`` or ``project``; ``retired=True`` stops everything that uses it."""
        return await self._send("PATCH", self._one(account), changes, key)

    async def replace_keys(self, account: str, *, key: str | None = None, **keys: Any) -> Json:
        """Give it new keys, if the platform accepts them."""
        return await self._send("PUT", self._one(account, "keys/"), keys, key)

    async def check(self, account: str, *, key: str | None = None) -> Json:
        """Ask the platform whether it accepts the keys."""
        return await self._send("POST", self._one(account, "check/"), key=key)

    async def get_notices(self, account: str, *, key: str | None = None) -> Json:
        """Let the platform tell this server about changes."""
        return await self._send("POST", self._one(account, "notices/"), key=key)

    async def delete(self, account: str) -> None:
        """Delete an account that no study uses."""
        await self._send("DELETE", self._one(account))


class AsyncSuggesters(AsyncPart):
    """Models that suggest texts to writers, with their settings."""

    async def get(self, name: str) -> Json:
        """One suggester with its pool."""
        return await self._send("GET", self._one(name))

    async def create(self, name: str, *, model: str, key: str | None = None, **settings: Any) -> Json:
        """Create a suggester. ``settings``: ``decoder``, ``limits``, ``template``, ``wait_seconds`` and others."""
        return await self._send("POST", self._path, {"name": name, "model": model, **settings}, key)

    async def change(self, name: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change the settings that are named."""
        return await self._send("PATCH", self._one(name), changes, key)

    async def fill_pool(
        self, name: str, *, run: str | None = None, texts: Sequence[Any] | None = None, key: str | None = None
    ) -> Json:
        """Add texts that it can suggest at once: the samples of a run, or rows with ``text`` and ``round``."""
        body = {"run": run, "texts": None if texts is None else list(texts)}
        sent = {name: value for name, value in body.items() if value is not None}
        return await self._send("POST", self._one(name, "pool/"), sent, key)
