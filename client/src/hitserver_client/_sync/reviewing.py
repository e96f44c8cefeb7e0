# Made from _async/reviewing.py by make_sync.py. Change that file, then run make_sync.py.
"""Reviewing a study: submissions and decisions, workers, payments by hand, and quality control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from hitserver_client._sync.jobs import Job
from hitserver_client._sync.of_study import OfStudy
from hitserver_client._sync.parts import Coding, part
from hitserver_client.tables import Table, Upload, existing, is_file, rows_of

Json = dict[str, Any]
#: The number of one submission, or those of many.
Ids = Union[int, Sequence[int]]
Money = Union[str, int, float]
#: The last parts of addresses where one submission or many are decided on.
EXCLUDE, INCLUDE, APPROVE, REJECT, BONUS = "exclude", "include", "approve", "reject", "bonus"


class Reviewing(OfStudy):
    """What arrives in a study, and what is decided about it."""

    def submissions(self, **filters: Any) -> Iterator[Json]:
        """The submissions, newest first. Filters: ``show``, ``worker``, ``arm``, ``pay``, ``flag``, ``since``."""
        return self._transport.rows(self._path("submissions/"), **filters)

    def submission(self, id: int) -> Json:
        """One submission with its pages, answers, times and flags."""
        return dict(self._transport.get(self._path(f"submissions/{id}/")))

    def exclude(self, ids: Ids, *, note: str = "", release: bool = False) -> Job:
        """Leave submissions out of the analysis. With ``release``, others can take their places."""
        return self._decide(EXCLUDE, ids, note=note, release=release)

    def include(self, ids: Ids, *, note: str = "") -> Job:
        """Use submissions in the analysis again."""
        return self._decide(INCLUDE, ids, note=note)

    def approve(self, ids: Ids, *, note: str = "", key: str | None = None) -> Job:
        """Approve submissions, which pays their rewards where the platform pays."""
        return self._decide(APPROVE, ids, key, note=note)

    def reject(self, ids: Ids, *, reason: str, exclude: bool = False, key: str | None = None) -> Job:
        """Refuse to pay submissions; their workers read the reason. ``exclude``: leave them out of the analysis."""
        return self._decide(REJECT, ids, key, reason=reason, exclude=exclude)

    def bonus(self, ids: Ids, *, amount: Money, reason: str, key: str | None = None) -> Job:
        """Pay the same bonus for each of these submissions. Their workers read the reason."""
        return self._decide(BONUS, ids, key, amount=str(amount), reason=reason)

    def _decide(self, decision: str, ids: Ids, key: str | None = None, **terms: Any) -> Job:
        if isinstance(ids, int):
            return self._job(f"submissions/{ids}/{decision}/", terms, key)
        return self._job(f"submissions/{decision}/", {"ids": list(ids), **terms}, key)

    def decision_file(self, path: str | Path, *, progress: bool | None = None) -> Path:
        """Save the work as CSV with workers' ids, to fill in ``Approve`` and ``Reject``. The study's log notes it."""
        return self._transport.download(self._path("decisions.csv"), Path(path), progress=progress)

    def planned_decisions(self, decisions: Table) -> Json:
        """How many submissions a decision file would approve, reject and exclude. Nothing is decided."""
        return self._decisions(decisions, {"dry_run": "true"}, None)

    def decide(self, decisions: Table, *, key: str | None = None) -> Job:
        """Approve and reject as a decision file says (or its rows): one problem stops everything."""
        return Job(self._transport, self._decisions(decisions, {}, key))

    def _decisions(self, decisions: Table, params: Mapping[str, str], key: str | None) -> Json:
        path = self._path("decisions/")
        if is_file(decisions):
            upload = Upload(existing(str(decisions)))
            return dict(self._transport.post(path, upload=upload, params=params, key=key))
        return dict(self._transport.post(path, {"rows": rows_of(decisions)}, params=params, key=key))

    @property
    def coding(self) -> Coding:
        """What several coders labelled, and its final labels."""
        return Coding(self._transport, self._path("coding/"))

    def edits(self, submission: int | None = None) -> Iterator[Json]:
        """What people typed while they wrote, in the order in which it arrived; of one submission or of all."""
        return self._transport.rows(self._path("edits/"), submission=submission)

    def workers(self) -> Iterator[Json]:
        """The workers under their pseudonyms, in the order in which they began."""
        return self._transport.rows(self._path("workers/"))

    def worker(self, pseudonym: str) -> Json:
        """One worker with figures, agreement with others, and pay."""
        return dict(self._transport.get(self._path(f"workers/{part(pseudonym)}/")))

    def message(
        self, pseudonym: str, text: str, *, subject: str = "A message about your work", key: str | None = None
    ) -> Job:
        """Write to a worker through the platform that they came from."""
        return self._job(f"workers/{part(pseudonym)}/message/", {"subject": subject, "text": text}, key)

    def message_all(
        self, text: str, *, subject: str = "A message about your work", key: str | None = None
    ) -> Job:
        """Write to everybody who worked in the study, through the platforms that they came from."""
        return self._job("message/", {"subject": subject, "text": text}, key)

    def exclude_worker(
        self, pseudonym: str, *, note: str = "", release: bool = False, key: str | None = None
    ) -> Json:
        """Leave all that a worker sent out of the analysis. With ``release``, others can take the places."""
        path = self._path(f"workers/{part(pseudonym)}/exclude/")
        return dict(self._transport.post(path, {"note": note, "release": release}, key=key))

    def include_worker(self, pseudonym: str, *, note: str = "", key: str | None = None) -> Json:
        """Use what a worker sent in the analysis again."""
        path = self._path(f"workers/{part(pseudonym)}/include/")
        return dict(self._transport.post(path, {"note": note}, key=key))

    # --- paying by hand ---

    def payments(self, *, state: str | None = None, code: str | None = None) -> Iterator[Json]:
        """The workers with what they are owed and were paid; only those in a state, or with a completion code."""
        return self._transport.rows(self._path("payments/"), state=state, code=code)

    def payment_totals(self) -> Json:
        """What is owed and paid in the whole study."""
        return dict(self._transport.get(self._path("payments/totals/")))

    def due(self, worker: str | None = None) -> Json:
        """What must be paid by hand now; to one worker or to all."""
        return dict(self._transport.get(self._path("payments/due/"), worker=worker))

    def mark_paid(
        self, due: Mapping[str, Any], *, worker: str = "", with_excluded: bool = False, key: str | None = None
    ) -> Json:
        """Record that you paid what `due` answered. Refused if something else is due by now.

        Returns what was recorded. Of many hits, the server does it in a job, for which this waits.
        """
        body = {"hits": due["hits"], "total": due["total"], "with_excluded": with_excluded}
        body |= {"worker": worker} if worker else {}
        answer = dict(self._transport.post(self._path("payments/paid/"), body, key=key))
        if "state" not in answer:
            return answer
        job = Job(self._transport, answer)
        job.wait()
        return job.result

    def payment_file(
        self,
        path: str | Path,
        *,
        state: str | None = None,
        worker_ids: bool = False,
        progress: bool | None = None,
    ) -> Path:
        """Save the list as CSV. With ``worker_ids``, it has ids on the platform, and the study's log notes it."""
        params = {"state": state, "worker_ids": "true" if worker_ids else None}
        return self._transport.download(self._path("payments.csv"), Path(path), progress=progress, **params)

    # --- quality ---

    def quality(self) -> Json:
        """What quality control has found."""
        return dict(self._transport.get(self._path("quality/")))

    def check_quality(self, *, key: str | None = None) -> Job:
        """Check all submissions again with the rules of quality control."""
        return self._job("quality/check/", key=key)

    def quality_rules(self) -> Json:
        """The rules of quality control and of exclusion, as in a study file."""
        return dict(self._transport.get(self._path("quality/rules/")))

    def set_quality_rules(self, *, key: str | None = None, **rules: Mapping[str, Any]) -> Json:
        """Change ``quality_control={…}`` or ``exclude={…}``. What you do not name stays."""
        path = self._path("quality/rules/")
        return dict((self._transport.send("PUT", path, body=rules, key=key)).body)

    def review_queue(self) -> Json:
        """How much there is to review, by reason."""
        return dict(self._transport.get(self._path("review-queue/")))
