"""A study on a platform: publishing it, what becomes of it there, and what it costs."""

from __future__ import annotations

from typing import Any, Union

from hitserver_client._async.jobs import AsyncJob
from hitserver_client._async.of_study import AsyncOfStudy
from hitserver_client._async.parts import part

Json = dict[str, Any]
Money = Union[str, int, float]


class AsyncPlatformWork(AsyncOfStudy):
    """What a study does on a platform."""

    async def cost(self, platform: str) -> Json:
        """What publishing on a platform would cost, and what prevents it. Nothing is posted."""
        body = {"platform": platform, "dry_run": True}
        return dict(await self._transport.post(self._path("publish/"), body))

    async def publish(
        self, platform: str, *, total: Money | None = None, key: str | None = None, **terms: Any
    ) -> AsyncJob:
        """Post it on a platform. ``total`` is the cost that you agreed to: refused if it has changed."""
        body = {"platform": platform, "total": None if total is None else str(total), **terms}
        return await self._job("publish/", body, key)

    async def platform(self) -> Json:
        """What is offered on its platform, what became of it, and what is spent."""
        return dict(await self._transport.get(self._path("platform/")))

    async def sync(self) -> AsyncJob:
        """Ask the platform what was sent there and what it decided."""
        return await self._job("platform/sync/")

    async def extend(self, days: int, *, key: str | None = None) -> AsyncJob:
        """Offer its work longer: so many days from now."""
        return await self._job("platform/extend/", {"days": days}, key)

    async def end(self, *, close: bool = False, key: str | None = None) -> AsyncJob:
        """Stop offering it on its platform. Work in progress can be finished."""
        return await self._job("platform/end/", {"close": close}, key)

    async def add_ratings(self, ratings: int, *, total: Money | None = None, key: str | None = None) -> AsyncJob:
        """Raise the ratings per item and offer the new places."""
        body = {"ratings": ratings, "total": None if total is None else str(total)}
        return await self._job("platform/add-ratings/", body, key)

    async def differences(self) -> Json:
        """Work that exists only here or only on the platform."""
        return dict(await self._transport.get(self._path("platform/differences/")))

    async def audience(self, platform: str, q: str = "") -> Json:
        """How many people there can take part, its groups, and the filters that contain the words ``q``."""
        return dict(await self._transport.get(self._path(f"platforms/{part(platform)}/audience/"), q=q or None))

    async def continue_publishing(self, *, key: str | None = None) -> AsyncJob:
        """Post what was not posted when publishing stopped."""
        return await self._job("platform/continue/", key=key)

    async def replace_lost(self, *, key: str | None = None) -> AsyncJob:
        """Offer again the places that nobody can take any more."""
        return await self._job("platform/replace-lost/", key=key)

    async def delete_postings(self, *, key: str | None = None) -> AsyncJob:
        """Delete what is posted there, where the platform allows it. The data here stay."""
        return await self._job("platform/delete/", key=key)

    async def set_budget(self, budget: Money, *, key: str | None = None) -> Json:
        """Set the most that this study may spend, in USD. Returns what is spent."""
        body = {"budget": str(budget)}
        path = self._path("platform/budget/")
        return dict((await self._transport.send("PUT", path, body=body, key=key)).body)

    async def compensate(self, assignment: int, *, amount: Money, reason: str, key: str | None = None) -> AsyncJob:
        """Pay for work that was sent here only: see `differences`. The worker reads the reason."""
        body = {"assignment": assignment, "amount": str(amount), "reason": reason}
        return await self._job("platform/compensate/", body, key)

    async def fetch(self, outside: int, *, key: str | None = None) -> Json:
        """Complete work that was sent on the platform only: see `differences`."""
        return dict(await self._transport.post(self._path("platform/fetch/"), {"outside": outside}, key=key))
