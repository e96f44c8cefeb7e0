# Made from _async/platform_work.py by make_sync.py. Change that file, then run make_sync.py.
"""A study on a platform: publishing it, what becomes of it there, and what it costs."""

from __future__ import annotations

from typing import Any, Union

from hitserver_client._sync.jobs import Job
from hitserver_client._sync.of_study import OfStudy
from hitserver_client._sync.parts import part

Json = dict[str, Any]
Money = Union[str, int, float]


class PlatformWork(OfStudy):
    """What a study does on a platform."""

    def cost(self, platform: str) -> Json:
        """What publishing on a platform would cost, and what prevents it. Nothing is posted."""
        body = {"platform": platform, "dry_run": True}
        return dict(self._transport.post(self._path("publish/"), body))

    def publish(
        self, platform: str, *, total: Money | None = None, key: str | None = None, **terms: Any
    ) -> Job:
        """Post it on a platform. ``total`` is the cost that you agreed to: refused if it has changed."""
        body = {"platform": platform, "total": None if total is None else str(total), **terms}
        return self._job("publish/", body, key)

    def platform(self) -> Json:
        """What is offered on its platform, what became of it, and what is spent."""
        return dict(self._transport.get(self._path("platform/")))

    def sync(self) -> Job:
        """Ask the platform what was sent there and what it decided."""
        return self._job("platform/sync/")

    def extend(self, days: int, *, key: str | None = None) -> Job:
        """Offer its work longer: so many days from now."""
        return self._job("platform/extend/", {"days": days}, key)

    def end(self, *, close: bool = False, key: str | None = None) -> Job:
        """Stop offering it on its platform. Work in progress can be finished."""
        return self._job("platform/end/", {"close": close}, key)

    def add_ratings(self, ratings: int, *, total: Money | None = None, key: str | None = None) -> Job:
        """Raise the ratings per item and offer the new places."""
        body = {"ratings": ratings, "total": None if total is None else str(total)}
        return self._job("platform/add-ratings/", body, key)

    def differences(self) -> Json:
        """Work that exists only here or only on the platform."""
        return dict(self._transport.get(self._path("platform/differences/")))

    def audience(self, platform: str, q: str = "") -> Json:
        """How many people there can take part, its groups, and the filters that contain the words ``q``."""
        return dict(self._transport.get(self._path(f"platforms/{part(platform)}/audience/"), q=q or None))

    def continue_publishing(self, *, key: str | None = None) -> Job:
        """Post what was not posted when publishing stopped."""
        return self._job("platform/continue/", key=key)

    def replace_lost(self, *, key: str | None = None) -> Job:
        """Offer again the places that nobody can take any more."""
        return self._job("platform/replace-lost/", key=key)

    def delete_postings(self, *, key: str | None = None) -> Job:
        """Delete what is posted there, where the platform allows it. The data here stay."""
        return self._job("platform/delete/", key=key)

    def set_budget(self, budget: Money, *, key: str | None = None) -> Json:
        """Set the most that this study may spend, in USD. Returns what is spent."""
        body = {"budget": str(budget)}
        path = self._path("platform/budget/")
        return dict((self._transport.send("PUT", path, body=body, key=key)).body)

    def compensate(self, assignment: int, *, amount: Money, reason: str, key: str | None = None) -> Job:
        """Pay for work that was sent here only: see `differences`. The worker reads the reason."""
        body = {"assignment": assignment, "amount": str(amount), "reason": reason}
        return self._job("platform/compensate/", body, key)

    def fetch(self, outside: int, *, key: str | None = None) -> Json:
        """Complete work that was sent on the platform only: see `differences`."""
        return dict(self._transport.post(self._path("platform/fetch/"), {"outside": outside}, key=key))
