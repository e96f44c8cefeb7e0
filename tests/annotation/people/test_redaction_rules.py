"""When a deletion is refused, what the platform may bring back, and what a restored backup undoes."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from annotation.instrument import shown_items
from annotation.models import (
    Assignment,
    Compensation,
    HitItem,
    OutsideAssignment,
    Participant,
    Payment,
    Posting,
    RedactionGate,
    Review,
    Study,
    Submission,
)
from annotation.people.redacting import participations, redact
from annotation.people.redacting_traces import Place, find_traces
from annotation.platforms.base import Reported
from annotation.recruiting.matching import match_assignments
from annotation.recruiting.syncing import sync_posting
from annotation.review.paying import mark_paid
from annotation.review.payments_due import due
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.answers import submit_step
from annotation.work.repairing_ratings import rebuild_ratings
from common.problems import Invalid
from hitserver.backup.outdated import deletions_since, outdated
from tests.annotation.redaction_helpers import WROTE, rows_with, walk
from tests.factories import make_assignment, make_participant, make_study, make_submission, make_worker, simulated_form


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=out)
    return out.getvalue()


def worked(**values: Any) -> Participant:
    """A worker with a hit, with the mark in what they wrote."""
    defaults: dict[str, Any] = {"items": 1, "ratings_per_item": 3, "reward": Decimal("0.30")}
    study = make_study(**defaults | values)
    participant = make_participant(study=study)
    assert walk(make_assignment(participant=participant)) is not None
    return participant


def posted(participant: Participant, state: str) -> OutsideAssignment:
    """As if the work had come from MTurk, which has it in this state."""
    posting = Posting.objects.create(study=participant.study, platform="mturk", external_id="HIT1")
    Assignment.objects.update(posting=posting, platform_assignment_id="A1")
    worker = participant.worker
    worker.platform = "mturk"
    worker.save()
    outside = OutsideAssignment.objects.create(
        posting=posting, external_id="A1", worker_id=worker.platform_id, state=state, seen_at=timezone.now()
    )
    match_assignments(posting)
    return outside


# --- the gate ---


@pytest.mark.django_db
def test_the_gate_lets_only_its_own_transaction_through() -> None:
    worked()
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Submission.objects.update(feedback="forged")
    with transaction.atomic():
        RedactionGate.objects.create(opened_at=timezone.now())
        assert Submission.objects.update(feedback="in the gate") == 1
        RedactionGate.objects.all().delete()
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Submission.objects.update(feedback="forged")


@pytest.mark.django_db(transaction=True)
def test_another_connection_does_not_see_an_open_gate() -> None:
    worked()
    with transaction.atomic():
        RedactionGate.objects.create(opened_at=timezone.now())
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT COUNT(*) FROM annotation_redactiongate")
                assert cursor.fetchone()[0] == 0
        finally:
            other.close()
        transaction.set_rollback(True)


# --- pay comes first ---


@pytest.mark.django_db
def test_work_that_waits_for_a_decision_on_the_platform_is_decided_first() -> None:
    participant = worked()
    outside = posted(participant, "submitted")
    with pytest.raises(Invalid, match="waits for a decision"):
        redact(participants=[participant], actor="ann")
    assert rows_with(WROTE)
    OutsideAssignment.objects.filter(pk=outside.pk).update(state="approved")
    redact(participants=[participant], actor="ann")
    assert rows_with(WROTE) == {}


@pytest.mark.django_db
def test_a_compensation_that_is_not_paid_comes_first() -> None:
    participant = worked()
    posted(participant, "approved")
    Compensation.objects.create(
        study=participant.study, assignment=Assignment.objects.get(), platform="mturk", worker_id="W", amount=1,
        reason="late", actor="ann", created_at=timezone.now(),
    )  # fmt: skip
    with pytest.raises(Invalid, match="compensation"):
        redact(participants=[participant], actor="ann")


@pytest.mark.django_db
def test_what_is_owed_by_hand_can_be_paid_afterwards_once() -> None:
    participant = worked()
    assert due(participant.study).total == Decimal("0.30")
    redact(participants=[participant], actor="ann")
    assert due(participant.study, code=participant.completion_code).total == Decimal("0.30")
    mark_paid(study=participant.study, actor="ann", code=participant.completion_code)
    assert Payment.objects.get().amount == Decimal("0.30")
    with pytest.raises(Invalid):
        mark_paid(study=participant.study, actor="ann")


# --- what comes later ---


class Mturk:
    """A platform that still knows the worker."""

    name, pays = "mturk", True

    def has_paused(self, posting: Posting) -> None:
        """MTurk does not pause."""

    def sync(self, posting: Posting) -> list[Reported]:
        return [Reported("A1", "A2SECRETWORKER", "approved", answer=f"<answer>{WROTE}</answer>")]


@pytest.mark.django_db
def test_a_later_sync_does_not_bring_the_worker_back() -> None:
    participant = worked()
    outside = posted(participant, "approved")
    redact(participants=[participant], actor="ann")
    sync_posting(posting=Posting.objects.get(), platform=Mturk())  # type: ignore[arg-type]
    outside.refresh_from_db()
    nobody = Participant.objects.get().worker.platform_id
    assert list(OutsideAssignment.objects.values_list("worker_id", "answer")) == [(nobody, "")]


@pytest.mark.django_db
def test_the_worker_gets_no_more_hits_and_a_late_step_is_not_stored() -> None:
    study = make_study(items=2, ratings_per_item=2, hits_per_worker=None)
    participant = make_participant(study=study)
    make_submission(participant=participant)
    open_work = make_assignment(participant=participant)
    form = simulated_form(assignment=open_work, number=0)
    redact(participants=[participant], actor="ann")
    assert open_work.hit.assignments.get().state == "returned"
    with pytest.raises(NothingLeft):
        accept_next(participant_id=participant.pk)
    sent = submit_step(assignment_id=open_work.pk, participant_id=participant.pk, number=0, data=form, timing={})
    assert sent.kind == "ended"
    assert open_work.steps.count() == 0


@pytest.mark.django_db
def test_rebuilding_ratings_does_not_touch_what_was_kept() -> None:
    participant = worked(keep_ratings=True)
    redact(participants=[participant], actor="ann")
    kept = participant.study.ratings.count()
    assert kept
    rebuild_ratings(study=participant.study, actor="ann")
    assert participant.study.ratings.count() == kept


@pytest.mark.django_db
def test_a_process_that_remembers_items_reads_them_again() -> None:
    participant = worked()
    place = HitItem.objects.get()
    before = shown_items(place.hit_id)[0].payload
    item = place.item
    item.payload = item.payload | {"context": "[removed]"}
    item.save()
    assert shown_items(place.hit_id)[0].payload == before
    redact(participants=[participant], actor="ann")
    assert shown_items(place.hit_id)[0].payload["context"] == "[removed]"


@pytest.mark.django_db
def test_other_studies_of_the_worker_keep_their_data_and_know_who_they_are() -> None:
    worker = make_worker(name="the-same")
    here, there = make_study(items=1), make_study(items=1)
    first, second = (make_participant(study=study, worker=worker) for study in (here, there))
    make_submission(participant=second)
    assert participations(first, [here.pk, there.pk]) == [first, second]
    redact(participants=[first], actor="ann")
    second.refresh_from_db()
    assert (second.worker.platform_id, second.redacted_at) == ("the-same", None)
    assert Submission.objects.get(participant=second).answers


# --- the command, backups, files ---


@pytest.mark.django_db
def test_the_command_shows_then_deletes() -> None:
    participant = worked()
    slug, name = participant.study.slug, participant.pseudonym
    assert "Nothing was deleted." in run("study", "redact", slug, "--worker", name, "--dry-run")
    assert rows_with(WROTE)
    assert "1 submissions" in run("study", "redact", slug, "--code", participant.completion_code)
    assert rows_with(WROTE) == {}
    with pytest.raises(CommandError, match="no such worker"):
        run("study", "redact", slug, "--worker", name)


@pytest.mark.django_db
def test_after_a_restore_the_deletion_is_repeated(folder: Path) -> None:
    participant = worked()
    redact(participants=[participant], actor="ann")
    line = json.loads((folder / "redactions.jsonl").read_text())
    assert (line["participant"], line["study"]) == (participant.pk, participant.study_id)
    assert WROTE not in (folder / "redactions.jsonl").read_text()
    # As a backup from before the deletion has it.
    Participant.objects.filter(pk=participant.pk).update(redacted_at=None)
    assert "1 worker would be deleted again" in run("study", "redact", "--again", "--dry-run")
    run("study", "redact", "--again")
    assert Participant.objects.get().redacted_at is not None
    assert "0 workers" in run("study", "redact", "--again")


@pytest.mark.django_db
def test_copies_made_before_a_deletion_are_listed_and_removed(folder: Path) -> None:
    copies = folder / "copies"
    copies.mkdir()
    old = copies / "before-migrating-1.sqlite3"
    old.write_text("a copy")
    assert "No copy contains" in run("backup", "--outdated")
    done = redact(participants=[worked()], actor="ann")
    assert done.copies == [old]
    assert f"{old}: 1 deletion since" in run("backup", "--outdated")
    assert old.exists()
    run("backup", "--outdated", "--remove")
    assert not old.exists()


def a_backup(path: Path, made_at: str) -> Path:
    """A file with the manifest of a backup."""
    data = json.dumps({"made_at": made_at}).encode()
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("manifest.json")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return path


def test_backups_in_a_folder_are_compared_with_the_journal(folder: Path) -> None:
    lines = [{"participant": 1, "study": 1, "at": f"2026-05-{day:02}T12:00:00+00:00"} for day in (3, 5)]
    (folder / "redactions.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    home = folder / "backups"
    home.mkdir()
    first = a_backup(home / "first.tar.gz", "2026-05-01T00:00:00+00:00")
    second = a_backup(home / "second.tar.gz", "2026-05-04T00:00:00+00:00")
    a_backup(home / "third.tar.gz", "2026-05-06T00:00:00+00:00")
    (home / "notes.txt").write_text("not a backup")
    assert [(each.path, each.deletions) for each in outdated(home)] == [(first, 2), (second, 1)]
    assert [deletions_since(f"2026-05-0{day}T00:00:00+00:00") for day in (1, 4, 6)] == [2, 1, 0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_the_bytes_of_the_database_file_forget_it() -> None:
    participant = worked()
    name = str(connection.settings_dict["NAME"])
    assert _bytes_with(name, WROTE)
    done = redact(participants=[participant], actor="ann")
    assert done.overwritten
    assert not _bytes_with(name, WROTE)


def _bytes_with(name: str, mark: str) -> bool:
    sqlite3.connect(name).close()
    files = [Path(name), Path(f"{name}-wal")]
    return any(mark.encode() in path.read_bytes() for path in files if path.exists())


@pytest.mark.django_db
def test_an_exclusion_says_why_and_stays_when_repeated() -> None:
    participant = worked()
    for _ in range(2):
        redact(participants=[Participant.objects.get()], actor="ann")
    notes = list(Review.objects.values_list("decision", "note"))
    assert notes == [("exclude", "The worker asked for the deletion of their data.")]
    assert Study.objects.get(pk=participant.study_id).hits.get().n_submitted == 0


@pytest.mark.django_db(transaction=True)
def test_the_statistics_of_the_database_forget_as_well() -> None:
    """PostgreSQL remembers some values of every column. A test elsewhere checks the tables."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no such statistics")
    theirs = worked(items=2, items_per_hit=1, hits_per_worker=None)
    assert walk(make_assignment(participant=theirs)) is not None  # values that occur twice are remembered
    feedback = 'She said: "Xyzzyqat was in my way" on page \\ 7'
    with transaction.atomic():
        gate = RedactionGate.objects.create(opened_at=timezone.now())
        Submission.objects.update(feedback=feedback)
        gate.delete()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as PostgreSQL does by itself
    assert Place("pg_stats", "annotation_submission.feedback", 1) in find_traces([feedback])

    done = redact(participants=[theirs], actor="ann")

    assert done.left == []
    assert done.overwritten
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stats WHERE strpos(most_common_vals::text, 'Xyzzyqat') > 0")
        assert cursor.fetchone()[0] == 0
