"""Submissions in the columns of the results file of Amazon's requester site, for review in a spreadsheet.

The columns and the meaning of *Approve* and *Reject* are those of Amazon's Requester UI Guide, “Reviewing Assignments
Offline” and “Approve previously rejected assignments”. ``review.decision_files`` reads the file back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q

from annotation.models import HitItem, Item, OutsideAssignment, PlatformCall, Rating, Study, Submission
from annotation.record_writers import Record, Sheet, csv_bytes
from annotation.review.decision_file_columns import ApprovalRates, approval_rates, batch_states, our_id, reasons_of
from annotation.task_types.registry import get_type

BEFORE = (
    "HITId",
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
)
AFTER = ("Approve", "Reject")
BATCH = 500


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns that depend on the study. ``inputs`` and ``answers`` are pairs (place in the hit, name)."""

    inputs: list[tuple[int, str]]
    answers: list[tuple[int, str]]

    @property
    def names(self) -> list[str]:
        return [
            *BEFORE,
            *(f"Input.{_numbered(name, position)}" for position, name in self.inputs),
            *(f"Answer.{_numbered(name, position)}" for position, name in self.answers),
            *AFTER,
        ]


def _numbered(name: str, position: int) -> str:
    """The name itself for the first item of a hit or for no item; ``name_2`` for the second item, and so on."""
    return name if position <= 0 else f"{name}_{position + 1}"


def batch_csv(study: Study) -> Iterator[bytes]:
    """The file in pieces: one row per assignment that a person sent."""
    task = get_type(study.task_type)
    last = HitItem.objects.filter(hit__study=study).order_by("-position").values_list("position", flat=True).first()
    places = range(max(study.items_per_hit, 0 if last is None else last + 1))
    named: dict[str, None] = {}
    for payload in Item.objects.filter(study=study).values_list("payload", flat=True).iterator(BATCH):
        named |= dict.fromkeys(task.export_columns(payload))
    no_item = ExpressionWrapper(Q(item=None), output_field=BooleanField())
    ratings = Rating.objects.filter(study=study).order_by("question", "target").annotate(no_item=no_item)
    pairs = ratings.values_list("question", "target", "no_item").distinct()
    once = dict.fromkeys((_answer(question, target), about_none) for question, target, about_none in pairs)
    answers = [(position, name) for position in places for name, none in once if not none]
    columns = _Columns(
        [(position, name) for position in places for name in named],
        [(-1, name) for name, none in once if none] + answers,
    )
    names = columns.names
    ids = ("HITId", "AssignmentId", "WorkerId")
    texts = [
        index for index, name in enumerate(names) if name not in BEFORE or name in ("Title", "RequesterFeedback", *ids)
    ]
    return (data for data, _ in csv_bytes(Sheet(names, texts, _batches(study, columns))))


def _answer(question: str, target: str) -> str:
    return f"{question}.{target}" if target else question


@dataclass(frozen=True, slots=True)
class _StudyFacts:
    """What all rows need, read once."""

    study: Study
    columns: _Columns
    rates: Mapping[str, ApprovalRates]
    reasons: Mapping[str, str]
    hit_types: Mapping[int, str]
    places: Mapping[int, list[int]]
    cells: Mapping[int, Mapping[str, str]]


def _batches(study: Study, columns: _Columns) -> Iterator[list[Record]]:
    task = get_type(study.task_type)
    places: dict[int, list[int]] = defaultdict(list)
    for hit, item in HitItem.objects.filter(hit__study=study).order_by("hit", "position").values_list("hit", "item"):
        places[hit].append(item)
    calls = PlatformCall.objects.filter(study=study, result__HITTypeId__isnull=False, posting__isnull=False)
    study_facts = _StudyFacts(
        study=study,
        columns=columns,
        rates=approval_rates(study),
        reasons=reasons_of(study),
        hit_types={posting: result["HITTypeId"] for posting, result in calls.values_list("posting", "result")},
        places=places,
        cells={item.pk: task.export_columns(item.payload) for item in Item.objects.filter(study=study)},
    )
    people = Submission.objects.filter(study=study, participant__synthetic=False)
    submissions = people.select_related("assignment__hit", "assignment__posting", "participant__worker").defer(
        "answers"
    )
    last = 0
    while page := list(submissions.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield _records(study_facts, page)
        last = page[-1].pk
    yield [_unmatched(study_facts, outside) for outside in batch_states(study).there_only]


def _records(study_facts: _StudyFacts, page: Sequence[Submission]) -> list[Record]:
    states = batch_states(study_facts.study, [submission.pk for submission in page])
    answers: dict[int, dict[tuple[int, str], str]] = defaultdict(dict)
    for rating in Rating.objects.filter(submission__in=page).order_by("pk"):
        hit = next(submission.assignment.hit_id for submission in page if submission.pk == rating.submission_id)
        position = -1 if rating.item_id is None else study_facts.places[hit].index(rating.item_id)
        shown = f"{rating.value:g}" if rating.value is not None else rating.text
        answers[rating.submission_id][position, _answer(rating.question, rating.target)] = shown
    records = []
    for submission in page:
        outside = states.outside.get(submission.pk)
        if outside is None and submission.pk in states.unconfirmed:
            continue  # not an assignment on the platform
        records.append(
            _record(
                study_facts,
                submission,
                outside,
                states.decided.get(submission.pk, ("Submitted", None)),
                answers[submission.pk],
            )
        )
    return records


def _record(
    study_facts: _StudyFacts,
    submission: Submission,
    outside: OutsideAssignment | None,
    decided: tuple[str, datetime | None],
    answers: Mapping[tuple[int, str], str],
) -> Record:
    assignment, worker = submission.assignment, submission.participant.worker
    items = study_facts.places[assignment.hit_id]
    shared = _shared(study_facts, assignment.posting_id, assignment.hit.reward, assignment.hit.wanted)
    if assignment.posting is not None:
        shared |= _posting(assignment.posting)
    name = outside.external_id if outside else our_id(assignment.pk)
    values = (
        shared
        | _state(study_facts, decided, name)
        | {
            "HITId": shared.get("HITId") or f"hit-{assignment.hit_id}",
            "AssignmentId": name,
            "WorkerId": worker.platform_id,
            "AcceptTime": _time((outside.accepted_at if outside else None) or assignment.accepted_at),
            "SubmitTime": _time((outside.submitted_at if outside else None) or submission.received_at),
            "AutoApprovalTime": _time(outside.approves_itself_at if outside else None),
            "WorkTimeInSeconds": str(round(submission.seconds)),
            **study_facts.rates.get(worker.platform_id, ApprovalRates()).columns(),
        }
    )
    record: Record = [values.get(column, "") for column in BEFORE]
    for position, column in study_facts.columns.inputs:
        record.append(study_facts.cells[items[position]].get(column, "") if position < len(items) else "")
    record += [answers.get(key, "") for key in study_facts.columns.answers]
    return [*record, values["Approve"], values["Reject"]]


def _unmatched(study_facts: _StudyFacts, outside: OutsideAssignment) -> Record:
    """An assignment on the platform of which nothing arrived here."""
    posting = outside.posting
    reward = posting.pays
    status = {"approved": "Approved", "rejected": "Rejected"}.get(outside.state, "Submitted")
    took = (outside.submitted_at - outside.accepted_at) if outside.submitted_at and outside.accepted_at else None
    values = _shared(study_facts, posting.pk, reward, posting.wanted or 1) | _posting(posting)
    values |= _state(study_facts, (status, outside.seen_at), outside.external_id) | {
        "AssignmentId": outside.external_id,
        "WorkerId": outside.worker_id,
        "AcceptTime": _time(outside.accepted_at),
        "SubmitTime": _time(outside.submitted_at),
        "AutoApprovalTime": _time(outside.approves_itself_at),
        "WorkTimeInSeconds": str(round(took.total_seconds())) if took else "",
        **study_facts.rates.get(outside.worker_id, ApprovalRates()).columns(),
    }
    empty = [""] * (len(study_facts.columns.inputs) + len(study_facts.columns.answers))
    return [*(values.get(column, "") for column in BEFORE), *empty, values["Approve"], values["Reject"]]


def _shared(study_facts: _StudyFacts, posting: int | None, reward: Any, n_wanted: int) -> dict[str, str]:
    return {
        "HITTypeId": study_facts.hit_types.get(posting or 0, ""),
        "Title": study_facts.study.title,
        "Reward": f"${reward:.2f}",
        "MaxAssignments": str(n_wanted),
        "AssignmentDurationInSeconds": str(study_facts.study.time_limit_minutes * 60),
    }


def _posting(posting: Any) -> dict[str, str]:
    return {
        "HITId": posting.external_id,
        "MaxAssignments": str(posting.wanted or ""),
        "CreationTime": _time(posting.posted_at),
        "Expiration": _time(posting.expires_at),
    }


def _state(study_facts: _StudyFacts, decided: tuple[str, datetime | None], name: str) -> dict[str, str]:
    status, when = decided
    reason = study_facts.reasons.get(name, "") if status == "Rejected" else ""
    return {
        "AssignmentStatus": status,
        "ApprovalTime": _time(when) if status == "Approved" else "",
        "RejectionTime": _time(when) if status == "Rejected" else "",
        "RequesterFeedback": reason,
        "Approve": "x" if status == "Approved" else "",
        "Reject": (reason or "Rejected") if status == "Rejected" else "",
    }


def _time(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%a %b %d %H:%M:%S UTC %Y}" if moment else ""
