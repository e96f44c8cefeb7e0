"""Review policies: the actions that scores cause, and the reports on them.

Expected scores are those of the example in "HIT Review Policies" of the MTurk API reference; result keys and the words
of actions are those of its sample answer of GetReviewResultsForHIT.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from marketplace import clock
from marketplace.models import Assignment, Hit, ReviewEntry, Worker
from marketplace.operations.registry import Call, handlers
from marketplace.services.hits import assignments, due_changes, posting
from marketplace.services.money import payments
from tests.marketplace.semantics.conftest import Clock
from tests.marketplace.support import factories
from tests.marketplace.support.checks import check_all
from tests.marketplace.support.policies import EXAMPLE, KNOWN, PLURALITY, known, make_hit, now_of, plurality, policy


def answer(hit: Hit, worker: Worker | None = None, /, **answers: str) -> Assignment:
    assignment = factories.make_assignment(hit=hit, worker=worker)
    return assignments.submit(assignment_id=assignment.assignment_id, answers=answers)


def results(hit: Hit, level: str) -> list[tuple[str, str, str]]:
    rows = ReviewEntry.objects.filter(hit=hit, level=level, status="").order_by("pk")
    return [(row.question_id, row.key, row.value) for row in rows]


def actions(hit: Hit, level: str = "HIT") -> list[tuple[str, str, str]]:
    rows = ReviewEntry.objects.filter(hit=hit, level=level).exclude(status="").order_by("pk")
    return [(row.key, row.status, row.value) for row in rows]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "score", "state"),
    [
        ({"q1": "2", "q2": "4"}, "100", "Approved"),
        ({"q1": "2", "q2": "5"}, "50", "Submitted"),
        ({"q1": "1"}, "0", "Rejected"),
    ],
)
def test_known_answers_are_scored_when_work_is_submitted(given: dict[str, str], score: str, state: str) -> None:
    terms = known(
        ApproveIfKnownAnswerScoreIsAtLeast=100,
        ApproveReason="You can count",
        RejectIfKnownAnswerScoreIsLessThan=50,
        RejectReason="No",
    )
    hit = make_hit(assignment_review_policy=terms)
    done = answer(hit, None, **given)
    done.refresh_from_db()
    assert done.state == state
    assert done.requester_feedback == {"Approved": "You can count", "Rejected": "No"}.get(state, "")
    right = [str(int(given.get(question) == wanted)) for question, wanted in (("q1", "2"), ("q2", "4"))]
    assert results(hit, "Assignment") == [
        ("q1", "KnownAnswerCorrect", right[0]),
        ("q2", "KnownAnswerCorrect", right[1]),
        ("", "KnownAnswerScore", score),
    ]
    told = f"Reviewed known answers; {right.count('1')}/2 correct"
    decided = {"Approved": [("approve", "Succeeded", "Approved")], "Rejected": [("reject", "Succeeded", "Rejected")]}
    assert actions(hit, "Assignment") == [("review", "Succeeded", told), *decided.get(state, [])]
    check_all()


@pytest.mark.django_db
def test_a_wrong_known_answer_brings_another_worker() -> None:
    """ "Photo Moderation Use Case – Single Worker": one assignment, extended up to three."""
    terms = known(ExtendIfKnownAnswerScoreIsLessThan=80, ExtendMaximumAssignments=3)
    hit = make_hit(assignment_review_policy=terms)
    for total in (2, 3, 3):
        answer(hit, q1="1")
        assert now_of(hit).max_assignments == total
    assert now_of(hit).state == "Reviewable"
    assert actions(hit, "Assignment")[1::2] == [
        ("extend", "Succeeded", "Extended to 2 assignments"),
        ("extend", "Succeeded", "Extended to 3 assignments"),
        ("extend", "Succeeded", "Not extended: the HIT has 3 assignments"),
    ]
    check_all()


@pytest.mark.django_db
def test_a_hit_in_progress_is_not_compared_yet() -> None:
    scored = known(ExtendIfKnownAnswerScoreIsLessThan=80)
    hit = make_hit(assignment_review_policy=scored, hit_review_policy=plurality())
    answer(hit, q1="1")
    assert now_of(hit).state == "Assignable" and actions(hit) == []
    answer(hit, q1="2", q2="4")
    assert now_of(hit).state == "Reviewable" and actions(hit) == [("review", "Succeeded", "Reviewed 2 assignments")]


@pytest.mark.django_db
def test_ten_assignments_are_not_reached_by_extension() -> None:
    terms = known(ExtendIfKnownAnswerScoreIsLessThan=80, ExtendMaximumAssignments=25)
    hit = make_hit(max_assignments=9, assignment_review_policy=terms)
    answer(hit)
    assert now_of(hit).max_assignments == 9
    assert actions(hit, "Assignment")[-1] == ("extend", "Succeeded", "Not extended: the HIT has 9 assignments")


@pytest.mark.django_db
def test_an_extension_that_is_not_covered_fails_and_the_work_is_submitted() -> None:
    terms = known(ExtendIfKnownAnswerScoreIsLessThan=80)
    hit = make_hit(balance="0.60", assignment_review_policy=terms)  # 0.50 and its fee of 20 %
    done = answer(hit, q1="1")
    assert (done.state, now_of(hit).max_assignments, now_of(hit).state) == ("Submitted", 1, "Reviewable")
    entry = ReviewEntry.objects.get(key="extend")
    assert (entry.status, entry.error_code) == ("Failed", "AWS.MechanicalTurk.InsufficientFunds")
    check_all()


@pytest.mark.django_db
def test_answers_are_compared_when_the_hit_is_reviewable() -> None:
    terms = plurality(
        QuestionIds=list("ABCD"),
        ApproveIfWorkerAgreementScoreIsAtLeast=100,
        RejectIfWorkerAgreementScoreIsLessThan=67,
        RejectReason="The others say otherwise.",
    )
    hit = make_hit(max_assignments=3, hit_review_policy=terms)
    done = [answer(hit, None, **{name: each[0] for name, each in given.items()}) for given in EXAMPLE.values()]
    for assignment in done:
        assignment.refresh_from_db()
    assert [each.state for each in done] == ["Approved", "Rejected", "Rejected"]
    assert done[1].requester_feedback == "The others say otherwise."
    assert results(hit, "HIT") == [
        ("A", "AgreedAnswerFound", "true"),
        ("A", "AgreedAnswer", "coat"),
        ("A", "AnswerAgreementScore", "66"),
        ("B", "AgreedAnswerFound", "true"),
        ("B", "AgreedAnswer", "blue"),
        ("B", "AnswerAgreementScore", "66"),
        ("C", "AgreedAnswerFound", "true"),
        ("C", "AgreedAnswer", "large"),
        ("C", "AnswerAgreementScore", "100"),
        ("D", "AgreedAnswerFound", "false"),
        ("", "WorkerAgreementScore", "100"),
        ("", "PluralityAnswersCorrect", "3"),
        ("", "PluralityAnswersIncorrect", "0"),
        *[
            ("", "WorkerAgreementScore", "66"),
            ("", "PluralityAnswersCorrect", "2"),
            ("", "PluralityAnswersIncorrect", "1"),
        ]
        * 2,
        ("", "HitAgreementScore", "75"),
    ]
    assert now_of(hit).state == "Reviewable" and now_of(hit).review_due_at is None
    check_all()


EXTENDING = {"ExtendIfHITAgreementScoreIsLessThan": 100, "ExtendMaximumAssignments": 3}


@pytest.mark.django_db
def test_disagreement_brings_a_third_worker_and_another_review() -> None:
    """ "Categorization and Tagging Use Case": two who do not agree bring a third, with an hour to do it in."""
    terms = plurality(**EXTENDING, ExtendMinimumTimeInSeconds=3600, ApproveIfWorkerAgreementScoreIsAtLeast=100)
    hit = make_hit(max_assignments=2, lifetime=60, hit_review_policy=terms)
    first = answer(hit, q1="a")
    answer(hit, q1="b")
    extended = now_of(hit)
    assert (extended.state, extended.max_assignments, extended.n_available) == ("Assignable", 3, 1)
    assert extended.expires_at > clock.now() + timedelta(minutes=59)
    answer(hit, q1="a")
    assert now_of(hit).state == "Reviewable"
    first.refresh_from_db()
    assert first.state == "Approved"
    assert [entry[0] for entry in actions(hit)] == ["review", "extend", "review", "approve", "approve"]
    answers = [value for question, key, value in results(hit, "HIT") if key == "HitAgreementScore"]
    assert answers == ["0", "100"]
    check_all()


@pytest.mark.django_db
def test_a_hit_that_ended_with_places_left_stays_ended(moving_clock: Clock) -> None:
    """A requester who ends a HIT does not get it back from a policy; nor one that nobody wanted."""
    terms = plurality(**EXTENDING, ExtendMinimumTimeInSeconds=3600)
    hit = make_hit(max_assignments=2, hit_review_policy=terms)
    answer(hit, q1="a")
    posting.set_expiration(hit=hit, expires_at=clock.now() - timedelta(days=1))
    due_changes.bring_up_to_date(hit=hit)
    assert now_of(hit).state == "Reviewable"  # one of one agrees with themselves
    unwanted = make_hit(hit_review_policy=terms)
    due_changes.bring_up_to_date(hit=unwanted, now=moving_clock.move(hours=2))
    assert now_of(unwanted).state == "Reviewable"
    assert actions(unwanted)[-1] == ("extend", "Succeeded", "Not extended: the HIT has expired with places left")
    check_all()


@pytest.mark.django_db
def test_work_that_is_disregarded_is_left_out() -> None:
    scored = policy(KNOWN, AnswerKey={"gold": ["yes"]})
    terms = plurality(
        DisregardAssignmentIfKnownAnswerScoreIsLessThan=80,
        DisregardAssignmentIfRejected="T",
        ApproveIfWorkerAgreementScoreIsAtLeast=100,
    )
    hit = make_hit(max_assignments=4, assignment_review_policy=scored, hit_review_policy=terms)
    careless = answer(hit, gold="no", q1="b")
    rejected = answer(hit, gold="yes", q1="b")
    assignments.reject(assignment=rejected, feedback="No.")
    right = [answer(hit, gold="yes", q1="a") for _ in range(2)]
    states = Assignment.objects.values_list("state", flat=True)
    assert states.get(pk=careless.pk) == "Submitted" and states.get(pk=rejected.pk) == "Rejected"
    assert {states.get(pk=each.pk) for each in right} == {"Approved"}
    assert ("q1", "AnswerAgreementScore", "100") in results(hit, "HIT")


@pytest.mark.django_db
def test_earlier_decisions_do_not_change() -> None:
    terms = plurality(ApproveIfWorkerAgreementScoreIsAtLeast=100, RejectIfWorkerAgreementScoreIsLessThan=1)
    hit = make_hit(max_assignments=4, hit_review_policy=terms)
    first, second, third = (answer(hit, q1=text) for text in "aab")
    assignments.reject(assignment=first, feedback="No.")
    assignments.approve(assignment=second)
    assignments.approve(assignment=third)
    answer(hit, q1="a")
    assert actions(hit)[1:] == [
        ("approve", "Failed", "Assignment was in an invalid state for this operation."),
        ("approve", "Succeeded", "Already approved"),
        ("reject", "Failed", "Assignment was in an invalid state for this operation."),
        ("approve", "Succeeded", "Approved"),
    ]
    assert set(ReviewEntry.objects.filter(status="Failed").values_list("error_code", flat=True)) == {
        "AWS.MechanicalTurk.InvalidAssignmentState"
    }
    check_all()


@pytest.mark.django_db
def test_expiry_is_reviewed_by_the_next_who_looks(moving_clock: Clock) -> None:
    hit = make_hit(max_assignments=3, hit_review_policy=plurality(ApproveIfWorkerAgreementScoreIsAtLeast=100))
    done = answer(hit, q1="a")
    moving_clock.move(hours=2)
    report = ask(hit)["HITReviewReport"]
    done.refresh_from_db()
    assert done.state == "Approved" and report["ReviewActions"][-1]["ActionName"] == "approve"
    assert payments.available(hit.requester) == Decimal("99.40")
    check_all()


def ask(hit: Hit, **given: Any) -> dict[str, Any]:
    """ListReviewPolicyResultsForHIT."""
    call = Call(requester=hit.requester, parameters={"HITId": hit.hit_id, **given}, now=clock.now())
    return handlers()["ListReviewPolicyResultsForHIT"](call)


@pytest.mark.django_db
def test_reports_in_the_shape_of_the_api() -> None:
    scored = known(ApproveIfKnownAnswerScoreIsAtLeast=50)
    hit = make_hit(assignment_review_policy=scored, hit_review_policy=plurality())
    done = answer(hit, q1="2")
    report = ask(hit, MaxResults=100)
    assert report["AssignmentReviewPolicy"] == {"PolicyName": KNOWN}
    assert report["HITReviewPolicy"] == {"PolicyName": PLURALITY}
    first = report["AssignmentReviewReport"]["ReviewResults"][0]
    assert first.pop("ActionId").isalnum()
    assert first == {
        "SubjectId": done.assignment_id,
        "SubjectType": "Assignment",
        "QuestionId": "q1",
        "Key": "KnownAnswerCorrect",
        "Value": "1",
    }
    approved = report["AssignmentReviewReport"]["ReviewActions"][1]
    assert approved.pop("ActionId").isalnum() and approved.pop("CompleteTime")
    assert approved == {
        "ActionName": "approve",
        "TargetId": done.assignment_id,
        "TargetType": "Assignment",
        "Status": "Succeeded",
        "Result": "Approved",
    }
    assert report["HITReviewReport"]["ReviewResults"][-1] | {"ActionId": ""} == {
        "ActionId": "",
        "SubjectId": hit.hit_id,
        "SubjectType": "HIT",
        "Key": "HitAgreementScore",
        "Value": "100",
    }
    only = ask(hit, PolicyLevels=["HIT"], RetrieveActions=False)
    assert "AssignmentReviewReport" not in only and only["HITReviewReport"]["ReviewActions"] == []
    assert ask(hit, RetrieveResults=False)["HITReviewReport"]["ReviewResults"] == []
    assert ask(make_hit()).keys() == {"HITId"}


@pytest.mark.django_db
def test_reports_come_in_pages() -> None:
    hit = make_hit(assignment_review_policy=known(), hit_review_policy=plurality())
    answer(hit, q1="2")
    seen: list[str] = []
    token: dict[str, str] = {}
    for _ in range(20):
        page = ask(hit, MaxResults=2, **token)
        reports = (page["AssignmentReviewReport"], page["HITReviewReport"])
        ids = [each["ActionId"] for report in reports for rows in report.values() for each in rows]
        assert len(ids) <= 2
        seen += ids
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert len(seen) == len(set(seen)) == ReviewEntry.objects.count() > 4
