"""Reviewing a study: submissions and decisions, workers, payments by hand, and quality control."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from hitserver_client._async.jobs import AsyncJob
from hitserver_client._async.of_study import AsyncOfStudy
from hitserver_client._async.parts import AsyncCoding, part
from hitserver_client.tables import Table, Upload, existing, is_file, rows_of

Json = dict[str, Any]
#: The number of one submission, or those of many.
Ids = Union[int, Sequence[int]]
Money = Union[str, int, float]
#: The last parts of addresses where one submission or many are decided on.
EXCLUDE, INCLUDE, APPROVE, REJECT, BONUS = "exclude", "include", "approve", "reject", "bonus"


class AsyncReviewing(AsyncOfStudy):
    """What arrives in a study, and what is decided about it."""

    def submissions(self, **filters: Any) -> AsyncIterator[Json]:
        """The submissions, newest first. Filters: ``show``, ``worker``, ``arm``, ``pay``, ``flag``, ``since``."""
        return self._transport.rows(self._path("submissions/"), **filters)

    async def submission(self, id: int) -> Json:
        """One submission with its pages, answers, times and flags."""
        return dict(await self._transport.get(self._path(f"submissions/{id}/")))

    async def exclude(self, ids: Ids, *, note: str = "", release: bool = False) -> AsyncJob:
        """Leave submissions out of the analysis. With ``release``, others can take their places."""
        return await self._decide(EXCLUDE, ids, note=note, release=release)

    async def include(self, ids: Ids, *, note: str = "") -> AsyncJob:
        """Use submissions in the analysis again."""
        return await self._decide(INCLUDE, ids, note=note)

    async def approve(self, ids: Ids, *, note: str = "", key: str | None = None) -> AsyncJob:
        """Approve submissions, which pays their rewards where the platform pays."""
        return await self._decide(APPROVE, ids, key, note=note)

    async def reject(self, ids: Ids, *, reason: str, exclude: bool = False, key: str | None = None) -> AsyncJob:
        """Refuse to pay submissions; their workers read the reason. ``exclude``: leave them out of the analysis."""
        return await self._decide(REJECT, ids, key, reason=reason, exclude=exclude)

    async def bonus(self, ids: Ids, *, amount: Money, reason: str, key: str | None = None) -> AsyncJob:
        """Pay the same bonus for each of these submissions. Their workers read the reason."""
        return await self._decide(BONUS, ids, key, amount=str(amount), reason=reason)

    async def _decide(self, decision: str, ids: Ids, key: str | None = None, **terms: Any) -> AsyncJob:
        if isinstance(ids, int):
            return await self._job(f"submissions/{ids}/{decision}/", terms, key)
        return await self._job(f"submissions/{decision}/", {"ids": list(ids), **terms}, key)

    async def decision_file(self, path: str | Path, *, progress: bool | None = None) -> Path:
        """Save the work as CSV with workers' ids, to fill in ``Approve`` and ``Reject``. The study's log notes it."""
        return await self._transport.download(self._path("decisions.csv"), Path(path), progress=progress)

    async def planned_decisions(self, decisions: Table) -> Json:
        """How many submissions a decision file would approve, reject and exclude. Nothing is decided."""
        return await self._decisions(decisions, {"dry_run": "true"}, None)

    async def decide(self, decisions: Table, *, key: str | None = None) -> AsyncJob:
        """Approve and reject as a decision file says (or its rows): one problem stops everything."""
        return AsyncJob(self._transport, await self._decisions(decisions, {}, key))

    async def _decisions(self, decisions: Table, params: Mapping[str, str], key: str | None) -> Json:
        path = self._path("decisions/")
        if is_file(decisions):
            upload = Upload(existing(str(decisions)))
            return dict(await self._transport.post(path, upload=upload, params=params, key=key))
        return dict(await self._transport.post(path, {"rows": rows_of(decisions)}, params=params, key=key))

    @property
    def coding(self) -> AsyncCoding:
        """What several coders labelled, and its final labels."""
        return AsyncCoding(self._transport, self._path("coding/"))

    def edits(self, submission: int | None = None) -> AsyncIterator[Json]:
        """What people typed while they wrote, in the order in which it arrived; of one submission or of all."""
        return self._transport.rows(self._path("edits/"), submission=submission)

    def workers(self) -> AsyncIterator[Json]:
        """The workers under their pseudonyms, in the order in which they began."""
        return self._transport.rows(self._path("workers/"))

    async def worker(self, pseudonym: str) -> Json:
        """One worker with figures, agreement with others, and pay."""
        return dict(await self._transport.get(self._path(f"workers/{part(pseudonym)}/")))

    async def message(
        self, pseudonym: str, text: str, *, subject: str = "A message about your work", key: str | None = None
    ) -> AsyncJob:
        """Write to a worker through the platform that they came from."""
        return await self._job(f"workers/{part(pseudonym)}/message/", {"subject": subject, "text": text}, key)

    async def message_all(
        self, text: str, *, subject: str = "A message about your work", key: str | None = None
    ) -> AsyncJob:
        """Write to everybody who worked in the study, through the platforms that they came from."""
        return await self._job("message/", {"subject": subject, "text": text}, key)

    async def exclude_worker(
        self, pseudonym: str, *, note: str = "", release: bool = False, key: str | None = None
    ) -> Json:
        """Leave all that a worker sent out of the analysis. With ``release``, others can take the places."""
        path = self._path(f"workers/{part(pseudonym)}/exclude/")
        return dict(await self._transport.post(path, {"note": note, "release": release}, key=key))

    async def include_worker(self, pseudonym: str, *, note: str = "", key: str | None = None) -> Json:
        """Use what a worker sent in the analysis again."""
        path = self._path(f"workers/{part(pseudonym)}/include/")
        return dict(await self._transport.post(path, {"note": note}, key=key))

    # --- paying by hand ---

    def payments(self, *, state: str | None = None, code: str | None = None) -> AsyncIterator[Json]:
        """The workers with what they are owed and were paid; only those in a state, or with a completion code."""
        return self._transport.rows(self._path("payments/"), state=state, code=code)

    async def payment_totals(self) -> Json:
        """What is owed and paid in the whole study."""
        return dict(await self._transport.get(self._path("payments/totals/")))

    async def due(self, worker: str | None = None) -> Json:
        """What must be paid by hand now; to one worker or to all."""
        return dict(await self._transport.get(self._path("payments/due/"), worker=worker))

    async def mark_paid(
        self, due: Mapping[str, Any], *, worker: str = "", with_excluded: bool = False, key: str | None = None
    ) -> Json:
        """Record that you paid what `due` answered. Refused if something else is due by now.

        Returns what was recorded. Of many hits, the server does it in a job, for which this waits.
        """
        body = {"hits": due["hits"], "total": due["total"], "with_excluded": with_excluded}
        body |= {"worker": worker} if worker else {}
        answer = dict(await self._transport.post(self._path("payments/paid/"), body, key=key))
        if "state" not in answer:
            return answer
        job = AsyncJob(self._transport, answer)
        await job.wait()
        return job.result

    async def payment_file(
        self,
        path: str | Path,
        *,
        state: str | None = None,
        worker_ids: bool = False,
        progress: bool | None = None,
    ) -> Path:
        """Save the list as CSV. With ``worker_ids``, it has ids on the platform, and the study's log notes it."""
        params = {"state": state, "worker_ids": "true" if worker_ids else None}
        return await self._transport.download(self._path("payments.csv"), Path(path), progress=progress, **params)

    # --- quality ---

    async def quality(self) -> Json:
        """What quality control has found."""
        return dict(await self._transport.get(self._path("quality/")))

    async def check_quality(self, *, key: str | None = None) -> AsyncJob:
        """Check all submissions again with the rules of quality control."""
        return await self._job("quality/check/", key=key)

    async def quality_rules(self) -> Json:
        """The rules of quality control and of exclusion, as in a study file."""
        return dict(await self._transport.get(self._path("quality/rules/")))

    async def set_quality_rules(self, *, key: str | None = None, **rules: Mapping[str, Any]) -> Json:
        """Change ``quality_control={…}`` or ``exclude={…}``. What you do not name stays."""
        path = self._path("quality/rules/")
        return dict((await self._transport.send("PUT", path, body=rules, key=key)).body)

    async def review_queue(self) -> Json:
        """How much there is to review, by reason."""
        return dict(await self._transport.get(self._path("review-queue/")))
