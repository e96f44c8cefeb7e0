"""A worker's data are deleted: nothing of what they wrote or who they are is left in any table, export or file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from annotation.models import (
    Assignment,
    AuditEntry,
    Item,
    Participant,
    Payment,
    Rating,
    RedactionGate,
    Study,
    Submission,
)
from annotation.people import redacting_rows
from annotation.people.redacting import redact
from annotation.results import exports
from annotation.work.left_out import excluded_submissions
from tests.annotation.redaction_helpers import (
    MARKS,
    WHO,
    WROTE,
    Life,
    exports_with,
    files_with,
    live_through,
    rows_with,
    save_reports,
)
from tests.factories import make_researcher

pytestmark = pytest.mark.django_db


@pytest.fixture
def life(tmp_path: Path, settings: Any) -> Life:
    settings.VAR = tmp_path
    return live_through(make_researcher("ann"))


def marks_of(life: Life) -> tuple[str, ...]:
    return (*MARKS, *life.pseudonyms)


def test_nothing_is_left_in_any_table_export_or_file(life: Life, tmp_path: Path) -> None:
    studies = [*life.studies, life.judging]
    save_reports(life)
    before = rows_with(*marks_of(life))
    assert len(before) > 25, before
    assert exports_with(studies, WROTE)
    assert files_with(tmp_path, WROTE)

    done = redact(participants=life.participants, actor="ann")

    assert rows_with(*marks_of(life)) == {}
    assert exports_with(studies, *marks_of(life)) == []
    assert files_with(tmp_path, *marks_of(life)) == []
    assert done.left == []
    assert done.removed["submissions"] == len(life.studies)


#: Parts of the redaction, and a column in which something is left without them.
PARTS = {
    "_delete_work": "annotation_step.answers",
    "_blank_work": "annotation_submission.feedback",
    "_blank_decisions": "annotation_review.note",
    "_blank_platform": "annotation_outsideassignment.answer",
    "_forget_person": "annotation_worker.platform_id",
    "_clean_logs": "annotation_auditentry.detail",
    "_clean_items": "annotation_item.payload",
}


@pytest.mark.parametrize("part", PARTS)
def test_the_search_finds_what_a_part_left_out_would_leave(
    part: str, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redacting_rows, part, lambda *args: 0)
    redact(participants=life.participants, actor="ann")
    assert PARTS[part] in rows_with(*marks_of(life))


def test_the_redaction_itself_reports_what_is_left_elsewhere(life: Life) -> None:
    about = life.studies[0]
    first = Item.objects.filter(study=life.judging).earliest("pk")
    Item.objects.filter(pk=first.pk).update(external_id=f"by-{life.worker.platform_id}")
    done = redact(participants=life.participants, actor="ann")
    assert [(place.table, place.column) for place in done.left] == [("annotation_item", "external_id")]
    assert AuditEntry.objects.filter(study=about, action="delete worker data").exists()


def test_money_ids_and_ratings_of_others_stay(life: Life) -> None:
    paid = list(Payment.objects.order_by("pk").values_list("amount", "key", "submission_id", "kind"))
    judged = list(Rating.objects.filter(study=life.judging).order_by("pk").values_list("pk", "item_id", "value"))
    items = list(Item.objects.filter(study=life.judging).order_by("pk").values_list("pk", "external_id"))

    redact(participants=life.participants, actor="ann")

    assert list(Payment.objects.order_by("pk").values_list("amount", "key", "submission_id", "kind")) == paid
    assert (
        list(Rating.objects.filter(study=life.judging).order_by("pk").values_list("pk", "item_id", "value")) == judged
    )
    assert list(Item.objects.filter(study=life.judging).order_by("pk").values_list("pk", "external_id")) == items


def test_without_ratings_the_submissions_are_left_out_and_their_places_are_free(life: Life) -> None:
    study = life.studies[0]
    mine = Submission.objects.get(participant=life.participants[0])
    live = study.hits.get().n_live
    redact(participants=life.participants, actor="ann")
    assert not Rating.objects.filter(submission=mine).exists()
    assert mine.pk in set(excluded_submissions(study))
    mine.refresh_from_db()
    assert mine.assignment.state == Assignment.State.RELEASED
    assert study.hits.get().n_live == live - 1


def test_ratings_stay_without_texts_where_workers_were_told(life: Life) -> None:
    Study.objects.update(keep_ratings=True)
    detection = next(study for study in life.studies if study.task_type == "detection")
    mine = Rating.objects.filter(study=detection, participant__in=life.participants)
    numbers = sorted(mine.exclude(value=None).values_list("pk", "value"))
    assert numbers
    redact(participants=life.participants, actor="ann")
    after = Rating.objects.filter(study=detection, participant__in=life.participants)
    assert sorted(after.values_list("pk", "value")) == numbers
    assert rows_with(*marks_of(life)) == {}
    assert not set(excluded_submissions(detection)) & set(after.values_list("submission", flat=True))


def test_doing_it_again_changes_nothing_but_the_log(life: Life) -> None:
    redact(participants=life.participants, actor="ann")
    names = list(Participant.objects.order_by("pk").values_list("pk", "pseudonym", "worker_id", "redacted_at"))
    again = redact(participants=life.participants, actor="ann")
    assert list(Participant.objects.order_by("pk").values_list("pk", "pseudonym", "worker_id", "redacted_at")) == names
    assert again.left == []
    assert set(again.removed) <= {"submissions", "texts for other studies", "items made of their texts"} | {
        "suggestions shown"
    }


def test_a_failure_in_the_middle_changes_nothing(life: Life, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("the machine stopped")

    before = rows_with(*marks_of(life))
    monkeypatch.setattr(redacting_rows, "_clean_logs", fail)
    with pytest.raises(RuntimeError), transaction.atomic():
        redact(participants=life.participants, actor="ann")
    assert rows_with(*marks_of(life)) == before
    assert not RedactionGate.objects.exists()
    assert not (tmp_path / "redactions.jsonl").exists()


def test_afterwards_the_database_refuses_changes_as_before(life: Life) -> None:
    redact(participants=life.participants, actor="ann")
    assert not RedactionGate.objects.exists()
    for change in (
        lambda: Submission.objects.update(feedback="forged"),
        lambda: AuditEntry.objects.all().delete(),
        lambda: Payment.objects.update(amount=1),
        lambda: Payment.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            change()


def test_the_log_says_what_was_removed_and_not_what_it_was(life: Life) -> None:
    redact(participants=life.participants, actor="ann")
    entry = AuditEntry.objects.get(study=life.studies[0], action="delete worker data")
    now = Participant.objects.get(pk=life.participants[0].pk)
    assert (entry.actor, entry.detail["worker"], entry.detail["ratings_kept"]) == ("ann", now.pseudonym, False)
    assert entry.detail["removed"]["submissions"] == 1
    assert WHO not in str(entry.detail)


def test_every_kind_of_export_was_looked_at(life: Life) -> None:
    """The search is only as good as the studies: each kind of export exists for one of them.

    `cyoa-script` has the texts of `turns`; `test_redaction_of_comments` searches `final`; `spans` has places in items'
    texts, which nobody wrote here, under the pseudonyms of `long`. `test_tries` and
    `test_chat_results` search `tries` and `chat-turns`, and the search above `judges`, which the study that judges has.
    """
    assert set(exports.KINDS) - {name.split("/")[1].split(".")[0] for name in exports_with(life.studies, "")} <= {
        "chat-turns",
        "cyoa-script",
        "final",
        "judges",
        "spans",
        "tries",
    }
