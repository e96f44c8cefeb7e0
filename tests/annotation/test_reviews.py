"""People's decisions on submissions are appended and audited."""

import pytest
from django.contrib.auth.models import User

from annotation.models import AuditEntry, Review, Submission
from annotation.services.reviews import review_submission
from annotation.services.studies import Invalid
from tests.factories import make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return User.objects.create_user("rev")


@pytest.fixture
def submission() -> Submission:
    return make_submission()


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


def test_what_cannot_be_stored_is_refused(user: User, submission: Submission) -> None:
    with pytest.raises(Invalid) as caught:
        review_submission(submission=submission, decision="maybe", note="x" * 501, user=user)
    assert [problem.field for problem in caught.value.problems] == ["decision", "note"]
    assert not Review.objects.exists()
