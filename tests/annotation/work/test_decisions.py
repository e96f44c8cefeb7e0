"""People's decisions on submissions are appended and audited, and may release the submission's place."""

from __future__ import annotations

import random
import threading

import pytest
from django.contrib.auth.models import User
from django.db import connections

from annotation.models import Assignment, AuditEntry, Hit, Participant, Review, Study, Submission
from annotation.work.allocation import NothingLeft, accept_next
from annotation.work.excluding import exclude_worker, include_worker, review_submission
from annotation.work.standing import summary
from common.problems import Invalid
from tests.annotation.pages import WorkerBrowser
from tests.factories import make_assignment, make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return make_researcher("rev")


@pytest.fixture
def submission() -> Submission:
    return make_submission()


def exclude(submission: Submission, user: User, *, release: bool = True) -> None:
    review_submission(submission=submission, decision="exclude", note="", user=user, release=release)


def include(submission: Submission, user: User) -> None:
    review_submission(submission=submission, decision="include", note="", user=user)


def state(submission: Submission) -> tuple[str, int, int]:
    """Of its assignment, and how its hit is filled."""
    assignment = Assignment.objects.select_related("hit").get(submission=submission)
    return assignment.state, assignment.hit.n_live, assignment.hit.n_submitted


# --- decisions ---


def test_the_newest_decision_counts_and_the_earlier_ones_stay(user: User, submission: Submission) -> None:
    review_submission(submission=submission, decision="exclude", note="copied", user=user)
    review_submission(submission=submission, decision="include", note="asked them", user=user)
    assert list(submission.reviews.values_list("decision", "note")) == [
        ("include", "asked them"),
        ("exclude", "copied"),
    ]
    entry = AuditEntry.objects.filter(study=submission.study, action="review").latest("pk")
    assert entry.actor == "rev"
    assert (entry.detail["old"], entry.detail["new"], entry.detail["note"]) == ("exclude", "include", "asked them")


def test_pressing_the_button_twice_is_one_decision(user: User, submission: Submission) -> None:
    first = review_submission(submission=submission, decision="exclude", note="", user=user)
    assert review_submission(submission=submission, decision="exclude", note="", user=user) == first
    assert Review.objects.count() == 1


def test_values_that_cannot_be_stored_are_refused(user: User, submission: Submission) -> None:
    with pytest.raises(Invalid) as caught:
        review_submission(submission=submission, decision="maybe", note="x" * 501, user=user)
    assert [problem.where for problem in caught.value.problems] == ["decision", "note"]
    with pytest.raises(Invalid):
        exclude_worker(participant=submission.participant, note="x" * 501, user=user)
    assert not Review.objects.exists()


# --- places ---


def test_leaving_out_keeps_the_place_unless_it_is_released(user: User, submission: Submission) -> None:
    exclude(submission, user, release=False)
    assert state(submission) == ("submitted", 1, 1)
    exclude(submission, user)
    assert state(submission) == ("released", 0, 0)
    assert Review.objects.count() == 1
    assert AuditEntry.objects.filter(action="release", detail__submission=submission.pk).count() == 1
    exclude(submission, user)
    assert state(submission) == ("released", 0, 0)


def test_somebody_else_fills_a_released_place(user: User) -> None:
    study = make_study(items=1, ratings_per_item=2)
    first, second = (make_submission(study=study) for _ in range(2))
    exclude(first, user)
    third = make_submission(study=study)
    assert third.assignment.slot == first.assignment.slot != second.assignment.slot
    assert state(third) == ("submitted", 2, 2)


def test_an_excluded_worker_gets_neither_that_hit_nor_more_hits_than_allowed(user: User) -> None:
    study = make_study(items=3, ratings_per_item=1, hits_per_worker=2)
    worker = make_participant(study=study)
    first = make_submission(participant=worker)
    exclude(first, user)
    second = make_submission(participant=worker)
    assert second.assignment.hit != first.assignment.hit
    assert second.assignment.ordinal == 2
    with pytest.raises(NothingLeft, match="limit"):
        accept_next(participant_id=worker.pk)


def test_a_released_hit_is_never_given_to_the_same_worker_again(user: User) -> None:
    study = make_study(items=1, ratings_per_item=2, hits_per_worker=None)
    worker = make_participant(study=study)
    exclude(make_submission(participant=worker), user)
    with pytest.raises(NothingLeft, match="done"):
        accept_next(participant_id=worker.pk)
    assert not summary(worker.pk).may_go_on


def test_an_excluded_worker_keeps_the_completion_code(user: User, submission: Submission) -> None:
    exclude(submission, user)
    found = summary(submission.participant_id)
    assert (found.completion_code, found.n_submitted) == (submission.participant.completion_code, 1)


def test_included_again_it_gets_its_place_back_while_one_is_free(user: User) -> None:
    study = make_study(items=1, ratings_per_item=2)
    first, second = (make_submission(study=study) for _ in range(2))
    exclude(first, user)
    include(first, user)
    assert state(first) == ("submitted", 2, 2)
    exclude(second, user)
    exclude(first, user)
    assert make_submission(study=study).assignment.slot == 0
    include(first, user)
    assert state(first) == ("submitted", 2, 2)
    first.assignment.refresh_from_db()
    assert first.assignment.slot == 1
    assert AuditEntry.objects.filter(action="take back place").count() == 2


def test_included_again_it_stays_released_if_the_place_was_filled(user: User) -> None:
    study = make_study(items=1, ratings_per_item=1)
    first = make_submission(study=study)
    exclude(first, user)
    make_submission(study=study)
    include(first, user)
    assert state(first) == ("released", 1, 1)
    assert first.reviews.first().decision == "include"  # type: ignore[union-attr]


def test_a_worker_is_left_out_in_one_step(user: User) -> None:
    study = make_study(items=3, ratings_per_item=1, hits_per_worker=None)
    worker = make_participant(study=study)
    sent = [make_submission(participant=worker) for _ in range(2)]
    open_one = make_assignment(participant=worker)
    assert exclude_worker(participant=worker, note="a script", user=user, release=True) == 2
    assert [state(each) for each in sent] == [("released", 0, 0)] * 2
    assert set(Review.objects.values_list("decision", "note")) == {("exclude", "a script")}
    open_one.refresh_from_db()
    assert open_one.state == "accepted"
    assert exclude_worker(participant=worker, note="a script", user=user, release=True) == 2
    assert Review.objects.count() == 2
    assert exclude_worker(participant=make_participant(study=make_study()), note="", user=user) == 0


def test_including_a_worker_again_undoes_what_the_exclusion_did_and_no_more(user: User) -> None:
    study = make_study(items=4, ratings_per_item=1, hits_per_worker=None)
    worker = make_participant(study=study)
    bad, released, plain = (make_submission(participant=worker, seed=seed) for seed in (1, 2, 3))
    review_submission(submission=bad, decision="exclude", note="copied", user=user)
    exclude_worker(participant=worker, note="a script", user=user, release=True)
    assert include_worker(participant=worker, note="asked them", user=user) == 2
    latest = {each.pk: each.reviews.first().decision for each in (bad, released, plain)}  # type: ignore[union-attr]
    assert latest == {bad.pk: "exclude", released.pk: "include", plain.pk: "include"}
    assert [state(each)[0] for each in (bad, released, plain)] == ["released", "submitted", "submitted"]
    worker.refresh_from_db()
    assert worker.excluded_at is None
    assert accept_next(participant_id=worker.pk).new
    assert include_worker(participant=worker, note="", user=user) == 0


def test_an_excluded_worker_gets_no_more_hits_and_the_page_says_so_kindly(user: User) -> None:
    study = make_study(items=3, hits_per_worker=None)
    worker = make_submission(study=study).participant
    exclude_worker(participant=worker, note="a script", user=user)
    with pytest.raises(NothingLeft, match="excluded"):
        accept_next(participant_id=worker.pk)
    assert not summary(worker.pk).may_go_on
    page = WorkerBrowser(worker).get().content.decode()
    assert "There are no more tasks for you in this study." in page
    assert worker.completion_code in page
    assert "Next task" not in page
    other = make_participant(study=study)
    assert accept_next(participant_id=other.pk).new


def test_excluding_a_worker_again_keeps_the_first_date(user: User) -> None:
    worker = make_submission(study=make_study(items=1)).participant
    exclude_worker(participant=worker, note="a script", user=user)
    worker.refresh_from_db()
    first = worker.excluded_at
    exclude_worker(participant=worker, note="really", user=user)
    worker.refresh_from_db()
    assert worker.excluded_at == first
    assert AuditEntry.objects.filter(action="exclude worker").count() == 1


# --- races ---


def check_places(study: Study) -> None:
    for hit in Hit.objects.filter(study=study):
        states = list(hit.assignments.values_list("state", flat=True))
        assert hit.n_submitted == states.count("submitted")
        assert hit.n_live == states.count("submitted") + states.count("accepted") <= hit.wanted


@pytest.mark.django_db(transaction=True)
def test_releasing_and_using_again_while_others_take_places(user: User) -> None:
    study = make_study(items=3, ratings_per_item=4, hits_per_worker=None)
    sent = [make_submission(study=study) for _ in range(6)]
    waiting = [make_participant(study=study).pk for _ in range(20)]
    failures: list[BaseException] = []

    def review(number: int) -> None:
        rng = random.Random(number)
        for _ in range(12):
            chosen = rng.choice(sent)
            rng.choice([exclude, include])(chosen, user)
            if rng.random() < 0.2:
                participant = Participant.objects.get(pk=chosen.participant_id)
                exclude_worker(participant=participant, note="", user=user, release=True)
            elif rng.random() < 0.2:
                include_worker(participant=Participant.objects.get(pk=chosen.participant_id), note="", user=user)

    def take(number: int) -> None:
        for participant in waiting[number * 5 : number * 5 + 5]:
            try:
                accept_next(participant_id=participant)
            except NothingLeft as nothing:
                assert nothing.reason in ("done", "taken")

    def run(number: int) -> None:
        try:
            (review if number % 2 else take)(number // 2)
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    check_places(study)
