# Made from _async/transport.py by make_sync.py. Change that file, then run make_sync.py.
"""Requests to the API: sent again when the network or the server fails, with a key that makes a write happen once."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

from hitserver_client.access import Access
from hitserver_client.errors import Unreachable, problem_of
from hitserver_client.progress import Bar
from hitserver_client.retrying import TRIES, wait_after
from hitserver_client.tables import Upload
from hitserver_client.waiting import sleep

SECONDS = 60.0
SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Answer:
    """What the server answered: the status, the headers, and the JSON of the body."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Transport:
    """One connection pool to one server."""

    def __init__(self, access: Access, *, timeout: float = SECONDS, transport: Any = None) -> None:
        self.access = access
        headers = {"Authorization": f"Bearer {access.token}", "User-Agent": "hitserver-client"}
        self.http = httpx.Client(headers=headers, timeout=timeout, transport=transport)

    def close(self) -> None:
        self.http.close()

    def address(self, path: str) -> str:
        """Of a path below /api/v1/, or of a link that the server gave."""
        return urljoin(self.access.api, path)

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        upload: Upload | None = None,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Answer:
        """Send a request until there is an answer. Raises a ProblemError that says why, or Unreachable.

        ``key`` names a write: the server does it once for each key. Without one, it gets a new key here.
        """
        headers = {"Accept": "application/json"}
        if method not in SAFE:
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        content = None if body is None else json.dumps(body, ensure_ascii=False, default=str).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        wanted = {name: value for name, value in (params or {}).items() if value is not None}
        for attempt in range(TRIES):
            try:
                with contextlib.ExitStack() as stack:
                    form = upload.form(stack) if upload else {}
                    response = self.http.request(
                        method, self.address(path), params=wanted or None, content=content, headers=headers, **form
                    )
            except httpx.TransportError as error:
                self._pause(attempt, error)
                continue
            wait = wait_after(attempt, response.status_code, response.headers)
            if response.is_success or wait is None:
                return _checked(response)
            sleep(wait)
        raise AssertionError("The last try returns or raises.")

    def _pause(self, attempt: int, error: httpx.TransportError) -> None:
        """Wait before the next try. Raises Unreachable after the last one."""
        wait = wait_after(attempt, None, {})
        if wait is None:
            reason = str(error) or type(error).__name__
            what = f"{self.access.url} does not answer: {reason}. "
            raise Unreachable(what + "Check the address and your connection, then try again.") from error
        sleep(wait)

    def get(self, path: str, **params: Any) -> Any:
        return (self.send("GET", path, params=params)).body

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return (self.send("POST", path, body=body, **options)).body

    def rows(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """The rows of a list, page by page, as they are needed."""
        address: str | None = path
        while address:
            page = self.get(address, **params)
            for row in page["results"]:
                yield row
            address, params = page["next"], {}

    def download(self, path: str, target: Path, *, progress: bool | None, **params: Any) -> Path:
        """Save a file piece by piece, so that memory does not grow with it. ``target`` is complete or not there."""
        partial = target.with_name(f"{target.name}.part")
        wanted = {name: value for name, value in params.items() if value is not None}
        for attempt in range(TRIES):
            try:
                with self.http.stream("GET", self.address(path), params=wanted or None) as response:
                    wait = wait_after(attempt, response.status_code, response.headers)
                    if response.is_success:
                        size = int(response.headers.get("content-length") or 0)
                        with partial.open("wb") as file, Bar(target.name, size, "B", shown=progress) as bar:
                            for piece in response.iter_bytes():
                                file.write(piece)
                                bar.add(len(piece))
                        partial.replace(target)
                        return target
                    if wait is None:
                        response.read()
                        _checked(response)
            except httpx.TransportError as error:
                self._pause(attempt, error)
                continue
            finally:
                partial.unlink(missing_ok=True)
            sleep(wait or 0)
        raise AssertionError("The last try returns or raises.")


def _checked(response: httpx.Response) -> Answer:
    """Raises a ProblemError for a refusal."""
    kind = response.headers.get("content-type", "")
    body = None
    if "json" in kind:
        with contextlib.suppress(json.JSONDecodeError):
            body = response.json()
    elif response.is_success:
        body = response.text
    if not response.is_success:
        raise problem_of(response.status_code, body)
    return Answer(response.status_code, response.headers, body)
