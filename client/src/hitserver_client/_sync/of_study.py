# Made from _async/of_study.py by make_sync.py. Change that file, then run make_sync.py.
"""What all that is about one study shares: the address of the study, and jobs that begin there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitserver_client._sync.jobs import Job
from hitserver_client._sync.transport import Transport


class OfStudy:
    """A study by its address. ``data`` is its last known state, as the API writes it."""

    def __init__(self, transport: Transport, data: Mapping[str, Any]) -> None:
        self._transport, self.data = transport, dict(data)

    @property
    def slug(self) -> str:
        return str(self.data["slug"])

    def _path(self, rest: str = "") -> str:
        return f"studies/{self.slug}/{rest}"

    def _job(self, rest: str, body: Mapping[str, Any] | None = None, key: str | None = None) -> Job:
        return Job(self._transport, self._transport.post(self._path(rest), body or {}, key=key))
