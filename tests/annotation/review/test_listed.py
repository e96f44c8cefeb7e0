"""Lists of submissions, page by page: nothing missing or twice, and a true count, however they are read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Flag, PartPayment, Study, Submission
from annotation.people.worker_figures import worker_figures
from annotation.recruiting.pay_states import PAY_STATES
from annotation.review import listed, submission_lists, work_totals
from annotation.review.paying import mark_paid
from annotation.review.submission_lists import SHOWS, Filter, chosen, place_among, submission_page
from annotation.work.excluding import review_submission
from tests.annotation.console_helpers import as_role, make_user
from tests.annotation.review.test_payments import paid_study, worker_with
from tests.annotation.review.test_progress import received
from tests.factories import make_assignment, make_submission

pytestmark = pytest.mark.django_db
FILTERS = [
    *(Filter(show=show) for show in SHOWS),
    *(Filter(pay=pay) for pay in PAY_STATES),
    *(Filter(show="included", pay="to_pay"), Filter(pay="paid", faster=50.0), Filter(reason="fast")),
]


@pytest.fixture
def study() -> Study:
    """Seven submissions of three people, two that two others sent at the same moment, and two of a simulated worker.
    One is paid, one excluded, one flagged, and one person is owed part pay besides."""
    study = paid_study(items=8)
    _, second, third = (worker_with(study, hits) for hits in (4, 2, 1))
    for _ in range(2):
        received(study, received_at=timezone.now().replace(microsecond=0))
    worker_with(study, 2, synthetic=True)
    sent = list(study.submissions.filter(participant__synthetic=False).order_by("pk"))
    mark_paid(study=study, actor="ada", pseudonym=third.pseudonym)
    review_submission(submission=sent[3], decision="exclude", note="", user=make_user("rev"))
    Flag.objects.create(submission=sent[5], reason="fast")
    stopped = make_assignment(participant=second)
    PartPayment.objects.create(assignment=stopped, amount=1, steps_done=1, created_at=timezone.now())
    return study


@pytest.fixture(params=["small", "totals", "behind"])
def counted(request: pytest.FixtureRequest, study: Study, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the list is counted: as in a small study, from totals, or, if these are not there, up to a limit."""
    if request.param != "small":
        monkeypatch.setattr(work_totals, "LARGE", 1)
        work_totals.count_marked()
        monkeypatch.setattr(submission_lists, "MOST_COUNTED", 2)
        monkeypatch.setattr(listed, "NEWEST", (2, 4))
    if request.param == "behind":
        monkeypatch.setattr(work_totals, "MOST_COUNTED_NOW", 0)
        make_submission(participant=study.participants.filter(synthetic=False).order_by("pk")[0])
    return str(request.param)


def test_the_pages_together_are_the_list(study: Study, counted: str) -> None:
    for which in FILTERS:
        matching = list(chosen(study, which).values_list("pk", flat=True))
        seen, number = [], 1
        while True:
            page, rows = submission_page(study, which, number=number, per_page=1)
            seen += [row.pk for row in rows]
            pages: Any = page.paginator
            if not pages.more:
                assert pages.count == len(matching), which
            else:
                assert counted == "behind" or which.narrows
                assert number < pages.count < len(matching)
            if not page.has_next():
                break
            number += 1
        assert seen == matching, which
        beyond, _ = submission_page(study, which, number=99, per_page=1)
        assert [one.pk for one in beyond] == matching[-1:], which


def test_each_filter_finds_what_it_says(study: Study) -> None:
    """The numbers of the submissions, by hand: what the lists are compared with elsewhere is not empty."""
    sizes = {which: chosen(study, which).count() for which in FILTERS}
    assert {which.show: n for which, n in sizes.items() if which == Filter(show=which.show)} == {
        **dict.fromkeys(SHOWS, 0), "all": 11, "flagged": 1, "excluded": 1, "included": 10, "synthetic": 2, "people": 9
    }  # fmt: skip
    assert {which.pay: n for which, n in sizes.items() if which == Filter(pay=which.pay) and n} == {
        "": 11, "to_pay": 7, "paid": 1, "excluded": 1, "no_reward": 2
    }  # fmt: skip


def test_a_list_of_one_worker_reads_nothing_of_others(study: Study) -> None:
    person = study.participants.order_by("pk")[0]
    for which in (
        Filter(show="included", pseudonym=person.pseudonym),
        Filter(pay="to_pay", pseudonym=person.pseudonym),
    ):
        with CaptureQueriesContext(connection) as queries:
            submission_page(study, which)
        reading = [query["sql"] for query in queries.captured_queries if "annotation_review" in query["sql"]]
        assert all(f"IN ({person.pk})" in sql for sql in reading if "MAX" in sql)
        assert any("MAX" in sql for sql in reading)


def test_places_beyond_what_is_counted(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    newest_first = list(chosen(study, Filter(show="people")))
    exact = [place_among(chosen(study, Filter(show="people")), one) for one in newest_first]
    assert [(place.number, place.total, place.more, place.listed) for place in exact] == [
        (n, 9, False, True) for n in range(1, 10)
    ]
    monkeypatch.setattr(submission_lists, "MOST_COUNTED", 3)
    places = [place_among(chosen(study, Filter(show="people")), one) for one in newest_first]
    assert [(place.number, place.total, place.more) for place in places] == [
        *[(n, 3, True) for n in (1, 2, 3, 4)],
        *[(None, 3, True)] * 5,
    ]
    assert [(place.before, place.after) for place in places] == [(place.before, place.after) for place in exact]
    elsewhere = Submission.objects.get(participant__synthetic=True, pk=Submission.objects.order_by("-pk")[0].pk)
    place = place_among(chosen(study, Filter(show="people")), elsewhere)
    assert (place.listed, place.number, place.total, place.more) == (False, None, 3, True)


def test_pages_say_that_there_are_more_than_were_counted(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission_lists, "MOST_COUNTED", 2)
    monkeypatch.setattr(submission_lists.submission_page, "__kwdefaults__", {"number": 1, "per_page": 1})
    client = as_role("owner", study)
    page = client.get(reverse("console_submissions", args=[study.slug]), {"show": "people"}).content.decode()
    assert "<caption>More than 2 submissions, newest first" in page
    assert "All submissions that match (more than 2), not only the ticked ones" in page
    assert "Page 1 of more than 2" in page
    page = client.get(reverse("console_submissions", args=[study.slug])).content.decode()
    assert "<caption>11 submissions, newest first" in page
    assert "Page 1 of 11" in page
    first = study.submissions.order_by("pk")[0]
    shown = client.get(reverse("console_submission", args=[study.slug, first.pk]), {"show": "people"})
    assert "One of more than 2 that match" in shown.content.decode()


def test_the_time_of_others_is_the_median_of_the_newest_in_a_large_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: of 10, 20 and 90 seconds it is 20; of the newest two, 15."""
    study = paid_study()
    now = timezone.now()
    others = [received(study, seconds=float(n), received_at=now - timedelta(days=n)) for n in (90, 20, 10)]
    worker = received(study, seconds=7.0).participant
    shown = worker_figures(worker)
    assert (shown.median_seconds, shown.median_of_others, shown.of_newest) == (7, 20, None)
    monkeypatch.setattr("annotation.people.worker_figures.NEWEST_OF_OTHERS", 2)
    shown = worker_figures(worker)
    assert (shown.median_of_others, shown.of_newest) == (15, 2)
    address = reverse("console_worker", args=[study.slug, others[0].participant.pseudonym])
    assert "(newest 2)</span>" in as_role("owner", study).get(address).content.decode()
