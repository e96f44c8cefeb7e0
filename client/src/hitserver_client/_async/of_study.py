"""What all that is about one study shares: the address of the study, and jobs that begin there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitserver_client._async.jobs import AsyncJob
from hitserver_client._async.transport import AsyncTransport


class AsyncOfStudy:
    """A study by its address. ``data`` is its last known state, as the API writes it."""

    def __init__(self, transport: AsyncTransport, data: Mapping[str, Any]) -> None:
        self._transport, self.data = transport, dict(data)

    @property
    def slug(self) -> str:
        return str(self.data["slug"])

    def _path(self, rest: str = "") -> str:
        return f"studies/{self.slug}/{rest}"

    async def _job(self, rest: str, body: Mapping[str, Any] | None = None, key: str | None = None) -> AsyncJob:
        return AsyncJob(self._transport, await self._transport.post(self._path(rest), body or {}, key=key))
