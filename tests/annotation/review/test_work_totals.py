"""Running totals: what pages read about large studies is what is stored, whatever happened since."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from annotation.instrument import hit_items, live_instrument
from annotation.models import Flag, Participant, Recount, Study, Submission, WorkTotal
from annotation.review import work_totals
from annotation.review.fairness import fairness_of
from annotation.review.paying import mark_paid
from annotation.review.payment_lists import totals, workers_in
from annotation.review.payments_due import payable, payment_totals
from annotation.review.progress import progress
from annotation.review.study_progress import count_slow_figures, study_progress
from annotation.review.submission_lists import Filter, chosen
from annotation.review.work_totals import check_totals, count_marked
from annotation.task_types.simulation import SimulatedWorker
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.direct_bots import answer_hit
from annotation.work.excluding import review_submission
from tests.annotation.console_helpers import make_user
from tests.annotation.review.test_payments import paid_study, worker_with
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """Three people and a simulated worker. The first did 2 hits at $0.18, of which one is excluded and flagged, the
    second 1 at $0.25, which is paid. Pages of the study read totals, however small it is."""
    monkeypatch.setattr(work_totals, "LARGE", 0)
    study = paid_study()
    first, second = worker_with(study, 2), worker_with(study, 1)
    worker_with(study, 1)
    worker_with(study, 1, synthetic=True)
    bad = first.submissions.order_by("pk")[0]
    review_submission(submission=bad, decision="exclude", note="", user=make_user("rev"))
    Flag.objects.create(submission=bad, reason="fast")
    mark_paid(study=study, actor="ada", pseudonym=second.pseudonym)
    return Study.objects.get(pk=study.pk)


def differences(study: Study) -> list[str]:
    """Where the figures from totals are not those that are counted from all of the work."""
    stored, live = study_progress(study), progress(study)
    pairs: dict[str, tuple[Any, Any]] = {
        **{name: (getattr(stored.figures, name), getattr(live, name)) for name in live.__slots__},
        "fairness": (stored.fairness, fairness_of(study)),
        "payments": ({**totals(study), "behind": 0}, payment_totals(study) | {"behind": 0}),
        "to pay": (list(workers_in(study, state="to_pay")), list(payable(study, state="to_pay"))),
        "excluded": (list(workers_in(study, state="excluded")), list(payable(study, state="excluded"))),
    }
    return [f"{name}: {one} instead of {other}" for name, (one, other) in pairs.items() if one != other]


def test_figures_of_pages_are_those_of_the_work_before_and_after_it_is_counted(study: Study) -> None:
    assert differences(study) == []
    assert count_marked() == 4
    assert not Recount.objects.exists()
    assert differences(study) == []
    # By hand: 3 people and a simulated worker sent 5; $0.18 + $0.18 are to be paid and $0.25 is.
    sums = WorkTotal.objects.filter(study=study).values_list("received", "excluded", "flagged", "due", "paid")
    assert [sum(column) for column in zip(*sums, strict=True)] == [5, 1, 1, Decimal("0.36"), Decimal("0.25")]


def test_whatever_changes_a_total_marks_it_in_the_same_transaction(study: Study) -> None:
    user = make_user("other")
    count_marked()
    one = Submission.objects.filter(study=study, participant__synthetic=False).order_by("pk").last()
    assert one is not None
    for change in (
        lambda: worker_with(study, 1),
        lambda: review_submission(submission=one, decision="exclude", note="", user=user),
        lambda: review_submission(submission=one, decision="include", note="", user=user),
        lambda: Flag.objects.create(submission=one, reason="same_text"),
        lambda: mark_paid(study=study, actor="ada"),
        lambda: Study.objects.filter(pk=study.pk).update(exclusion={"flags": ["same_text"]}),
    ):
        change()
        study.refresh_from_db()
        assert Recount.objects.exists()
        assert differences(study) == [], "counted by the page"
        count_marked()
        assert differences(study) == [], "counted in the background"
        assert check_totals([study]) == []


def test_a_page_reads_no_work_of_workers_who_did_nothing_since(study: Study) -> None:
    count_marked()
    count_slow_figures()
    with CaptureQueriesContext(connection) as seen:
        study_progress(study)
        totals(study)
    tables = (
        "annotation_rating",
        "annotation_review",
        "annotation_flag",
        "annotation_paydecision",
        "annotation_hititem",
    )
    assert [
        query["sql"] for query in seen.captured_queries if any(f'FROM "{name}"' in query["sql"] for name in tables)
    ] == []
    assert len(seen) <= 24


def test_the_check_finds_and_repairs_a_wrong_total(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    count_marked()
    wrong = Participant.objects.filter(study=study).order_by("pk")[0]
    WorkTotal.objects.filter(participant=wrong).update(received=7, due=1)
    with pytest.raises(CommandError, match="1 total was wrong"):
        call_command("totals", check=True, stdout=(out := StringIO()))
    assert f"{study.slug}, worker {wrong.pseudonym}: received 7 instead of 2" in out.getvalue()
    assert "is repaired" in caplog.text
    assert differences(study) == []
    call_command("totals", check=True, stdout=(again := StringIO()))
    assert "All totals are right" in again.getvalue()


@pytest.mark.django_db(transaction=True)
def test_totals_are_right_after_20_workers_race_while_others_count() -> None:
    study = make_study(items=30, ratings_per_item=20, hits_per_worker=None)
    people = [make_participant(study=study) for _ in range(20)]

    def work(participant: Participant) -> int:
        worker = SimulatedWorker.named(participant.pseudonym, "careful")
        try:
            for n_done in range(6):
                try:
                    accepted = accept_next(participant_id=participant.pk)
                except NothingLeft:
                    return n_done
                assert accepted.new is not None
                instrument = live_instrument(participant.arm_id)
                shown = instrument.shown(hit_items(accepted.new.hit_id).items, accepted.new.order)
                answer_hit(worker, participant, accepted.id, instrument, shown, [])
            return 6
        finally:
            connections.close_all()

    def count() -> int:
        try:
            return sum(count_marked() for _ in range(10))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(22) as pool:
        counting = [pool.submit(count) for _ in range(2)]
        n_sent = sum(pool.map(work, people))
        assert sum(future.result() for future in counting) >= 0
    count_marked()
    assert n_sent == 120
    assert sum(WorkTotal.objects.filter(study=study).values_list("received", flat=True)) == 120
    assert check_totals([study]) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="how PostgreSQL plans")
def test_a_large_study_is_never_gone_through_once_for_each_row() -> None:
    """With little memory, as with half a million rows, PostgreSQL makes no table of ids for “in … or in …”."""
    study = make_study(items=1)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '64kB'")
        cursor.execute(
            "INSERT INTO annotation_recount (participant_id) SELECT number FROM generate_series(1, 20000) AS number"
        )
        cursor.execute("ANALYZE annotation_recount")
    marked = work_totals._stale(study).order_by("pk").explain()
    assert "SubPlan" not in marked, marked
    included = chosen(study, Filter(show="included")).values("pk").explain()
    assert not re.search(r"NOT \((hashed SubPlan|SubPlan|ANY)", included), included
