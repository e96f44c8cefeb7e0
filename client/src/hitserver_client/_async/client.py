"""The way in: a server, and what belongs to no single study."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from hitserver_client._async.account import AsyncPlatformAccounts, AsyncSuggesters, AsyncTeams, AsyncTokens
from hitserver_client._async.jobs import AsyncJob, made
from hitserver_client._async.parts import part
from hitserver_client._async.studies import AsyncStudy
from hitserver_client._async.transport import SECONDS, AsyncTransport
from hitserver_client.access import find
from hitserver_client.errors import NotFound
from hitserver_client.reports import Report
from hitserver_client.tables import Table, Upload, existing, is_file, rows_of

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

    # --- your account ---

    @property
    def tokens(self) -> AsyncTokens:
        """Your API tokens."""
        return AsyncTokens(self.transport, "tokens/")

    @property
    def teams(self) -> AsyncTeams:
        """Your teams."""
        return AsyncTeams(self.transport, "teams/")

    @property
    def platform_accounts(self) -> AsyncPlatformAccounts:
        """Accounts on platforms, yours and those of your teams."""
        return AsyncPlatformAccounts(self.transport, "platform-accounts/")

    @property
    def suggesters(self) -> AsyncSuggesters:
        """Models that suggest texts to writers."""
        return AsyncSuggesters(self.transport, "suggesters/")

    async def platforms(self) -> list[Json]:
        """The platforms on which studies can be offered, with their settings."""
        return list(await self.transport.get("platforms/"))

    # --- studies ---

    async def studies(self) -> list[AsyncStudy]:
        """All studies that you can see, newest first."""
        return [AsyncStudy(self.transport, row) async for row in self.transport.rows("studies/", limit=1000)]

    async def study(self, slug: str) -> AsyncStudy:
        """The study with this short name."""
        return AsyncStudy(self.transport, await self.transport.get(f"studies/{part(slug)}/"))

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

    async def import_ratings(
        self, path: str | Path, slug: str, *, title: str = "", key: str | None = None
    ) -> AsyncStudy:
        """Make a closed study of ratings that Label Studio, Argilla or Potato exported. Zip a folder first.

        ``warnings`` of the study say what of the file is not in it.
        """
        upload = Upload(existing(path), {"slug": slug, "title": title})
        answer = await self.transport.post("imported-studies/", upload=upload, key=key)
        study = AsyncStudy(self.transport, answer["study"])
        study.warnings = list(answer["notes"])
        return study

    async def task_types(self) -> list[Json]:
        """The task types of this server."""
        return [row async for row in self.transport.rows("task-types/")]

    async def task_type(self, name: str) -> Json:
        """One task type: its columns, settings and questions, and an example."""
        return dict(await self.transport.get(f"task-types/{part(name)}/"))

    # --- jobs, models, runs ---

    async def job(self, id: int) -> AsyncJob:
        """The job with this number."""
        return AsyncJob(self.transport, await self.transport.get(f"jobs/{part(id)}/"))

    async def jobs(self) -> list[AsyncJob]:
        """Your jobs, newest first."""
        return [AsyncJob(self.transport, row) async for row in self.transport.rows("jobs/")]

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
        return dict(await self.transport.get(f"runs/{part(name)}/"))

    async def cancel_run(self, name: str, *, key: str | None = None) -> Json:
        """Stop a run. The samples that it has stay."""
        return dict(await self.transport.post(f"runs/{part(name)}/cancel/", key=key))

    async def resume_run(self, name: str, *, key: str | None = None) -> Json:
        """Continue a run that stopped or failed."""
        return dict(await self.transport.post(f"runs/{part(name)}/resume/", key=key))

    async def run_report(self, name: str, *, progress: bool | None = None) -> Report:
        """The report of a run. The server makes it if it is not there yet."""
        numbers = await made(self.transport, f"runs/{part(name)}/report/", progress)
        return Report(name, numbers, str(await self.transport.get(f"runs/{part(name)}/report.html", older="true")))

    async def download_samples(self, run: str, path: str | Path, *, progress: bool | None = None) -> Path:
        """Save the samples of a run; the end of ``path`` says in which format: .csv or .jsonl."""
        target = Path(path)
        address = f"runs/{part(run)}/samples{target.suffix or '.csv'}"
        return await self.transport.download(address, target, progress=progress)

    def samples(self, run: str) -> AsyncIterator[Json]:
        """The samples of a run in the order in which they were stored."""
        return self.transport.rows(f"runs/{part(run)}/samples/")
