"""Tens of thousands of rows at once, with the number of variables that SQLite allows in one query by default."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotation.many_ids import among, among_texts
from annotation.models import BulkAction, Flag, OutsideAssignment, Posting, Submission, Worker
from annotation.recruiting.matching import reported_of
from annotation.review import bulk_decisions
from annotation.review.review_queue import Preview, flags_of, preview_of
from annotation.review.submission_lists import Filter, chosen
from annotation.work import left_out
from annotation.work.left_out import left_out_submissions
from annotation.work.repeated_work import as_offered
from hitserver.retention import unprotected
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db
MANY = 33_000
USUAL_LIMIT = 32_766


@pytest.fixture(autouse=True)
def usual_limit(db: None) -> Iterator[None]:
    """Some systems build SQLite with a higher limit, so this sets the usual one."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    before = connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, USUAL_LIMIT)
    yield
    connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)


@pytest.fixture
def sent() -> Submission:
    return make_submission(study=make_study(items=1, reward="0.18"))


def ids_with(pk: int) -> list[int]:
    """Many ids, of which only the first is that of a row."""
    return [pk, *range(pk + 1_000_000, pk + 1_000_000 + MANY)]


def action_on(sent: Submission, action: str, key: str, ids: list[int], **values: Any) -> BulkAction:
    rows = [{key: pk} for pk in ids]
    return BulkAction.objects.create(study=sent.study, action=action, rows=rows, actor="ada", **values)


def test_an_empty_list_of_ids_needs_no_query(sent: Submission, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert not Submission.objects.filter(pk__in=among([])).exists()


def test_texts_are_found_whatever_their_characters(sent: Submission) -> None:
    for name in ("plain", 'quote " and \\', "Ünïcode 🙂", "100%s"):
        Worker.objects.create(platform="test", platform_id=name)
    names = ["plain", 'quote " and \\', "Ünïcode 🙂", "100%s", "nobody"]
    assert Worker.objects.filter(platform="test", platform_id__in=among_texts(names)).count() == 4


@pytest.mark.parametrize(("action", "key"), [("exclude", "submission"), ("exclude_workers", "participant")])
def test_the_effect_of_a_review_is_shown(sent: Submission, action: str, key: str) -> None:
    pk = sent.pk if key == "submission" else sent.participant_id
    preview = preview_of(action_on(sent, action, key, ids_with(pk)))
    assert (preview.workers, preview.places) == (1, 1)
    assert preview.ratings == sent.ratings.count()


@pytest.mark.parametrize(("action", "key"), [("exclude", "submission"), ("exclude_workers", "participant")])
def test_flags_give_the_reason(sent: Submission, action: str, key: str) -> None:
    with unprotected(Flag):
        Flag.objects.all().delete()
    Flag.objects.create(submission=sent, reason="too_fast")
    pk = sent.pk if key == "submission" else sent.participant_id
    assert flags_of(action_on(sent, action, key, ids_with(pk))) == "Flagged: too fast (1)."


def outside_rows(sent: Submission) -> list[int]:
    """What a platform reports of assignments that never arrived here."""
    posting = Posting.objects.create(study=sent.study, platform="mturk", hit=sent.assignment.hit, external_id="H1")
    now = timezone.now()
    OutsideAssignment.objects.bulk_create(
        [
            OutsideAssignment(
                posting=posting, external_id=f"A{number}", worker_id=f"W{number}", state="submitted", seen_at=now
            )
            for number in range(MANY)
        ],
        batch_size=500,
    )
    return list(OutsideAssignment.objects.order_by("pk").values_list("pk", flat=True))


def test_the_effect_of_a_file_of_decisions_is_shown(sent: Submission) -> None:
    decisions = action_on(sent, "file", "outside", outside_rows(sent))
    decisions.rows = [row | {"decision": "reject"} for row in decisions.rows]
    assert preview_of(decisions).rejected == MANY


def test_earlier_bonuses_are_looked_up(sent: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.review.review_queue._of_pay", lambda bonus, fees: Preview())
    bonus = action_on(sent, "bonus", "submission", ids_with(sent.pk), amount=Decimal("0.10"))
    assert preview_of(bonus).paid_before == ""


def test_what_a_platform_reports_is_found(sent: Submission) -> None:
    assert reported_of(sent.study, ids_with(sent.pk)) == {}


def test_an_action_starts(sent: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are done one by one; before that, one query finds what can be approved together."""
    outside = outside_rows(sent)
    done: list[Any] = []

    def do(action: BulkAction, row: Any, *_: Any) -> str:
        done.append(row)
        BulkAction.objects.filter(pk=action.pk).update(position=2)  # another process is ahead, so this one stops
        return ""

    monkeypatch.setattr(bulk_decisions, "_do", do)
    approving = action_on(sent, "approve", "outside", outside, state="running")
    bulk_decisions.run_action(bulk_id=approving.pk, connect=lambda name, study: None)  # type: ignore[arg-type, return-value]
    assert len(done) == 1


def test_rules_may_exclude_many(sent: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    excluded = dict.fromkeys(ids_with(sent.pk), "too_fast")
    monkeypatch.setattr(left_out, "excluded_by_rule", lambda study, of=None: excluded)
    monkeypatch.setattr("annotation.review.submission_lists.excluded_by_rule", lambda study, of=None: excluded)
    assert list(left_out_submissions(sent.study)) == [sent.pk]
    assert [row.pk for row in chosen(sent.study, Filter(show="rules"))] == [sent.pk]


def test_places_to_reopen_have_their_rewards(sent: Submission) -> None:
    hit = sent.assignment.hit
    [offered] = as_offered(dict.fromkeys(ids_with(hit.pk), 2))
    assert (offered.reward, offered.wanted) == (hit.reward, 2)
