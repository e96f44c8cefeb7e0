"""Between-subjects arms: who gets which, and that nothing leaks from one into another."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections

from annotation.instrument import live_instrument
from annotation.models import Arm, Assignment, Participant, Study
from annotation.work.allocation import NotAdmitted, NothingLeft, accept_next
from annotation.work.ending import return_assignment
from tests.factories import make_assignment, make_participant, make_study, make_submission, make_worker

pytestmark = pytest.mark.django_db
TWO_ARMS: list[dict[str, Any]] = [{"name": "low", "reward": "0.10"}, {"name": "high", "reward": "0.50"}]
RACING = 40


def arms_of(study: Study) -> dict[str, int]:
    """How many participants each arm has; its counter must agree."""
    counted = Counter(Participant.objects.filter(study=study).values_list("arm__name", flat=True))
    assert dict(study.arms.values_list("name", "n_enrolled")) == {
        arm.name: counted[arm.name] for arm in study.arms.all()
    }
    return dict(counted)


def test_a_participant_gets_the_least_filled_arm_and_ties_go_by_position() -> None:
    study = make_study(arms=[{"name": "a"}, {"name": "b"}, {"name": "c"}], ratings_per_item=9)
    given = [make_participant(study=study).arm.name for _ in range(5)]
    assert given == ["a", "b", "c", "a", "b"]
    Arm.objects.filter(study=study, name="a").update(n_enrolled=0)
    assert make_participant(study=study).arm.name == "a"


def test_hits_reward_and_wording_are_those_of_the_arm() -> None:
    study = make_study(
        arms=[{"name": "with", "config": {"write_first": True}}, {"name": "without", "config": {"write_first": False}}],
        items=2,
        hits_per_worker=None,
    )
    first, second = (make_assignment(study=study) for _ in range(2))
    assert [each.participant.arm.name for each in (first, second)] == ["with", "without"]
    assert [each.hit.arm for each in (first, second)] == [each.participant.arm for each in (first, second)]
    assert [live_instrument(each.hit.arm_id).config["write_first"] for each in (first, second)] == [True, False]


def test_a_worker_gets_every_hit_of_their_arm_and_none_of_another() -> None:
    study = make_study(arms=TWO_ARMS, items=3, ratings_per_item=1, hits_per_worker=None)
    worker = make_participant(study=study)
    done = [make_submission(participant=worker).assignment.hit for _ in range(3)]
    assert {hit.reward for hit in done} == {Decimal("0.10")}
    with pytest.raises(NothingLeft, match="done"):
        accept_next(participant_id=worker.pk)


def test_an_arm_with_as_many_participants_as_wanted_is_skipped() -> None:
    study = make_study(arms=[{"name": "few", "wanted": 1}, {"name": "many"}], ratings_per_item=9)
    make_submission(participant=make_participant(study=study))
    assert [make_participant(study=study).arm.name for _ in range(3)] == ["many", "many", "many"]


def test_returning_the_only_hit_frees_the_place_in_the_arm() -> None:
    study = make_study(arms=[{"name": "few", "wanted": 1}, {"name": "many"}], ratings_per_item=9)
    first = make_assignment(study=study)
    assert make_participant(study=study).arm.name == "many"
    return_assignment(assignment_id=first.pk, participant_id=first.participant_id)
    make_participant(study=study)
    assert arms_of(study) == {"few": 2, "many": 1}


def test_a_participant_of_an_arm_that_filled_up_gets_no_hit() -> None:
    study = make_study(arms=[{"wanted": 2}], ratings_per_item=9, hits_per_worker=None)
    people = [make_participant(study=study) for _ in range(3)]
    first = make_submission(participant=people[0])
    make_submission(participant=people[1])
    with pytest.raises(NothingLeft, match="full"):
        accept_next(participant_id=people[2].pk)
    assert make_assignment(participant=first.participant).ordinal == 2
    with pytest.raises(NotAdmitted, match="full"):
        make_participant(study=study)


def test_an_arm_whose_hits_are_all_done_is_skipped() -> None:
    study = make_study(arms=[{"name": "a"}, {"name": "b"}], items=1, ratings_per_item=1)
    make_submission(participant=make_participant(study=study))
    assert [make_participant(study=study).arm.name for _ in range(2)] == ["b", "b"]


# --- races ---


def together(work: Callable[[int], object], how_many: int) -> list[BaseException]:
    """Run ``work(0)``, ``work(1)`` … in threads that start at the same moment. Returns what they raised."""
    gate, failures = threading.Barrier(how_many), list[BaseException]()

    def run(number: int) -> None:
        gate.wait(30)
        try:
            work(number)
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(how_many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return failures


@pytest.mark.django_db(transaction=True)
def test_forty_racing_workers_fill_two_arms_evenly() -> None:
    study = make_study(arms=TWO_ARMS, items=3, ratings_per_item=RACING)

    def start(number: int) -> None:
        accept_next(participant_id=make_participant(study=study, name=f"racer-{number}").pk)

    assert together(start, RACING) == []
    filled = arms_of(study)
    assert sum(filled.values()) == RACING
    assert abs(filled["low"] - filled["high"]) <= 1
    given = Assignment.objects.values_list("participant__arm__name", "hit__arm__name", "hit__reward").distinct()
    assert set(given) == {("low", "low", Decimal("0.10")), ("high", "high", Decimal("0.50"))}


@pytest.mark.django_db(transaction=True)
def test_racing_for_the_last_places_of_an_arm_gives_no_more_than_wanted() -> None:
    study = make_study(arms=[{"wanted": 3}], ratings_per_item=RACING)
    people = [make_participant(study=study).pk for _ in range(12)]

    def take(number: int) -> None:
        accept_next(participant_id=people[number])

    failures = together(take, len(people))
    assert [str(error) for error in failures] == ["full"] * 9
    assert Assignment.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_pressing_start_ten_times_at_once_enrols_once() -> None:
    study, worker = make_study(), make_worker()
    assert together(lambda _: make_participant(study=study, worker=worker), 10) == []
    assert Participant.objects.count() == 1
    assert arms_of(study) == {"": 1}


@pytest.mark.django_db(transaction=True)
def test_a_racing_worker_gets_only_one_of_two_studies_that_exclude_each_other() -> None:
    studies = [make_study(ratings_per_item=RACING) for _ in range(2)]
    studies[0].exclude_studies.add(studies[1])
    studies[1].exclude_studies.add(studies[0])
    workers = [make_worker() for _ in range(10)]
    enrolled = {
        (worker.pk, study.pk): make_participant(study=study, worker=worker).pk
        for worker in workers
        for study in studies
    }

    def take(number: int) -> None:
        accept_next(participant_id=enrolled[workers[number // 2].pk, studies[number % 2].pk])

    failures = together(take, 20)
    assert [str(error) for error in failures] == ["took_part"] * 10
    assert Counter(Assignment.objects.values_list("participant__worker", flat=True)) == {each.pk: 1 for each in workers}
