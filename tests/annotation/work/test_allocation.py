"""Which hit, place and number a worker is given, and what happens when something else happens in between."""

from __future__ import annotations

from datetime import timedelta

import psycopg2.errors
import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from annotation.deadlocks import again_after_deadlock
from annotation.models import Assignment, Hit, Participant, Study
from annotation.work import allocation
from annotation.work.allocation import NotAdmitted, NothingLeft, accept_next, enrol, enrol_with_hit
from annotation.work.answers import submit_step
from annotation.work.ending import reclaim_expired, return_assignment
from tests.factories import (
    make_assignment,
    make_author,
    make_invitation,
    make_participant,
    make_study,
    make_submission,
    make_worker,
)

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


def test_an_unknown_participant() -> None:
    with pytest.raises(Participant.DoesNotExist):
        accept_next(participant_id=123_456)


# --- who takes part ---


def test_the_same_worker_enrols_once_and_has_another_pseudonym_in_another_study() -> None:
    study, other, worker = make_study(), make_study(), make_worker()
    first = enrol(study=study, worker=worker, consented=True)
    assert enrol(study=study, worker=worker, consented=True).pk == first.pk
    assert study.arms.get().n_enrolled == 1
    assert enrol(study=other, worker=worker, consented=True).pseudonym != first.pseudonym


def test_a_simulated_worker_makes_a_simulated_participant() -> None:
    participant = enrol(study=make_study(), worker=make_worker(synthetic=True), consented=False, profile="noisy")
    assert (participant.synthetic, participant.profile) == (True, "noisy")
    assert not make_participant(study=make_study()).synthetic


def test_a_study_by_invitation_admits_only_whoever_is_invited() -> None:
    study = make_study(access=Study.Access.INVITED)
    with pytest.raises(NotAdmitted, match="invited"):
        enrol(study=study, worker=make_worker(), consented=False)
    invitation = make_invitation(study=study)
    assert enrol(study=study, worker=invitation.worker, consented=False, invitation=invitation).worker_id


def test_a_complete_study_admits_nobody_until_a_place_is_free_again() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study)
    with pytest.raises(NotAdmitted, match="full"):
        make_participant(study=study)
    Hit.objects.update(wanted=2)
    assert make_participant(study=study)


def test_people_who_took_part_in_an_excluded_study_are_not_admitted() -> None:
    earlier, study, worker = make_study(), make_study(), make_worker()
    study.exclude_studies.add(earlier)
    participant = make_participant(study=earlier, worker=worker)
    assert make_participant(study=study, worker=worker)  # so far they have only looked at the other one
    make_assignment(participant=participant)
    with pytest.raises(NotAdmitted, match="took_part"):
        make_participant(study=make_excluding(earlier), worker=worker)
    assert make_participant(study=make_excluding(earlier))
    assert make_participant(study=make_study(), worker=worker)


def make_excluding(*others: Study) -> Study:
    study = make_study()
    study.exclude_studies.set(others)
    return study


def test_people_who_started_both_of_two_studies_get_hits_of_one() -> None:
    one, other, worker = make_study(), make_study(hits_per_worker=None), make_worker()
    one.exclude_studies.add(other)
    other.exclude_studies.add(one)
    in_one, in_other = (make_participant(study=study, worker=worker) for study in (one, other))
    make_assignment(participant=in_other)
    with pytest.raises(NothingLeft, match="took_part"):
        accept_next(participant_id=in_one.pk)
    make_submission(participant=in_other)
    assert make_assignment(participant=in_other).ordinal == 2


def test_exclusion_works_in_one_direction() -> None:
    earlier, worker = make_study(), make_worker()
    study = make_excluding(earlier)
    make_assignment(participant=make_participant(study=study, worker=worker))
    assert make_assignment(participant=make_participant(study=earlier, worker=worker))


def test_nobody_gets_a_hit_with_a_text_of_their_own() -> None:
    study = make_study(items=4, items_per_hit=2, ratings_per_item=2, hits_per_worker=None)
    writer, other = make_participant(study=study), make_participant(study=study)
    first, second = study.hits.all()
    make_author(item=first.items.all()[1], worker=writer.worker)
    assert make_submission(participant=writer).assignment.hit == second
    with pytest.raises(NothingLeft, match="done"):
        accept_next(participant_id=writer.pk)
    assert {make_submission(participant=other).assignment.hit for _ in range(2)} == {first, second}


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


def test_work_that_ran_out_of_time_continues_where_it_stopped() -> None:
    study = make_study(items=2, ratings_per_item=2, time_limit_minutes=30)
    make_assignment(study=make_study(slug="another"))  # so that no id is 1, which equals True
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


def test_work_whose_hit_is_full_does_not_continue() -> None:
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


# --- what happens in between ---


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
def test_a_submission_refused_by_a_race_is_tried_again(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_participant(study=make_study())
    fails = Fails(error, 2)
    monkeypatch.setattr(allocation, "_accept", fails)
    assert accept_next(participant_id=worker.pk).id == Assignment.objects.get().pk
    assert fails.calls == 3


def test_after_a_few_tries_the_worker_is_asked_to_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("error", "tries"), [(deadlock(), 3), (OperationalError("disk I/O error"), 1)])
def test_a_service_whose_transaction_ended_in_a_deadlock_runs_again(error: OperationalError, tries: int) -> None:
    calls = []

    @again_after_deadlock
    def service() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise error
        return "done"

    if tries == 1:
        with pytest.raises(OperationalError, match="disk"):
            service()
    else:
        assert service() == "done"
    assert len(calls) == tries


@pytest.mark.django_db(transaction=True)
def test_within_a_callers_transaction_a_deadlock_is_the_callers() -> None:
    calls = []

    @again_after_deadlock
    def service() -> None:
        calls.append(1)
        raise deadlock()

    with pytest.raises(OperationalError, match="deadlock"), transaction.atomic():
        service()
    assert len(calls) == 1


# --- starting ---


def test_who_starts_has_a_hit_and_where_none_is_left_nothing_is_stored() -> None:
    study = make_study(items=1, ratings_per_item=1, consent="We store your ratings.")
    first = enrol_with_hit(study=study, worker=make_worker(), consented=True)
    assert first.assignments.get().state == "accepted"
    with pytest.raises(NotAdmitted, match="taken"):
        enrol_with_hit(study=study, worker=make_worker(), consented=True)
    assert Participant.objects.get() == first
    assert study.arms.get().n_enrolled == 1


def test_who_starts_joins_an_arm_with_a_free_place() -> None:
    study = make_study(items=1, ratings_per_item=1, arms=[{"name": "a"}, {"name": "b"}])
    arms = [enrol_with_hit(study=study, worker=make_worker(), consented=False).arm.name for _ in range(2)]
    assert sorted(arms) == ["a", "b"]
    with pytest.raises(NotAdmitted, match="taken"):
        enrol_with_hit(study=study, worker=make_worker(), consented=False)


def test_who_has_started_is_found_again_whatever_is_left() -> None:
    study, worker = make_study(items=1, ratings_per_item=1), make_worker()
    first = enrol_with_hit(study=study, worker=worker, consented=False)
    assert enrol_with_hit(study=study, worker=worker, consented=False) == first
