"""Work that takes longer than a request, and waiting for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hitserver_client._async.transport import AsyncTransport
from hitserver_client.errors import JobFailed
from hitserver_client.progress import Bar
from hitserver_client.waiting import async_sleep

OPEN = ("queued", "running")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 3.0


class AsyncJob:
    """A job on the server. ``data`` is its last known state, as the API writes it."""

    def __init__(self, transport: AsyncTransport, data: Mapping[str, Any]) -> None:
        self._transport, self.data = transport, dict(data)

    @property
    def state(self) -> str:
        return str(self.data["state"])

    @property
    def result(self) -> dict[str, Any]:
        return dict(self.data["result"])

    async def refresh(self) -> AsyncJob:
        self.data = await self._transport.get(f"jobs/{self.data['id']}/")
        return self

    async def wait(self, *, progress: bool | None = None) -> AsyncJob:
        """Wait until it has ended, and show how far it is. Raises JobFailed."""
        pause = FIRST_PAUSE
        with Bar(str(self.data["kind"]), 0, self.data["progress"]["unit"] or "steps", shown=progress) as bar:
            while self.state in OPEN:
                bar.at(self.data["progress"]["done"], self.data["progress"]["total"])
                await async_sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 1.5)
                await self.refresh()
        if self.state != "done":
            raise JobFailed(self.data)
        return self

    async def cancel(self) -> AsyncJob:
        """Stop it. What it has already done stays."""
        self.data = await self._transport.post(f"jobs/{self.data['id']}/cancel/")
        return self

    async def download(self, path: str | Path, *, progress: bool | None = None) -> Path:
        """Wait for it, then save the file that it made."""
        await self.wait(progress=progress)
        return await self._transport.download(self.data["links"]["file"], Path(path), progress=progress)

    def __repr__(self) -> str:
        done, total = self.data["progress"]["done"], self.data["progress"]["total"]
        share = f", {done:,} of {total:,}" if total else ""
        return f"<Job {self.data['id']}: {self.data['kind']}, {self.state}{share}>"


async def made(
    transport: AsyncTransport, path: str, progress: bool | None = None, *, read: bool = True
) -> dict[str, Any]:
    """What is at an address where the server answers with a job until it is there."""
    while True:
        answer = await transport.send("GET" if read else "HEAD", path)
        if answer.status != 202:
            return dict(answer.body or {})
        job = AsyncJob(transport, answer.body or await transport.get(answer.headers["location"]))
        await job.wait(progress=progress)
