"""The way in: a server, and what belongs to no single study."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from hitserver_client._async.jobs import AsyncJob
from hitserver_client._async.studies import AsyncStudy
from hitserver_client._async.transport import SECONDS, AsyncTransport
from hitserver_client.access import find
from hitserver_client.errors import NotFound
from hitserver_client.tables import Table, is_file, rows_of

Json = dict[str, Any]


class AsyncClient:
    """A HITServer, as the user whom the token belongs to.

    Without arguments, the address and the token come from ``HITSERVER_URL`` and ``HITSERVER_TOKEN``, or from what
    ``hitserver login`` saved. Raises HitserverError if one is missing.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = SECONDS,
        transport: Any = None,
    ) -> None:
        self.transport = AsyncTransport(find(url, token), timeout=timeout, transport=transport)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.transport.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.transport.access.url}>"

    # --- studies ---

    async def studies(self) -> list[AsyncStudy]:
        """All studies that you can see, newest first."""
        return [AsyncStudy(self.transport, row) async for row in self.transport.rows("studies/", limit=1000)]

    async def study(self, slug: str) -> AsyncStudy:
        """The study with this short name."""
        return AsyncStudy(self.transport, await self.transport.get(f"studies/{slug}/"))

    async def create_study(
        self,
        spec: Mapping[str, Any],
        items: Table | None = None,
        *,
        mapping: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> AsyncStudy:
        """Create a draft from the keys of a study file. ``items``: a data frame, rows, or the name of a file."""
        body, file = dict(spec), items is not None and is_file(items)
        if items is not None and not file:
            body["items"] = rows_of(items, mapping)
        answer = await self.transport.post("studies/", body, key=key)
        study = AsyncStudy(self.transport, answer["study"])
        study.warnings = list(answer["warnings"])
        if items is not None and file:
            await study.upload(items, mapping=mapping)
        return study

    async def validate(
        self, spec: Mapping[str, Any], items: Table | None = None, *, mapping: Mapping[str, str] | None = None
    ) -> Json:
        """Check a new study with its items and store nothing. Raises Refused with every problem."""
        body = dict(spec)
        if items is not None:
            body["items"] = rows_of(items, mapping)
        return dict(await self.transport.post("studies/", body, params={"dry_run": "true"}))

    async def apply(self, spec: Mapping[str, Any], items: Table | None = None, *, key: str | None = None) -> AsyncStudy:
        """Create the study, or make the one that exists match the document."""
        try:
            study = await self.study(str(spec["slug"]))
        except NotFound:
            return await self.create_study(spec, items, key=key)
        await study.replace(spec if items is None else {**spec, "items": rows_of(items)}, key=key)
        return study

    async def differences(self, spec: Mapping[str, Any]) -> Json:
        """What `apply` would change. Nothing is written. Raises Refused with every problem."""
        try:
            study = await self.study(str(spec["slug"]))
        except NotFound:
            return await self.validate(spec)
        return await study.replace(spec, dry_run=True)

    async def task_types(self) -> list[Json]:
        """The task types of this server."""
        return [row async for row in self.transport.rows("task-types/")]

    async def task_type(self, name: str) -> Json:
        """One task type: its columns, settings and questions, and an example."""
        return dict(await self.transport.get(f"task-types/{name}/"))

    # --- jobs, models, runs ---

    async def job(self, id: int) -> AsyncJob:
        """The job with this number."""
        return AsyncJob(self.transport, await self.transport.get(f"jobs/{id}/"))

    async def models(self) -> list[Json]:
        """The language models of this server."""
        return [row async for row in self.transport.rows("models/")]

    async def runs(self) -> list[Json]:
        """Your generation runs, newest first."""
        return [row async for row in self.transport.rows("runs/")]

    async def create_run(self, spec: Mapping[str, Any], *, key: str | None = None) -> Json:
        """Create a generation run from the keys of a run file, and start it."""
        return dict(await self.transport.post("runs/", dict(spec), key=key))

    async def run(self, name: str) -> Json:
        """A generation run with its progress."""
        return dict(await self.transport.get(f"runs/{name}/"))

    def samples(self, run: str) -> AsyncIterator[Json]:
        """The samples of a run in the order in which they were stored."""
        return self.transport.rows(f"runs/{run}/samples/")
