"""The design of a study: arms, factors, wording, pages as workers see them, and who works on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitserver_client._async.of_study import AsyncOfStudy
from hitserver_client._async.parts import (
    AsyncArms,
    AsyncImages,
    AsyncJudges,
    AsyncLinks,
    AsyncMembers,
    AsyncWebhooks,
    part,
)

Json = dict[str, Any]


class AsyncDesign(AsyncOfStudy):
    """How a study is set up, beside its spec and its items."""

    @property
    def arms(self) -> AsyncArms:
        """The arms, each with ``all``, ``get``, ``create``, ``change`` and ``delete``."""
        return AsyncArms(self._transport, self._path("arms/"))

    @property
    def members(self) -> AsyncMembers:
        """Who works on the study, beside the members of its team."""
        return AsyncMembers(self._transport, self._path("members/"))

    @property
    def images(self) -> AsyncImages:
        """The images that its items show."""
        return AsyncImages(self._transport, self._path("images/"))

    @property
    def links(self) -> AsyncLinks:
        """Personal links for people whom you invite."""
        return AsyncLinks(self._transport, self._path("links/"))

    @property
    def webhooks(self) -> AsyncWebhooks:
        """Addresses that get messages about this study."""
        return AsyncWebhooks(self._transport, self._path("webhooks/"))

    @property
    def judges(self) -> AsyncJudges:
        """Language models that answer its pages, each with ``get``, ``stop`` and ``resume``."""
        return AsyncJudges(self._transport, self._path("judges/"))

    async def team(self) -> str | None:
        """The short name of the team that the study belongs to."""
        slug = (await self._transport.get(self._path("team/")))["team"]
        return None if slug is None else str(slug)

    async def set_team(self, team: str | None, *, key: str | None = None) -> None:
        """Give the study to a team, whose members can then work on it. None: take it out of its team."""
        await self._transport.send("PUT", self._path("team/"), body={"team": team}, key=key)

    async def factors(self) -> Json:
        """The factors that findings compare, with their levels."""
        return dict(await self._transport.get(self._path("factors/")))

    async def set_factors(self, factors: Mapping[str, Any], *, key: str | None = None) -> Json:
        """Replace the declared factors, as ``factors`` in a study file."""
        path = self._path("factors/")
        return dict((await self._transport.send("PUT", path, body=dict(factors), key=key)).body)

    async def wording(self) -> Json:
        """The texts of the study that can be changed, as they are."""
        return dict(await self._transport.get(self._path("wording/")))

    async def set_wording(self, texts: Mapping[str, Any], *, key: str | None = None) -> Json:
        """Replace the texts, as ``texts`` in a study file."""
        path = self._path("wording/")
        return dict((await self._transport.send("PUT", path, body=dict(texts), key=key)).body)

    async def preview(self, *, arm: str | None = None, item: str | None = None) -> Json:
        """The pages that a worker sees, for one hit of one arm."""
        return dict(await self._transport.get(self._path("preview/"), arm=arm, item=item))

    async def preview_page(self, number: int, *, arm: str | None = None, item: str | None = None) -> str:
        """A page as HTML. Page 0 is the start page."""
        return str(await self._transport.get(self._path(f"preview/{part(number)}/"), arm=arm, item=item))
