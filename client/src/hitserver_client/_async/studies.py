"""One study: its set-up, its items, its work on platforms, its data and its report."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from hitserver_client._async.design import AsyncDesign
from hitserver_client._async.jobs import AsyncJob, made
from hitserver_client._async.parts import part
from hitserver_client._async.platform_work import AsyncPlatformWork
from hitserver_client._async.reviewing import AsyncReviewing
from hitserver_client._async.transport import AsyncTransport
from hitserver_client.cards import Overview
from hitserver_client.errors import NotAllowed
from hitserver_client.reports import Report
from hitserver_client.tables import Table, frame_of_csv, frame_of_rows, is_file, rows_of, upload_of

if TYPE_CHECKING:
    import pandas

Json = dict[str, Any]
Place = Union[str, Path]


class AsyncStudy(AsyncDesign, AsyncPlatformWork, AsyncReviewing):
    """A study on the server. ``data`` is its last known state, as the API writes it."""

    def __init__(self, transport: AsyncTransport, data: Mapping[str, Any]) -> None:
        super().__init__(transport, data)
        self.overview = Overview(self.data)
        #: What the server remarked on the last change.
        self.warnings: list[str] = []

    # --- what it is ---

    @property
    def status(self) -> str:
        """``draft``, ``live``, ``paused`` or ``closed``."""
        return str(self.data["status"])

    @property
    def link(self) -> str:
        """Where people take part. It opens with the launch."""
        return str(self.data["link"])

    async def refresh(self) -> AsyncStudy:
        """Ask for its state, its progress and its cost."""
        self.data = await self._transport.get(self._path())
        progress = await self.progress()
        self.overview = Overview(self.data, progress, await self._cost())
        return self

    async def _cost(self) -> str | None:
        """In words; None if the user may not see it."""
        try:
            if self.status == "draft":
                plan = await self.launch_plan()
                return f"${plan['cost']} for {plan['submissions']:,} submissions, without a platform's fees"
            spending = (await self.platform())["spending"]
        except NotAllowed:
            return None
        if spending["budget"] is None:
            return None
        return f"${spending['committed']} of ${spending['budget']} spent or promised"

    def _changed(self, answer: Mapping[str, Any]) -> AsyncStudy:
        self.warnings = list(answer.get("warnings", ()))
        self.data = dict(answer.get("study") or self.data)
        self.overview = Overview(self.data)
        return self

    def __repr__(self) -> str:
        sent, wanted = self.data["submitted"], self.data["wanted"]
        return f"<Study {self.slug}: {self.status}, {sent:,} of {wanted:,} submissions>"

    def _repr_html_(self) -> str:
        """As last seen: `refresh` asks for the present state."""
        return self.overview.html()

    # --- setting it up ---

    async def spec(self) -> Json:
        """The study as the keys of a study file, without its items."""
        document: Json = await self._transport.get(self._path("spec/"))
        return document

    async def update(self, *, dry_run: bool = False, key: str | None = None, **changes: Any) -> Json:
        """Change the keys that are named, such as ``title="…"``. Returns every key that differs."""
        return await self._apply("PATCH", changes, dry_run=dry_run, key=key)

    async def replace(self, spec: Mapping[str, Any], *, dry_run: bool = False, key: str | None = None) -> Json:
        """Make it match a whole document. What the document leaves out gets its default. Returns what differs."""
        return await self._apply("PUT", spec, dry_run=dry_run, key=key)

    async def _apply(self, method: str, body: Mapping[str, Any], *, dry_run: bool, key: str | None) -> Json:
        params = {"dry_run": "true"} if dry_run else {}
        answer = (await self._transport.send(method, self._path(), body=body, params=params, key=key)).body
        if not dry_run:
            self._changed(answer)
        return dict(answer)

    async def upload(
        self,
        items: Table,
        *,
        mapping: Mapping[str, str] | None = None,
        dry_run: bool = False,
        key: str | None = None,
        **options: Any,
    ) -> Json:
        """Replace the items of a draft: a data frame, rows, or the name of a file (which is sent as it is).

        ``mapping`` gives columns the names that the task type expects: ``{"output": "text"}``. ``options`` say how to
        read a file, such as ``encoding="windows-1252"`` or ``sheet="Items"``.
        """
        path, params = self._path("items/"), {"dry_run": "true"} if dry_run else {}
        if is_file(items):
            upload = upload_of(items, mapping, options)
            answer: Json = await self._transport.post(path, upload=upload, params=params, key=key)
        else:
            answer = await self._transport.post(path, {"rows": rows_of(items, mapping)}, params=params, key=key)
        self.warnings = list(answer["warnings"])
        return answer

    async def items_from_run(self, run: str, *, key: str | None = None, **options: Any) -> Json:
        """Make the samples of a generation run the items of this draft."""
        body = {"run": run, "options": options}
        return dict(await self._transport.post(self._path("items/from-run/"), body, key=key))

    async def items_from_study(self, study: str, *, key: str | None = None, **terms: Any) -> Json:
        """Make the outputs of another study the items of this draft."""
        body = {"study": study, **terms}
        return dict(await self._transport.post(self._path("items/from-study/"), body, key=key))

    async def take_outputs(self, *, dry_run: bool = False, key: str | None = None) -> Json:
        """Make what was written since in the study that this one follows its items, too."""
        params = {"dry_run": "true"} if dry_run else {}
        return dict(await self._transport.post(self._path("items/feed/"), params=params, key=key))

    async def follow(self, follow: bool = True, *, key: str | None = None) -> None:
        """Take the other study's outputs as they arrive, or stop that."""
        await self._transport.send("PUT", self._path("items/feed/"), body={"follow": follow}, key=key)

    async def duplicate(self, slug: str, *, items: bool = True, key: str | None = None, **more: Any) -> AsyncStudy:
        """Make a draft like this study."""
        body = {"slug": slug, "items": items, **more}
        return AsyncStudy(self._transport, await self._transport.post(self._path("duplicate/"), body, key=key))

    async def delete(self) -> None:
        """Delete this draft with everything in it."""
        await self._transport.send("DELETE", self._path())

    # --- running it ---

    async def launch_plan(self) -> Json:
        """What a launch would start: hits, submissions, cost, hours, and what is still missing."""
        return dict(await self._transport.get(self._path("launch-plan/")))

    async def launch(self, *, version: str | None = None, key: str | None = None) -> AsyncStudy:
        """Open it at its link. ``version`` is that of a launch plan: refused if the study has changed since."""
        body = {} if version is None else {"version": version}
        return self._changed(await self._transport.post(self._path("launch/"), body, key=key))

    async def pause(self) -> AsyncStudy:
        """Give out no new work for now."""
        return self._changed(await self._transport.post(self._path("pause/")))

    async def resume(self) -> AsyncStudy:
        """Give out work again."""
        return self._changed(await self._transport.post(self._path("resume/")))

    async def close(self) -> AsyncStudy:
        """End it for good. Its data stay."""
        return self._changed(await self._transport.post(self._path("close/")))

    async def progress(self) -> Json:
        """The figures of the study page."""
        return dict(await self._transport.get(self._path("progress/")))

    async def simulate(self, workers: int, *, seed: int = 1, key: str | None = None) -> AsyncJob:
        """Let simulated workers do the study. Their data are marked everywhere."""
        return await self._job("simulate/", {"workers": workers, "seed": seed}, key)

    # --- data ---

    def items(self, q: str = "") -> AsyncIterator[Json]:
        """The items with their scores so far; only those that contain ``q``."""
        return self._transport.rows(self._path("items/"), q=q or None, limit=1000)

    async def item(self, id: str) -> Json:
        """One item with its columns and its scores so far."""
        return dict(await self._transport.get(self._path(f"items/{part(id)}/")))

    def ratings(self) -> AsyncIterator[Json]:
        """All ratings in the order in which they arrived."""
        return self._transport.rows(self._path("ratings/"))

    async def exports(self) -> list[Json]:
        """The kinds of data that can be downloaded, with their formats."""
        return list(await self._transport.get(self._path("exports/")))

    async def download(
        self, kind: str, path: Place, *, progress: bool | None = None, simulated: str | None = None
    ) -> Path:
        """Save an export; the end of ``path`` says in which format. Memory does not grow with the data."""
        target = Path(path)
        address = self._path(f"exports/{kind}{target.suffix or '.csv'}")
        return await self._transport.download(address, target, progress=progress, simulated=simulated)

    async def make_export(self, kind: str, *, key: str | None = None, **terms: Any) -> AsyncJob:
        """Let the server make an export as a job: ``job.download(path)`` saves it.

        ``terms``: ``format``, ``simulated``; ``worker_ids=True`` adds ids on the platform, which is logged.
        """
        return await self._job("exports/", {"kind": kind, **terms}, key)

    async def frame(self, kind: str = "long", *, simulated: str | None = None) -> pandas.DataFrame:
        """An export as a data frame. ``long`` has one row for each answer, with everything about it."""
        with tempfile.TemporaryDirectory() as folder:
            return frame_of_csv(await self.download(kind, Path(folder) / f"{kind}.csv", simulated=simulated))

    async def items_frame(self) -> pandas.DataFrame:
        """The items as a data frame, with columns such as ``columns.text`` and a list of ``scores``."""
        return frame_of_rows([item async for item in self.items()])

    async def bundle(self, path: Place, *, progress: bool | None = None) -> Path:
        """Save everything as one zip, from which ``python -m analysis report`` gives the same report."""
        return await self.download("bundle", path, progress=progress)

    # --- findings ---

    async def report(self, *, progress: bool | None = None) -> Report:
        """The report of the present data. The server makes it if it is not there yet."""
        numbers = await made(self._transport, self._path("report/"), progress)
        page = await self._transport.get(self._path("report.html"), older="true")
        return Report(self.slug, numbers, str(page))

    async def paper(self, path: Place, *, progress: bool | None = None) -> Path:
        """Save what goes into a paper as a zip: methods, tables, figures, pictures of pages, data set card."""
        await made(self._transport, self._path("paper.zip"), progress, read=False)
        return await self._transport.download(self._path("paper.zip"), Path(path), progress=progress, older="true")
