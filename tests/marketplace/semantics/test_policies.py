"""Review policies: which parameters are read or refused, and the scores.

Expected scores are those of the example in "HIT Review Policies" of the MTurk API reference; parameters and limits
are those of its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from marketplace import review_policies
from marketplace.models import Hit
from marketplace.services.refusals import InvalidParameter
from tests.marketplace.support.policies import EXAMPLE, KNOWN, PLURALITY, known, make_hit, plurality, policy

# --- Reading ------------------------------------------------------------------------------------------------


def test_the_parameters_are_read() -> None:
    read = review_policies.read_known_answers(
        known(
            ApproveIfKnownAnswerScoreIsAtLeast=79,
            ApproveReason="You can count",
            RejectIfKnownAnswerScoreIsLessThan=50,
            RejectReason="No",
            ExtendIfKnownAnswerScoreIsLessThan=79,
        )
    )
    assert read.key == {"q1": frozenset(["2"]), "q2": frozenset(["4"])}
    assert (read.approve_from, read.approve_reason, read.reject_below, read.reject_reason) == (
        79,
        "You can count",
        50,
        "No",
    )
    assert read.extension == review_policies.Extension(79, 5, 0)  # the reference's defaults
    two = review_policies.read_plurality(
        plurality(
            QuestionIds="q1, q2",
            DisregardAssignmentIfRejected="T",
            ExtendIfHITAgreementScoreIsLessThan=100,
            ExtendMaximumAssignments=3,
            ExtendMinimumTimeInSeconds=3600,
        )
    )
    assert (two.questions, two.without_rejected) == (("q1", "q2"), True)
    assert two.extension == review_policies.Extension(100, 3, 3600)
    other_name = policy(PLURALITY, QuestionIDs=["a", "b"], QuestionAgreementThreshold=100)  # as in its examples
    assert review_policies.read_plurality(other_name).questions == ("a", "b")


A, H = "AssignmentReviewPolicy", "HITReviewPolicy"
WRONG: list[tuple[str, dict[str, Any], str]] = [
    (A, plurality(), "The policy must be ScoreMyKnownAnswers/2011-09-01"),
    (H, known(), "The policy must be SimplePlurality/2011-09-01"),
    (A, {"PolicyName": "Mine"}, "not “Mine”"),
    (A, policy(KNOWN), "AnswerKey needs MapEntries"),
    (A, policy(KNOWN, AnswerKey=["2"]), "AnswerKey needs MapEntries"),
    (A, known(ApproveIfKnownAnswerScoreIsAtLeast=102), "a whole number from 0 to 101, not “102”"),
    (A, known(ApproveIfKnownAnswerScoreIsAtLeast="most"), "not “most”"),
    (A, known(ApproveReason=["a", "b"]), "ApproveReason needs one value, not 2"),
    (A, known(ExtendMaximumAssignments=26), "from 2 to 25"),
    (A, known(ExtendMinimumTimeInSeconds=59), "from 60 to 31536000"),
    (A, known(AproveReason="x"), "no parameter AproveReason"),
    (A, {"PolicyName": KNOWN, "Parameters": known()["Parameters"] * 2}, "two parameters AnswerKey"),
    (H, policy(PLURALITY, QuestionAgreementThreshold=50), "from 1 to 15 questions, not 0"),
    (H, plurality(QuestionIds=[f"q{n}" for n in range(16)]), "not 16"),
    (H, policy(PLURALITY, QuestionIds="q"), "QuestionAgreementThreshold is required"),
    (H, plurality(DisregardAssignmentIfRejected="maybe"), "must be T or F"),
    (H, plurality(QuestionIds={"q": ["1"]}), "needs Values, not MapEntries"),
    (H, plurality(ExtendIfHITAgreementScoreIsLessThan=50), "needs ExtendMaximumAssignments and ExtendMinimumTime"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("parameter", "given", "says"), WRONG, ids=[says for *_, says in WRONG])
def test_a_policy_that_cannot_be_carried_out_is_refused(parameter: str, given: dict[str, Any], says: str) -> None:
    policy: dict[str, Any] = {{A: "assignment_review_policy", H: "hit_review_policy"}[parameter]: given}
    with pytest.raises(InvalidParameter) as refused:
        make_hit(**policy)
    assert refused.value.parameter == parameter and says in refused.value.message
    assert not Hit.objects.exists()


# --- Scores -------------------------------------------------------------------------------------------------


def compare(threshold: int, answers: Mapping[str, Mapping[str, Sequence[str]]], questions: str = "q") -> Any:
    given = plurality(QuestionIds=list(questions), QuestionAgreementThreshold=threshold)
    return review_policies.agreement(review_policies.read_plurality(given), answers)


def test_the_example_of_the_reference() -> None:
    found = compare(50, EXAMPLE, "ABCD")
    assert found.answers == {"A": {"coat"}, "B": {"blue"}, "C": {"large"}}
    assert found.scores == {"A": 66, "B": 66, "C": 100}
    assert found.hit_score == 75
    assert {worker: found.worker_score(worker) for worker in "123"} == {"1": 100, "2": 66, "3": 66}


@pytest.mark.parametrize(
    ("threshold", "answers", "agreed"),
    [
        (65, ["a", "a", "b"], "a"),
        (66, ["a", "a", "b"], ""),  # "greater than this value"
        (100, ["a", "a"], "a"),  # the use cases: 100 asks for all to agree
        (100, ["a", "b"], ""),
        (0, ["a", "b"], ""),  # no majority
        (0, ["a", "A"], ""),  # case counts
        (50, [" a ", "a"], "a"),  # spaces around do not
        (50, ["a|b", "b|a"], "a|b"),  # the same values present
        (50, ["a|b", "a"], ""),
        (50, ["x" * 257, "x" * 257, "a"], "a"),  # more than 256 characters are not used
        (50, [], ""),
    ],
)
def test_when_an_answer_is_agreed_on(threshold: int, answers: list[str], agreed: str) -> None:
    found = compare(threshold, {str(number): {"q": [text]} for number, text in enumerate(answers)})
    assert "|".join(sorted(found.answers.get("q", ()))) == agreed


@pytest.mark.parametrize(
    ("key", "answer", "right"),
    [
        (["A"], ["A"], True),
        (["A"], [" A\n"], True),
        (["A"], ["a"], False),
        (["A"], ["A."], False),
        (["A", "B"], ["B", "A"], True),
        (["A", "B"], ["A|B"], True),
        (["A", "B"], ["A"], False),
        (["A"], ["A", "B"], False),
        (["A"], [], False),
        ([], ["A"], False),
        ([], [], True),
    ],
)
def test_known_answers_match_as_a_whole(key: list[str], answer: list[str], right: bool) -> None:
    read = review_policies.read_known_answers(policy(KNOWN, AnswerKey={"q": key}))
    assert review_policies.correct(read, {"q": answer} if answer else {}) == {"q": right}
