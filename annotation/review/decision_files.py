"""Reads decisions from a results file that somebody edited in a spreadsheet. One problem in it stops everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import OutsideAssignment, Study
from annotation.recruiting.pay_states import with_pay_state
from annotation.review.decision_file_columns import our_id
from annotation.table_files import Table, TableProblems
from annotation.task_types.items import Row, RowProblem
from common.cells import restore_cell

NEEDED = ("AssignmentId", "Approve", "Reject")
MOST_FEEDBACK = 1024
#: An optional column: a mark leaves the rejected work of the row out of the analysis.
EXCLUDE = "Exclude"
#: Marks that mean “yes”. They are not a reason.
YES = ("x", "yes", "y", "1", "true")
OutsideState = OutsideAssignment.State
_STATES = {"approved": "paid", "rejected": "rejected", "submitted": "to_approve", "returned": "returned"}
Decisions = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Work:
    """One assignment that the file may name."""

    hit: str
    worker: str
    pay: str
    submission: int | None
    outside: int | None


def read_decisions(*, study: Study, table: Table) -> Decisions:
    """The new decisions in the file, as rows for ``bulk.plan_rows``. Those made before are left out.

    Raises TableProblems with every problem.
    """
    missing = [name for name in NEEDED if name not in table.columns]
    if missing:
        fix = "Download the results file again and edit only the columns Approve and Reject."
        raise TableProblems([RowProblem(0, name, f"There is no column “{name}”.", fix) for name in missing])
    work_by_name, problems, decisions, seen = _work_by_name(study), [], Decisions(), dict[str, int]()
    for row in table.rows:
        name = restore_cell(row.cells["AssignmentId"].strip())
        if name in seen:
            what = f"Assignment {name[:60]} is in row {seen[name]} already."
            problems.append(RowProblem(row.number, "AssignmentId", what, "Delete one of the two rows."))
            continue
        seen[name] = row.number
        row_problems = _row_problems(row, name, work_by_name)
        problems += row_problems
        if not row_problems and (decision := _decision(row, name, work_by_name[name])):
            decisions.append(decision)
    if problems:
        raise TableProblems(problems)
    return decisions


def _work_by_name(study: Study) -> dict[str, _Work]:
    work_by_name: dict[str, _Work] = {}
    for outside in OutsideAssignment.objects.filter(posting__study=study).select_related("posting").order_by("pk"):
        work_by_name[outside.external_id] = _Work(
            outside.posting.external_id, outside.worker_id, _STATES[outside.state], None, outside.pk
        )
    rows = with_pay_state(study).filter(participant__synthetic=False).order_by("pk")
    for pk, assignment, hit, posted, name, worker, pay in rows.values_list(
        "pk",
        "assignment",
        "assignment__hit",
        "assignment__posting__external_id",
        "assignment__platform_assignment_id",
        "participant__worker__platform_id",
        "pay",
    ):
        reported = work_by_name.get(name) if posted else None
        if reported is not None and reported.worker == worker:
            work_by_name[name] = _Work(reported.hit, worker, pay, pk, reported.outside)
        elif not posted or not name:
            work_by_name[our_id(assignment)] = _Work(posted or f"hit-{hit}", worker, pay, pk, None)
        elif reported is None:
            work_by_name[name] = _Work(posted, worker, pay, pk, None)
    return work_by_name


def _row_problems(row: Row, name: str, work_by_name: Mapping[str, _Work]) -> list[RowProblem]:
    """What is wrong with one row. A row without a decision must also name an assignment of this study."""
    if not name:
        return [
            RowProblem(row.number, "AssignmentId", "There is no assignment id.", "Delete the row, or restore the id.")
        ]
    if name not in work_by_name:
        fix = "Restore the id from the downloaded file. If it is from another study, import it there."
        return [RowProblem(row.number, "AssignmentId", f"This study has no assignment {name[:60]}.", fix)]
    work, problems = work_by_name[name], []
    for column, right in (("HITId", work.hit), ("WorkerId", work.worker)):
        typed = restore_cell(row.cells.get(column, right).strip())
        if typed != right:
            what = f"“{typed[:60]}” does not belong to assignment {name[:60]}."
            problems.append(RowProblem(row.number, column, what, f"Restore “{right[:60]}”."))
    return problems + _decision_problems(row, work)


def _decision_problems(row: Row, work: _Work) -> list[RowProblem]:
    approve, reject = row.cells["Approve"].strip(), restore_cell(row.cells["Reject"].strip())
    number = row.number
    if approve and reject:
        return [RowProblem(number, "Approve", "Approve and Reject are both filled.", "Empty one of them.")]
    if approve and approve.lower() not in YES:
        return [
            RowProblem(number, "Approve", f"“{approve[:60]}” is no mark.", "Write x to approve, or leave it empty.")
        ]
    exclude = row.cells.get(EXCLUDE, "").strip()
    if exclude and exclude.lower() not in YES:
        fix = "Write x to leave the work out of the analysis, or leave it empty."
        return [RowProblem(number, EXCLUDE, f"“{exclude[:60]}” is no mark.", fix)]
    if exclude and not reject:
        fix = "Write a reason in Reject, or empty Exclude. Other work is excluded under Submissions."
        return [RowProblem(number, EXCLUDE, "Only rejected work can be excluded here.", fix)]
    if not (approve or reject):
        return []
    if reject.lower() in YES:
        return [RowProblem(number, "Reject", "This is not a reason.", "Write why, as the worker reads it.")]
    if len(reject) > MOST_FEEDBACK:
        what = f"The reason is {len(reject):,} characters long."
        return [RowProblem(number, "Reject", what, f"Shorten it to {MOST_FEEDBACK:,}.")]
    if reject and work.pay in ("paid", "approved", "partly_paid"):
        return [
            RowProblem(number, "Reject", "This work has been paid.", "It cannot be rejected any more. Empty Reject.")
        ]
    if work.pay == "unconfirmed":
        fix = "Ask the platform with “study sync”, then import the file again. Until then, empty this row's decision."
        return [RowProblem(number, "AssignmentId", "The platform has not confirmed this work.", fix)]
    if work.pay == "returned":
        return [RowProblem(number, "AssignmentId", "The worker has returned this work.", "Empty Approve and Reject.")]
    return []


def _decision(row: Row, name: str, work: _Work) -> dict[str, Any] | None:
    """The decision in a row without problems; None if there is none, or if it was made before."""
    reject = restore_cell(row.cells["Reject"].strip())
    decision = "approve" if row.cells["Approve"].strip() else "reject" if reject else ""
    done = {"approve": ("paid", "approved", "partly_paid", "no_reward"), "reject": ("rejected", "no_reward")}
    if not decision or work.pay in done[decision]:
        return None
    exclude = row.cells.get(EXCLUDE, "").strip()
    return ({"exclude": True} if decision == "reject" and exclude else {}) | {
        "submission": work.submission,
        "outside": work.outside,
        "decision": decision,
        "feedback": reject,
        "name": name,
    }
