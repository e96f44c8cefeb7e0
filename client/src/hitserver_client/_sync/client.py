# Made from _async/client.py by make_sync.py. Change that file, then run make_sync.py.
"""The way in: a server, and what belongs to no single study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hitserver_client._sync.account import PlatformAccounts, Suggesters, Teams, Tokens
from hitserver_client._sync.jobs import Job, made
from hitserver_client._sync.parts import part
from hitserver_client._sync.studies import Study
from hitserver_client._sync.transport import SECONDS, Transport
from hitserver_client.access import find
from hitserver_client.errors import NotFound
from hitserver_client.reports import Report
from hitserver_client.tables import Table, Upload, existing, is_file, rows_of

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

    # --- your account ---

    @property
    def tokens(self) -> Tokens:
        """Your API tokens."""
        return Tokens(self.transport, "tokens/")

    @property
    def teams(self) -> Teams:
        """Your teams."""
        return Teams(self.transport, "teams/")

    @property
    def platform_accounts(self) -> PlatformAccounts:
        """Accounts on platforms, yours and those of your teams."""
        return PlatformAccounts(self.transport, "platform-accounts/")

    @property
    def suggesters(self) -> Suggesters:
        """Models that suggest texts to writers."""
        return Suggesters(self.transport, "suggesters/")

    def platforms(self) -> list[Json]:
        """The platforms on which studies can be offered, with their settings."""
        return list(self.transport.get("platforms/"))

    # --- studies ---

    def studies(self) -> list[Study]:
        """All studies that you can see, newest first."""
        return [Study(self.transport, row) for row in self.transport.rows("studies/", limit=1000)]

    def study(self, slug: str) -> Study:
        """The study with this short name."""
        return Study(self.transport, self.transport.get(f"studies/{part(slug)}/"))

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

    def import_ratings(
        self, path: str | Path, slug: str, *, title: str = "", key: str | None = None
    ) -> Study:
        """Make a closed study of ratings that Label Studio, Argilla or Potato exported. Zip a folder first.

        ``warnings`` of the study say what of the file is not in it.
        """
        upload = Upload(existing(path), {"slug": slug, "title": title})
        answer = self.transport.post("imported-studies/", upload=upload, key=key)
        study = Study(self.transport, answer["study"])
        study.warnings = list(answer["notes"])
        return study

    def task_types(self) -> list[Json]:
        """The task types of this server."""
        return [row for row in self.transport.rows("task-types/")]

    def task_type(self, name: str) -> Json:
        """One task type: its columns, settings and questions, and an example."""
        return dict(self.transport.get(f"task-types/{part(name)}/"))

    # --- jobs, models, runs ---

    def job(self, id: int) -> Job:
        """The job with this number."""
        return Job(self.transport, self.transport.get(f"jobs/{part(id)}/"))

    def jobs(self) -> list[Job]:
        """Your jobs, newest first."""
        return [Job(self.transport, row) for row in self.transport.rows("jobs/")]

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
        return dict(self.transport.get(f"runs/{part(name)}/"))

    def cancel_run(self, name: str, *, key: str | None = None) -> Json:
        """Stop a run. The samples that it has stay."""
        return dict(self.transport.post(f"runs/{part(name)}/cancel/", key=key))

    def resume_run(self, name: str, *, key: str | None = None) -> Json:
        """Continue a run that stopped or failed."""
        return dict(self.transport.post(f"runs/{part(name)}/resume/", key=key))

    def run_report(self, name: str, *, progress: bool | None = None) -> Report:
        """The report of a run. The server makes it if it is not there yet."""
        numbers = made(self.transport, f"runs/{part(name)}/report/", progress)
        return Report(name, numbers, str(self.transport.get(f"runs/{part(name)}/report.html", older="true")))

    def download_samples(self, run: str, path: str | Path, *, progress: bool | None = None) -> Path:
        """Save the samples of a run; the end of ``path`` says in which format: .csv or .jsonl."""
        target = Path(path)
        address = f"runs/{part(run)}/samples{target.suffix or '.csv'}"
        return self.transport.download(address, target, progress=progress)

    def samples(self, run: str) -> Iterator[Json]:
        """The samples of a run in the order in which they were stored."""
        return self.transport.rows(f"runs/{part(run)}/samples/")
