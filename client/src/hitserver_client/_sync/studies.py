# Made from _async/studies.py by make_sync.py. Change that file, then run make_sync.py.
"""One study: its set-up, its items, its work on platforms, its data and its report."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from hitserver_client._sync.jobs import Job
from hitserver_client._sync.transport import Transport
from hitserver_client.cards import Overview
from hitserver_client.errors import NotAllowed
from hitserver_client.reports import Report
from hitserver_client.tables import Table, frame_of_csv, frame_of_rows, is_file, rows_of, upload_of

if TYPE_CHECKING:
    import pandas

Json = dict[str, Any]
Money = Union[str, int, float]
Place = Union[str, Path]
#: The last parts of addresses where one submission or many are decided on.
EXCLUDE, INCLUDE, APPROVE, REJECT, BONUS = "exclude", "include", "approve", "reject", "bonus"


class Study:
    """A study on the server. ``data`` is its last known state, as the API writes it."""

    def __init__(self, transport: Transport, data: Mapping[str, Any]) -> None:
        self._transport, self.data = transport, dict(data)
        self.overview = Overview(self.data)
        #: What the server remarked on the last change.
        self.warnings: list[str] = []

    # --- what it is ---

    @property
    def slug(self) -> str:
        return str(self.data["slug"])

    @property
    def status(self) -> str:
        """``draft``, ``live``, ``paused`` or ``closed``."""
        return str(self.data["status"])

    @property
    def link(self) -> str:
        """Where people take part. It opens with the launch."""
        return str(self.data["link"])

    def _path(self, rest: str = "") -> str:
        return f"studies/{self.slug}/{rest}"

    def refresh(self) -> Study:
        """Ask for its state, its progress and its cost."""
        self.data = self._transport.get(self._path())
        progress = self.progress()
        self.overview = Overview(self.data, progress, self._cost())
        return self

    def _cost(self) -> str | None:
        """In words; None if the user may not see it."""
        try:
            if self.status == "draft":
                plan = self.launch_plan()
                return f"${plan['cost']} for {plan['submissions']:,} submissions, without a platform's fees"
            spending = (self.platform())["spending"]
        except NotAllowed:
            return None
        if spending["budget"] is None:
            return None
        return f"${spending['committed']} of ${spending['budget']} spent or promised"

    def _changed(self, answer: Mapping[str, Any]) -> Study:
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

    def spec(self) -> Json:
        """The study as the keys of a study file, without its items."""
        document: Json = self._transport.get(self._path("spec/"))
        return document

    def update(self, *, dry_run: bool = False, key: str | None = None, **changes: Any) -> Json:
        """Change the keys that are named, such as ``title="…"``. Returns every key that differs."""
        return self._apply("PATCH", changes, dry_run=dry_run, key=key)

    def replace(self, spec: Mapping[str, Any], *, dry_run: bool = False, key: str | None = None) -> Json:
        """Make it match a whole document. What the document leaves out gets its default. Returns what differs."""
        return self._apply("PUT", spec, dry_run=dry_run, key=key)

    def _apply(self, method: str, body: Mapping[str, Any], *, dry_run: bool, key: str | None) -> Json:
        params = {"dry_run": "true"} if dry_run else {}
        answer = (self._transport.send(method, self._path(), body=body, params=params, key=key)).body
        if not dry_run:
            self._changed(answer)
        return dict(answer)

    def upload(
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
            answer: Json = self._transport.post(path, upload=upload, params=params, key=key)
        else:
            answer = self._transport.post(path, {"rows": rows_of(items, mapping)}, params=params, key=key)
        self.warnings = list(answer["warnings"])
        return answer

    def items_from_run(self, run: str, *, key: str | None = None, **options: Any) -> Json:
        """Make the samples of a generation run the items of this draft."""
        body = {"run": run, "options": options}
        return dict(self._transport.post(self._path("items/from-run/"), body, key=key))

    def items_from_study(self, study: str, *, key: str | None = None, **terms: Any) -> Json:
        """Make the outputs of another study the items of this draft."""
        body = {"study": study, **terms}
        return dict(self._transport.post(self._path("items/from-study/"), body, key=key))

    def duplicate(self, slug: str, *, items: bool = True, key: str | None = None, **more: Any) -> Study:
        """Make a draft like this study."""
        body = {"slug": slug, "items": items, **more}
        return Study(self._transport, self._transport.post(self._path("duplicate/"), body, key=key))

    def delete(self) -> None:
        """Delete this draft with everything in it."""
        self._transport.send("DELETE", self._path())

    # --- running it ---

    def launch_plan(self) -> Json:
        """What a launch would start: hits, submissions, cost, hours, and what is still missing."""
        return dict(self._transport.get(self._path("launch-plan/")))

    def launch(self, *, version: str | None = None, key: str | None = None) -> Study:
        """Open it at its link. ``version`` is that of a launch plan: refused if the study has changed since."""
        body = {} if version is None else {"version": version}
        return self._changed(self._transport.post(self._path("launch/"), body, key=key))

    def pause(self) -> Study:
        """Give out no new work for now."""
        return self._changed(self._transport.post(self._path("pause/")))

    def resume(self) -> Study:
        """Give out work again."""
        return self._changed(self._transport.post(self._path("resume/")))

    def close(self) -> Study:
        """End it for good. Its data stay."""
        return self._changed(self._transport.post(self._path("close/")))

    def progress(self) -> Json:
        """The figures of the study page."""
        return dict(self._transport.get(self._path("progress/")))

    def simulate(self, workers: int, *, seed: int = 1, key: str | None = None) -> Job:
        """Let simulated workers do the study. Their data are marked everywhere."""
        return self._job("simulate/", {"workers": workers, "seed": seed}, key)

    def _job(self, rest: str, body: Mapping[str, Any] | None, key: str | None) -> Job:
        return Job(self._transport, self._transport.post(self._path(rest), body or {}, key=key))

    # --- on a platform ---

    def cost(self, platform: str) -> Json:
        """What publishing on a platform would cost, and what prevents it. Nothing is posted."""
        body = {"platform": platform, "dry_run": True}
        return dict(self._transport.post(self._path("publish/"), body))

    def publish(
        self, platform: str, *, total: Money | None = None, key: str | None = None, **terms: Any
    ) -> Job:
        """Post it on a platform. ``total`` is the cost that you agreed to: refused if it has changed."""
        body = {"platform": platform, "total": None if total is None else str(total), **terms}
        return self._job("publish/", body, key)

    def platform(self) -> Json:
        """What is offered on its platform, what became of it, and what is spent."""
        return dict(self._transport.get(self._path("platform/")))

    def sync(self) -> Job:
        """Ask the platform what was sent there and what it decided."""
        return self._job("platform/sync/", None, None)

    def extend(self, days: int, *, key: str | None = None) -> Job:
        """Offer its work longer: so many days from now."""
        return self._job("platform/extend/", {"days": days}, key)

    def end(self, *, close: bool = False, key: str | None = None) -> Job:
        """Stop offering it on its platform. Work in progress can be finished."""
        return self._job("platform/end/", {"close": close}, key)

    def add_ratings(self, ratings: int, *, total: Money | None = None, key: str | None = None) -> Job:
        """Raise the ratings per item and offer the new places."""
        body = {"ratings": ratings, "total": None if total is None else str(total)}
        return self._job("platform/add-ratings/", body, key)

    def differences(self) -> Json:
        """Work that exists only here or only on the platform."""
        return dict(self._transport.get(self._path("platform/differences/")))

    # --- reviewing ---

    def submissions(self, **filters: Any) -> Iterator[Json]:
        """The submissions, newest first. Filters: ``show``, ``worker``, ``arm``, ``pay``, ``flag``, ``since``."""
        return self._transport.rows(self._path("submissions/"), **filters)

    def submission(self, id: int) -> Json:
        """One submission with its pages, answers, times and flags."""
        return dict(self._transport.get(self._path(f"submissions/{id}/")))

    def exclude(self, ids: Sequence[int], *, note: str = "", release: bool = False) -> Job:
        """Leave submissions out of the analysis. With ``release``, others can take their places."""
        return self._decide(EXCLUDE, ids, note=note, release=release)

    def include(self, ids: Sequence[int], *, note: str = "") -> Job:
        """Use submissions in the analysis again."""
        return self._decide(INCLUDE, ids, note=note)

    def approve(self, ids: Sequence[int], *, note: str = "", key: str | None = None) -> Job:
        """Approve submissions, which pays their rewards where the platform pays."""
        return self._decide(APPROVE, ids, key, note=note)

    def reject(self, ids: Sequence[int], *, reason: str, key: str | None = None) -> Job:
        """Refuse to pay submissions. Their workers read the reason."""
        return self._decide(REJECT, ids, key, reason=reason)

    def bonus(self, ids: Sequence[int], *, amount: Money, reason: str, key: str | None = None) -> Job:
        """Pay the same bonus for each of these submissions. Their workers read the reason."""
        return self._decide(BONUS, ids, key, amount=str(amount), reason=reason)

    def _decide(self, decision: str, ids: Sequence[int], key: str | None = None, **terms: Any) -> Job:
        return self._job(f"submissions/{decision}/", {"ids": list(ids), **terms}, key)

    def workers(self) -> Iterator[Json]:
        """The workers under their pseudonyms, in the order in which they began."""
        return self._transport.rows(self._path("workers/"))

    def worker(self, pseudonym: str) -> Json:
        """One worker with figures, agreement with others, and pay."""
        return dict(self._transport.get(self._path(f"workers/{pseudonym}/")))

    def message(
        self, pseudonym: str, text: str, *, subject: str = "A message about your work", key: str | None = None
    ) -> Job:
        """Write to a worker through the platform that they came from."""
        return self._job(f"workers/{pseudonym}/message/", {"subject": subject, "text": text}, key)

    def payments(self) -> Iterator[Json]:
        """The workers with what they are owed and were paid."""
        return self._transport.rows(self._path("payments/"))

    def quality(self) -> Json:
        """What quality control has found."""
        return dict(self._transport.get(self._path("quality/")))

    # --- data ---

    def items(self, q: str = "") -> Iterator[Json]:
        """The items with their scores so far; only those that contain ``q``."""
        return self._transport.rows(self._path("items/"), q=q or None, limit=1000)

    def ratings(self) -> Iterator[Json]:
        """All ratings in the order in which they arrived."""
        return self._transport.rows(self._path("ratings/"))

    def exports(self) -> list[Json]:
        """The kinds of data that can be downloaded, with their formats."""
        return list(self._transport.get(self._path("exports/")))

    def download(
        self, kind: str, path: Place, *, progress: bool | None = None, simulated: str | None = None
    ) -> Path:
        """Save an export; the end of ``path`` says in which format. Memory does not grow with the data."""
        target = Path(path)
        address = self._path(f"exports/{kind}{target.suffix or '.csv'}")
        return self._transport.download(address, target, progress=progress, simulated=simulated)

    def frame(self, kind: str = "long", *, simulated: str | None = None) -> pandas.DataFrame:
        """An export as a data frame. ``long`` has one row for each answer, with everything about it."""
        with tempfile.TemporaryDirectory() as folder:
            return frame_of_csv(self.download(kind, Path(folder) / f"{kind}.csv", simulated=simulated))

    def items_frame(self) -> pandas.DataFrame:
        """The items as a data frame, with columns such as ``columns.text`` and a list of ``scores``."""
        return frame_of_rows([item for item in self.items()])

    def bundle(self, path: Place, *, progress: bool | None = None) -> Path:
        """Save everything as one zip, from which ``python -m analysis report`` gives the same report."""
        return self.download("bundle", path, progress=progress)

    # --- findings ---

    def report(self, *, progress: bool | None = None) -> Report:
        """The report of the present data. The server makes it if it is not there yet."""
        numbers = self._made("report/", progress)
        page = self._transport.get(self._path("report.html"), older="true")
        return Report(self.slug, numbers, str(page))

    def paper(self, path: Place, *, progress: bool | None = None) -> Path:
        """Save what goes into a paper as a zip: methods, tables, figures, pictures of pages, data set card."""
        self._made("paper.zip", progress, read=False)
        return self._transport.download(self._path("paper.zip"), Path(path), progress=progress, older="true")

    def _made(self, rest: str, progress: bool | None, *, read: bool = True) -> Json:
        """What is at an address where the server answers with a job until it is there."""
        while True:
            answer = self._transport.send("GET" if read else "HEAD", self._path(rest))
            if answer.status != 202:
                return dict(answer.body or {})
            job = Job(self._transport, answer.body or self._transport.get(answer.headers["location"]))
            job.wait(progress=progress)
