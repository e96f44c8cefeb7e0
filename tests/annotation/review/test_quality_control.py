"""Checks of a whole study: every rule on planted cases, each flag once, and nothing else changes."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from annotation.models import Flag, QualityCheck, Review, Study, Submission
from annotation.review.quality_control import check_due, check_quality, due_studies
from annotation.task_types.registry import get_type
from annotation.work.answers import submit_step
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, rate, someone
from tests.factories import make_assignment, make_study

pytestmark = pytest.mark.django_db


def flags_of(submission: Submission) -> dict[str, tuple[float | None, float | None]]:
    return {flag.reason: (flag.value, flag.threshold) for flag in submission.flags.all()}


def test_a_wrong_gold_answer_is_flagged_on_submission_with_its_share_and_threshold() -> None:
    study = gold_study()
    wrong, right = rate(someone(study), gold=7), rate(someone(study))
    assert flags_of(wrong) == {"gold_wrong": (0.0, 0.7)}
    assert flags_of(right) == {}


def test_attention_and_contradiction_and_speed_are_flagged_on_submission() -> None:
    attention = {"sample_id": "a", "text": "Please answer 1.", "attention:lively": "1"}
    opposites = {"opposites": [{"first": "lively", "second": "dull"}]}
    study = gold_study([*MAIN, attention], quality_control=opposites)
    found = rate(someone(study), main=6, dull=7, seconds=2.0)
    assert set(flags_of(found)) == {"attention_failed", "contradictory", "too_fast"}
    assert flags_of(found)["too_fast"][0] == pytest.approx(0.5, abs=0.1)  # 2 s for 4 questions


def test_thresholds_come_from_the_study() -> None:
    study = gold_study(quality_control={"gold_wrong": None, "too_fast": 20.0})
    assert set(flags_of(rate(someone(study), gold=7))) == {"too_fast"}


def with_one_odd_worker() -> tuple[Study, list[Submission]]:
    """A study with six workers, and what the one who answers the opposite of the others has sent."""
    rows = [{"sample_id": f"m{number}", "text": f"Owl number {number}."} for number in range(12)]
    study = gold_study(rows, values={"items_per_hit": 6, "ratings_per_item": 12})
    for main in (5, 5, 6, 6, 5):
        worker = someone(study)
        rate(worker, main=main, dull=2)
        rate(worker, main=main, dull=2)
    odd = someone(study)
    return study, [rate(odd, main=1, dull=7), rate(odd, main=1, dull=7)]


def test_a_worker_far_from_the_others_is_flagged_on_all_submissions() -> None:
    study, odd = with_one_odd_worker()
    check = check_quality(study=study, actor="ann")
    assert check.flags["far_from_others"] == 2
    flagged = Flag.objects.filter(reason="far_from_others").values_list("submission", flat=True)
    assert set(flagged) == {submission.pk for submission in odd}


def test_nobody_is_far_from_others_who_rate_texts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = with_one_odd_worker()
    monkeypatch.setattr(get_type(study.task_type).__class__, "own_work", True)
    assert check_quality(study=study, actor="ann").flags.get("far_from_others", 0) == 0


def write(study: Study, text: str) -> Submission:
    """One response by somebody new."""
    assignment = make_assignment(study=study)
    outcome = submit_step(
        assignment_id=assignment.pk,
        participant_id=assignment.participant_id,
        number=0,
        data={"response-1": text},
        timing={},
    )
    assert outcome.kind == "submitted"
    return Submission.objects.get(assignment=assignment)


def test_gibberish_and_other_languages_are_found_by_the_check_only() -> None:
    study = make_study(task_type="production", items=1, ratings_per_item=6, config={"responses": 1})
    spanish = "No sé qué decir, pero creo que mañana lloverá en la ciudad."
    made = [write(study, text) for text in ("asdkjh qwoeiu zxmnb fghjk lkjhg", spanish, "I have no idea yet.")]
    later = ["gibberish", "language"]
    assert not Flag.objects.filter(reason__in=later).exists()
    check_quality(study=study, actor="ann")
    found = [list(each.flags.filter(reason__in=later).values_list("reason", flat=True)) for each in made]
    assert found == [["gibberish"], ["language"], []]


def test_checking_again_adds_no_flag_and_reviews_and_pay_stay() -> None:
    study = gold_study()
    rate(someone(study), gold=7)
    first = check_quality(study=study, actor="ann")
    before = list(Flag.objects.values_list("pk", flat=True))
    second = check_quality(study=study, actor="ann")
    assert (first.flags, second.flags) == ({}, {})
    assert list(Flag.objects.values_list("pk", flat=True)) == before
    assert not Review.objects.exists()


def test_the_database_refuses_the_same_flag_twice() -> None:
    submission = rate(someone(gold_study()), gold=7)
    with pytest.raises(IntegrityError), transaction.atomic():
        Flag.objects.create(submission=submission, reason="gold_wrong", place="submission")
    Flag.objects.create(submission=submission, reason="gold_wrong", place="elsewhere")


def test_a_check_makes_up_for_flags_that_were_never_stored() -> None:
    study = gold_study(quality_control={"gold_wrong": None})
    submission = rate(someone(study), gold=7)
    Study.objects.filter(pk=study.pk).update(quality_control={})
    study.refresh_from_db()
    check = check_quality(study=study, actor="ann")
    assert check.flags == {"gold_wrong": 1}
    assert flags_of(submission) == {"gold_wrong": (0.0, 0.7)}


def test_texts_that_arrived_at_the_same_moment_are_found_by_the_check() -> None:
    off = {"same_text": None}
    study = make_study(
        task_type="production", items=1, ratings_per_item=6, config={"responses": 1}, quality_control=off
    )
    first, second = (write(study, "I heard that twice today.") for _ in range(2))
    assert not Flag.objects.filter(reason="same_text").exists()
    Study.objects.filter(pk=study.pk).update(quality_control={})
    study.refresh_from_db()
    check_quality(study=study, actor="ann")
    assert [flag.other_id for flag in second.flags.filter(reason="same_text")] == [first.pk]
    assert not first.flags.filter(reason="same_text").exists()


def test_the_night_checks_studies_with_new_work_only() -> None:
    study = gold_study()
    assert check_due() == 0
    rate(someone(study))
    assert due_studies() == [study]
    assert check_due() == 1
    assert (check_due(), QualityCheck.objects.count()) == (0, 1)
    rate(someone(study))
    assert check_due() == 1


def test_a_check_cannot_be_rewritten() -> None:
    study = gold_study()
    check = check_quality(study=study, actor="ann")
    with pytest.raises(IntegrityError), transaction.atomic():
        QualityCheck.objects.filter(pk=check.pk).update(submissions=9)


def test_gold_items_are_not_judged_as_items() -> None:
    study = gold_study([*MAIN, GOLD])
    assert sorted(hit.places.count() for hit in study.hits.all()) == [2, 2, 2, 2]
    assert all(hit.places.filter(item__role="gold").count() == 1 for hit in study.hits.all())
