"""Work that is finished late, when somebody else has the place: it is paid, and kept out of the analysis at first."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Hit, Participant, Review, Study, Submission
from annotation.review.payments_due import due
from annotation.review.progress import progress
from annotation.work import answers
from annotation.work.allocation import accept_next, continue_as_extra, revive_late
from annotation.work.answers import submit_step
from annotation.work.ending import reclaim_expired, return_assignment
from annotation.work.excluding import review_submission
from annotation.work.left_out import left_out_submissions
from annotation.work.repairing_ratings import recount
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


class Late(WorkerBrowser):
    """A worker's browser that knows whose it is."""

    def __init__(self, participant: Participant) -> None:
        super().__init__(participant)
        self.participant = participant


def lost_place(*, pages_sent: int, **values: Any) -> tuple[Study, Late, str]:
    """A worker whose time ran out after some pages, and somebody else who has done the hit since."""
    study = make_study(items=1, ratings_per_item=1, reward=Decimal("0.50"), **values)
    worker = Late(make_participant(study=study))
    answers = [{"own": "It was written in time."}, {"quality": "4"}]
    for given in answers[:pages_sent]:
        worker.send(**given)
    form = worker.form()
    Assignment.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert reclaim_expired() == 1
    make_submission(study=study)
    return study, worker, form


def test_the_last_page_of_a_hit_that_somebody_else_took_makes_an_extra_submission_that_is_paid() -> None:
    study, worker, form = lost_place(pages_sent=2)
    response = worker.post(form, diversity="2")
    assert (response.status_code, response.headers["Location"]) == (303, worker.done_url)
    late = Submission.objects.get(participant=worker.participant)
    assert (late.assignment.state, late.assignment.extra) == ("released", True)
    assert worker.participant.completion_code in fields(worker.client.get(worker.done_url)).text
    assert due(study).rewards[late.pk] == study.hits.get().reward
    hit = Hit.objects.get()
    assert (hit.wanted, hit.n_live, hit.n_submitted) == (1, 1, 1)
    assert recount(study=study, actor="test") == 0


def test_extra_work_is_out_of_the_analysis_until_a_person_includes_it() -> None:
    study, worker, form = lost_place(pages_sent=2)
    worker.post(form, diversity="2")
    late = Submission.objects.get(participant=worker.participant)
    assert set(left_out_submissions(study)) == {late.pk}
    found = progress(study)
    assert (found.submitted, found.extra, found.released, found.is_complete) == (1, 1, 0, True)
    assert found.ratings.included < found.ratings.all
    review_submission(submission=late, decision=Review.Decision.INCLUDE, note="", user=make_researcher("ann"))
    assert set(left_out_submissions(study)) == set()
    assert progress(study).ratings.included == found.ratings.all
    late.assignment.refresh_from_db()
    assert late.assignment.extra, "the place is still somebody else's"


def test_an_extra_submission_takes_the_place_when_it_is_free_and_a_person_includes_it() -> None:
    _, worker, form = lost_place(pages_sent=2)
    worker.post(form, diversity="2")
    user = make_researcher("ann")
    other = Submission.objects.exclude(participant=worker.participant).get()
    review_submission(submission=other, decision=Review.Decision.EXCLUDE, note="", user=user, release=True)
    late = Submission.objects.get(participant=worker.participant)
    review_submission(submission=late, decision=Review.Decision.INCLUDE, note="", user=user)
    late.assignment.refresh_from_db()
    assert (late.assignment.state, late.assignment.extra) == ("submitted", False)
    assert (Hit.objects.get().n_live, Hit.objects.get().n_submitted) == (1, 1)


def test_a_page_in_the_middle_is_stored_and_the_worker_goes_on() -> None:
    _, worker, form = lost_place(pages_sent=1)
    assert worker.post(form, quality="4").status_code == 303
    page = fields(worker.get())
    assert "Step 3 of 3" in page.text
    worker.send(diversity="3")
    assert Assignment.objects.get(participant=worker.participant).extra
    assert Submission.objects.filter(participant=worker.participant).count() == 1


def test_extra_work_that_is_given_back_changes_no_count() -> None:
    study, worker, form = lost_place(pages_sent=1)
    worker.post(form, quality="4")
    work = Assignment.objects.get(participant=worker.participant)
    worker.client.post(f"{worker.url}return", {"form": worker.form()})
    work.refresh_from_db()
    assert (work.state, work.extra) == ("returned", False)
    assert (Hit.objects.get().n_live, recount(study=study, actor="test")) == (1, 0)


def test_who_has_started_another_task_or_done_all_they_may_cannot_finish_the_old_one() -> None:
    study, worker, form = lost_place(pages_sent=2, hits_per_worker=1)
    Participant.objects.filter(pk=worker.participant.pk).update(excluded_at=timezone.now())
    assert worker.post(form, diversity="2").status_code == 409
    assert not Submission.objects.filter(participant=worker.participant).exists()
    assert study.hits.get().n_live == 1


@pytest.mark.parametrize("finds_a_place", [False, True])
def test_work_that_changes_its_place_while_it_is_sent_is_counted_as_it_is_stored(
    monkeypatch: pytest.MonkeyPatch, finds_a_place: bool
) -> None:
    study = make_study(items=1, ratings_per_item=2, config={"write_first": False, "rate_first": False})
    worker = make_participant(study=study)
    work = Assignment.objects.get(pk=accept_next(participant_id=worker.pk).id)
    theirs = {"assignment_id": work.pk, "participant_id": worker.pk}
    answer: dict[str, Any] = {**theirs, "number": 0, "data": {"diversity": "3"}, "timing": {}}
    others = [make_participant(study=study) for _ in range(2)]

    def lose() -> None:
        Assignment.objects.filter(pk=work.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
        assert reclaim_expired() == 1

    def in_another_tab() -> None:
        lose()
        if not finds_a_place:
            take_the_places()
            assert continue_as_extra(**theirs)
        else:
            assert return_assignment(assignment_id=held[0], participant_id=others[0].pk)
            assert revive_late(**theirs)

    def take_the_places() -> None:
        held[:] = [accept_next(participant_id=other.pk).id for other in others]

    held: list[int] = []
    if finds_a_place:
        lose()
        take_the_places()
        assert continue_as_extra(**theirs)
    read, times = answers._open_work, iter([True])

    def interrupted(*args: int) -> answers.OpenWork:
        found = read(*args)
        if next(times, False):
            in_another_tab()
        return found

    monkeypatch.setattr(answers, "_open_work", interrupted)
    assert submit_step(**answer).kind == "submitted"
    work.refresh_from_db()
    assert (work.state, work.extra) == (("submitted", False) if finds_a_place else ("released", True))
    hit = Hit.objects.get()
    assert (hit.n_live, hit.n_submitted) == (2, 1 if finds_a_place else 0)
    assert recount(study=study, actor="test") == 0


def test_the_page_says_that_the_work_can_still_be_finished() -> None:
    study = make_study(items=1, ratings_per_item=1)
    worker = WorkerBrowser(make_participant(study=study))
    worker.send(own="In time.")
    Assignment.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert "You can still finish it, and your pay stays the same." in fields(worker.get()).text
