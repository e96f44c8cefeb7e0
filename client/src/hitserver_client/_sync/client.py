# Made from _async/client.py by make_sync.py. Change that file, then run make_sync.py.
"""The way in: a server, and what belongs to no single study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hitserver_client._sync.jobs import Job
from hitserver_client._sync.studies import Study
from hitserver_client._sync.transport import SECONDS, Transport
from hitserver_client.access import find
from hitserver_client.errors import NotFound
from hitserver_client.tables import Table, is_file, rows_of

Json = dict[str, Any]


class Client:
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
        self.transport = Transport(find(url, token), timeout=timeout, transport=transport)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.transport.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.transport.access.url}>"

    # --- studies ---

    def studies(self) -> list[Study]:
        """All studies that you can see, newest first."""
        return [Study(self.transport, row) for row in self.transport.rows("studies/", limit=1000)]

    def study(self, slug: str) -> Study:
        """The study with this short name."""
        return Study(self.transport, self.transport.get(f"studies/{slug}/"))

    def create_study(
        self,
        spec: Mapping[str, Any],
        items: Table | None = None,
        *,
        mapping: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Study:
        """Create a draft from the keys of a study file. ``items``: a data frame, rows, or the name of a file."""
        body, file = dict(spec), items is not None and is_file(items)
        if items is not None and not file:
            body["items"] = rows_of(items, mapping)
        answer = self.transport.post("studies/", body, key=key)
        study = Study(self.transport, answer["study"])
        study.warnings = list(answer["warnings"])
        if items is not None and file:
            study.upload(items, mapping=mapping)
        return study

    def validate(
        self, spec: Mapping[str, Any], items: Table | None = None, *, mapping: Mapping[str, str] | None = None
    ) -> Json:
        """Check a new study with its items and store nothing. Raises Refused with every problem."""
        body = dict(spec)
        if items is not None:
            body["items"] = rows_of(items, mapping)
        return dict(self.transport.post("studies/", body, params={"dry_run": "true"}))

    def apply(self, spec: Mapping[str, Any], items: Table | None = None, *, key: str | None = None) -> Study:
        """Create the study, or make the one that exists match the document."""
        try:
            study = self.study(str(spec["slug"]))
        except NotFound:
            return self.create_study(spec, items, key=key)
        study.replace(spec if items is None else {**spec, "items": rows_of(items)}, key=key)
        return study

    def differences(self, spec: Mapping[str, Any]) -> Json:
        """What `apply` would change. Nothing is written. Raises Refused with every problem."""
        try:
            study = self.study(str(spec["slug"]))
        except NotFound:
            return self.validate(spec)
        return study.replace(spec, dry_run=True)

    def task_types(self) -> list[Json]:
        """The task types of this server."""
        return [row for row in self.transport.rows("task-types/")]

    def task_type(self, name: str) -> Json:
        """One task type: its columns, settings and questions, and an example."""
        return dict(self.transport.get(f"task-types/{name}/"))

    # --- jobs, models, runs ---

    def job(self, id: int) -> Job:
        """The job with this number."""
        return Job(self.transport, self.transport.get(f"jobs/{id}/"))

    def models(self) -> list[Json]:
        """The language models of this server."""
        return [row for row in self.transport.rows("models/")]

    def runs(self) -> list[Json]:
        """Your generation runs, newest first."""
        return [row for row in self.transport.rows("runs/")]

    def create_run(self, spec: Mapping[str, Any], *, key: str | None = None) -> Json:
        """Create a generation run from the keys of a run file, and start it."""
        return dict(self.transport.post("runs/", dict(spec), key=key))

    def run(self, name: str) -> Json:
        """A generation run with its progress."""
        return dict(self.transport.get(f"runs/{name}/"))

    def samples(self, run: str) -> Iterator[Json]:
        """The samples of a run in the order in which they were stored."""
        return self.transport.rows(f"runs/{run}/samples/")
