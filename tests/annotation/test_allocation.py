"""Which hit, place and number a worker is given, and what happens when something comes between."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg2.errors
import pytest
from django.db import IntegrityError, OperationalError
from django.utils import timezone

from annotation.models import Assignment, Hit, Participant, Study
from annotation.services import allocation
from annotation.services.allocation import NothingLeft, accept_next, enrol, reclaim_expired, return_assignment
from annotation.services.answers import submit_step
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def time_out(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert reclaim_expired() == 1


def again(assignment: Assignment) -> Assignment:
    assignment.refresh_from_db()
    return assignment


# --- which hit ---


def test_the_hit_with_fewest_ratings_comes_first_and_then_the_seeded_order() -> None:
    study = make_study(items=3, ratings_per_item=2, hits_per_worker=None)
    given = [make_assignment(study=study).hit.position for _ in range(6)]
    assert given == [0, 1, 2, 0, 1, 2]
    with pytest.raises(NothingLeft, match="done"):
        make_assignment(study=study)


def test_asking_again_gives_the_hit_in_progress() -> None:
    first = make_assignment()
    assert make_assignment(participant=first.participant).pk == first.pk


def test_nobody_gets_a_hit_again_that_they_did_or_gave_back() -> None:
    study = make_study(items=2, ratings_per_item=3, hits_per_worker=None)
    worker = make_participant(study=study)
    done = make_submission(study=study, participant=worker)
    other = make_assignment(participant=worker)
    assert other.hit_id != done.assignment.hit_id
    assert return_assignment(assignment_id=other.pk, participant_id=worker.pk)
    with pytest.raises(NothingLeft, match="done"):
        accept_next(participant_id=worker.pk)


@pytest.mark.parametrize(("status", "reason"), [("paused", "paused"), ("closed", "closed")])
def test_a_study_that_is_not_live_gives_nothing(status: str, reason: str) -> None:
    worker = make_participant(study=make_study())
    Study.objects.update(status=status)
    with pytest.raises(NothingLeft, match=reason):
        accept_next(participant_id=worker.pk)


def test_the_limit_counts_what_was_done_and_not_what_was_given_back() -> None:
    study = make_study(items=3, ratings_per_item=1, hits_per_worker=1)
    worker = make_participant(study=study)
    first = make_assignment(participant=worker)
    assert return_assignment(assignment_id=first.pk, participant_id=worker.pk)
    make_submission(study=study, participant=worker)
    with pytest.raises(NothingLeft, match="limit"):
        accept_next(participant_id=worker.pk)


def test_a_participant_who_is_not_there() -> None:
    with pytest.raises(Participant.DoesNotExist):
        accept_next(participant_id=123_456)


def test_the_same_worker_enrols_once() -> None:
    study = make_study()
    given: dict[str, Any] = {"study": study, "platform": "link", "platform_id": "w", "consented": True}
    assert enrol(**given).pk == enrol(**given).pk
    assert enrol(**given | {"study": make_study()}).pseudonym != enrol(**given).pseudonym


# --- which place and number ---


def test_a_place_that_was_given_back_is_the_next_to_be_given_out() -> None:
    study = make_study(items=1, ratings_per_item=3)
    first, second = (make_assignment(study=study) for _ in range(2))
    assert return_assignment(assignment_id=first.pk, participant_id=first.participant_id)
    third, fourth = (make_assignment(study=study) for _ in range(2))
    assert [second.slot, third.slot, fourth.slot] == [1, 0, 2]


def test_numbers_of_a_workers_hits_have_no_gap_after_one_was_given_back() -> None:
    study = make_study(items=4, ratings_per_item=1, hits_per_worker=None)
    worker = make_participant(study=study)
    first = make_submission(study=study, participant=worker).assignment
    back = make_assignment(participant=worker)
    assert return_assignment(assignment_id=back.pk, participant_id=worker.pk)
    third = make_assignment(participant=worker)
    assert [first.ordinal, back.ordinal, third.ordinal] == [1, 2, 2]


# --- out of time ---


def test_work_that_ran_out_of_time_is_taken_up_where_it_stood() -> None:
    study = make_study(items=2, ratings_per_item=2, time_limit_minutes=30)
    work = make_assignment(study=study)
    submit_step(
        assignment_id=work.pk, participant_id=work.participant_id, number=0, data={"own": "A reply of mine."}, timing={}
    )
    time_out(work)
    before = timezone.now()
    assert accept_next(participant_id=work.participant_id).id == work.pk
    assert (again(work).state, work.slot, work.ended_at) == ("accepted", 0, None)
    assert before + timedelta(minutes=30) <= work.expires_at <= timezone.now() + timedelta(minutes=30)
    assert (work.steps.count(), Hit.objects.get(pk=work.hit_id).n_live) == (1, 1)


def test_taken_up_again_it_gets_another_place_if_its_own_is_taken() -> None:
    study = make_study(items=1, ratings_per_item=2)
    work = make_assignment(study=study)
    time_out(work)
    assert make_assignment(study=study).slot == 0
    assert accept_next(participant_id=work.participant_id).id == work.pk
    assert again(work).slot == 1


def test_work_whose_hit_is_full_by_now_is_not_taken_up() -> None:
    study = make_study(items=2, ratings_per_item=1)
    work = make_assignment(study=study)
    time_out(work)
    make_assignment(study=study)
    other = make_assignment(participant=work.participant)
    assert (again(work).state, other.hit_id == work.hit_id, other.ordinal) == ("abandoned", False, 1)


def test_the_last_free_place_is_taken_back_from_whoever_is_out_of_time() -> None:
    study = make_study(items=1, ratings_per_item=1)
    late = make_assignment(study=study)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert make_assignment(study=study).hit_id == late.hit_id
    assert again(late).state == "abandoned"


def test_a_late_step_does_not_lead_past_the_limit() -> None:
    """Out of time, then another hit done: sending the old one after all would be one more than allowed."""
    study = make_study(items=2, ratings_per_item=1, hits_per_worker=1, config={"write_first": False})
    work = make_assignment(study=study)
    time_out(work)
    Hit.objects.filter(pk=work.hit_id).update(wanted=0)
    make_submission(study=study, participant=work.participant)
    Hit.objects.filter(pk=work.hit_id).update(wanted=1)
    outcome = submit_step(
        assignment_id=work.pk, participant_id=work.participant_id, number=0, data={"quality": "3"}, timing={}
    )
    assert (outcome.kind, again(work).state) == ("late", "abandoned")
    assert work.drafts.get().answers["quality"] == "3"


# --- what comes between ---


class Fails:
    """``_accept``, failing the first ``times``."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.left, self.calls = error, times, 0
        self.real = allocation._accept

    def __call__(self, participant_id: int) -> allocation.Accepted:
        self.calls += 1
        if self.calls <= self.left:
            raise self.error
        return self.real(participant_id)


def deadlock() -> OperationalError:
    class Deadlock(psycopg2.errors.DeadlockDetected):
        pgcode = "40P01"

    error = OperationalError("deadlock detected")
    error.__cause__ = Deadlock()
    return error


@pytest.mark.parametrize("error", [IntegrityError("UNIQUE"), deadlock()], ids=["constraint", "deadlock"])
def test_what_a_race_refused_is_tried_again(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_participant(study=make_study())
    fails = Fails(error, 2)
    monkeypatch.setattr(allocation, "_accept", fails)
    assert accept_next(participant_id=worker.pk).id == Assignment.objects.get().pk
    assert fails.calls == 3


def test_after_some_tries_the_worker_is_asked_to_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_participant(study=make_study())
    monkeypatch.setattr(allocation, "_accept", Fails(IntegrityError("UNIQUE"), 99))
    with pytest.raises(NothingLeft, match="taken"):
        accept_next(participant_id=worker.pk)


def test_a_database_that_fails_otherwise_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_participant(study=make_study())
    fails = Fails(OperationalError("disk I/O error"), 99)
    monkeypatch.setattr(allocation, "_accept", fails)
    with pytest.raises(OperationalError, match="disk"):
        accept_next(participant_id=worker.pk)
    assert fails.calls == 1
