"""Flags for every task type: answers given too fast, and a text that the study already has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Flag, Participant, Study, Submission, TextPrint
from annotation.work.answers import submit_step
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
TEXT = "Did you lock it, I wonder?"


@pytest.fixture
def study() -> Study:
    return make_study(items=4, ratings_per_item=6, hits_per_worker=None)


def send(participant: Participant, text: str, *, seconds: float = 60.0) -> Submission:
    """Complete an absHDS hit with this text as the worker's own."""
    assignment = make_assignment(participant=participant)
    started = timezone.now() - timedelta(seconds=seconds)
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=started)
    for number, data in enumerate(({"own": text}, {"quality": "4"}, {"diversity": "2"})):
        outcome = submit_step(
            assignment_id=assignment.pk, participant_id=participant.pk, number=number, data=data, timing={}
        )
    assert outcome.kind == "submitted"
    return Submission.objects.get(assignment=assignment)


def flags_of(submission: Submission, reason: str) -> list[tuple[str, int | None]]:
    return list(submission.flags.filter(reason=reason).values_list("detail", "other_id"))


# --- too fast ---


def test_a_hit_sent_too_fast_to_read_is_flagged_with_its_time(study: Study) -> None:
    fast, slow = make_participant(study=study), make_participant(study=study)
    [(detail, other)] = flags_of(send(fast, "One text of mine", seconds=2), "too_fast")
    assert detail.startswith("3 questions in 2.")
    assert other is None
    assert flags_of(send(slow, "Another text of mine", seconds=30), "too_fast") == []


# --- the same text ---


def test_the_same_text_from_somebody_else_is_flagged_with_where_it_was(study: Study) -> None:
    first, second = make_participant(study=study), make_participant(study=study)
    original = send(first, TEXT)
    copy = send(second, "  did you LOCK it — i wonder ")
    assert flags_of(original, "same_text") == []
    detail = f"“did you LOCK it — i wonder” is also in submission {original.pk} by {first.pseudonym}."
    assert flags_of(copy, "same_text") == [(detail, original.pk)]


def test_the_workers_own_earlier_text_counts_before_that_of_others(study: Study) -> None:
    first, second = make_participant(study=study), make_participant(study=study)
    send(first, TEXT)
    own = send(second, "Something else of mine")
    again = send(second, "something else of MINE!")
    detail = f"“something else of MINE!” is also in submission {own.pk} by the same worker."
    assert flags_of(again, "same_text") == [(detail, own.pk)]
    third = send(make_participant(study=study), "Something else of mine.")
    assert flags_of(third, "same_text")[0][0].endswith(f"by {second.pseudonym}, and in 1 other submission.")


def test_other_words_short_texts_and_other_studies_are_not_flagged(study: Study) -> None:
    send(make_participant(study=study), TEXT)
    send(make_participant(study=study), "Not sure")
    for text in ("Did you lock it, we wonder?", "Not sure"):
        assert flags_of(send(make_participant(study=study), text), "same_text") == []
    elsewhere = make_study(items=1)
    assert flags_of(send(make_participant(study=elsewhere), TEXT), "same_text") == []


def test_a_text_twice_in_one_submission_is_flagged() -> None:
    study = make_study(task_type="pairwise", items=2, items_per_hit=2)
    assignment = make_assignment(study=study)
    Assignment.objects.update(accepted_at=timezone.now() - timedelta(minutes=1))
    for number in range(2):
        submit_step(
            assignment_id=assignment.pk,
            participant_id=assignment.participant_id,
            number=number,
            data={"better": "1", "reason": "It is simply better."},
            timing={},
        )
    [(detail, other)] = flags_of(Submission.objects.get(), "same_text")
    assert detail == "“It is simply better.” is in this submission more than once."
    assert other is None


def test_simulated_workers_are_not_flagged_for_either(study: Study) -> None:
    make_submission(participant=make_participant(study=study, synthetic=True))
    make_submission(participant=make_participant(study=study, synthetic=True))
    bot = send(make_participant(study=study, synthetic=True), TEXT, seconds=0.1)
    send(make_participant(study=study, synthetic=True), TEXT, seconds=0.1)
    assert not Flag.objects.filter(reason__in=["same_text", "too_fast"]).exists()
    # A person who sends what a bot sent is flagged.
    assert flags_of(send(make_participant(study=study), TEXT), "same_text")[0][1] == bot.pk


def test_a_retry_of_the_last_step_flags_nothing_and_stores_no_second_print(study: Study) -> None:
    participant = make_participant(study=study)
    submission = send(participant, TEXT)
    outcome: Any = submit_step(
        assignment_id=submission.assignment_id,
        participant_id=participant.pk,
        number=2,
        data={"diversity": "2"},
        timing={},
    )
    assert (outcome.kind, outcome.complete) == ("repeated", True)
    assert TextPrint.objects.count() == 1
    assert not Flag.objects.exists()
