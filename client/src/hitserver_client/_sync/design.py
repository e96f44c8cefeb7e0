# Made from _async/design.py by make_sync.py. Change that file, then run make_sync.py.
"""The design of a study: arms, factors, wording, pages as workers see them, and who works on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitserver_client._sync.of_study import OfStudy
from hitserver_client._sync.parts import (
    Arms,
    Images,
    Judges,
    Links,
    Members,
    Webhooks,
    part,
)

Json = dict[str, Any]


class Design(OfStudy):
    """How a study is set up, beside its spec and its items."""

    @property
    def arms(self) -> Arms:
        """The arms, each with ``all``, ``get``, ``create``, ``change`` and ``delete``."""
        return Arms(self._transport, self._path("arms/"))

    @property
    def members(self) -> Members:
        """Who works on the study, beside the members of its team."""
        return Members(self._transport, self._path("members/"))

    @property
    def images(self) -> Images:
        """The images that its items show."""
        return Images(self._transport, self._path("images/"))

    @property
    def links(self) -> Links:
        """Personal links for people whom you invite."""
        return Links(self._transport, self._path("links/"))

    @property
    def webhooks(self) -> Webhooks:
        """Addresses that get messages about this study."""
        return Webhooks(self._transport, self._path("webhooks/"))

    @property
    def judges(self) -> Judges:
        """Language models that answer its pages, each with ``get``, ``stop`` and ``resume``."""
        return Judges(self._transport, self._path("judges/"))

    def team(self) -> str | None:
        """The short name of the team that the study belongs to."""
        slug = (self._transport.get(self._path("team/")))["team"]
        return None if slug is None else str(slug)

    def set_team(self, team: str | None, *, key: str | None = None) -> None:
        """Give the study to a team, whose members can then work on it. None: take it out of its team."""
        self._transport.send("PUT", self._path("team/"), body={"team": team}, key=key)

    def factors(self) -> Json:
        """The factors that findings compare, with their levels."""
        return dict(self._transport.get(self._path("factors/")))

    def set_factors(self, factors: Mapping[str, Any], *, key: str | None = None) -> Json:
        """Replace the declared factors, as ``factors`` in a study file."""
        path = self._path("factors/")
        return dict((self._transport.send("PUT", path, body=dict(factors), key=key)).body)

    def wording(self) -> Json:
        """The texts of the study that can be changed, as they are."""
        return dict(self._transport.get(self._path("wording/")))

    def set_wording(self, texts: Mapping[str, Any], *, key: str | None = None) -> Json:
        """Replace the texts, as ``texts`` in a study file."""
        path = self._path("wording/")
        return dict((self._transport.send("PUT", path, body=dict(texts), key=key)).body)

    def preview(self, *, arm: str | None = None, item: str | None = None) -> Json:
        """The pages that a worker sees, for one hit of one arm."""
        return dict(self._transport.get(self._path("preview/"), arm=arm, item=item))

    def preview_page(self, number: int, *, arm: str | None = None, item: str | None = None) -> str:
        """A page as HTML. Page 0 is the start page."""
        return str(self._transport.get(self._path(f"preview/{part(number)}/"), arm=arm, item=item))
