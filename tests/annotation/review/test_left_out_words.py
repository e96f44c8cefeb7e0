"""What the figures leave out is said in words, with the same numbers in the database, the report and the bundle."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import timezone

from analysis.data import read_bundle
from analysis.report import write_report
from annotation.models import Arm, Assignment, Hit, HitItem, Rating, Review, Study, Submission
from annotation.platforms.base import Platform
from annotation.results.frames import study_data, write_study_bundle
from annotation.review.pay_decisions import decide_pay
from annotation.review.progress import progress
from annotation.work.excluding import review_submission
from annotation.work.left_out import read_left_out
from tests.factories import make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


def with_one_of_each() -> Study:
    """Six submissions: two count, one of which was rejected; one is excluded, one extra; two are repeats of one
    worker's ratings of one item, from before the database refused them."""
    study = make_study(
        items=1, ratings_per_item=9, reward=Decimal("0.10"), config={"write_first": False, "rate_first": False}
    )
    user = make_researcher("ann")
    kept, excluded, extra = (make_submission(study=study, seed=number) for number in range(3))
    decide_pay(submission=kept, decision="reject", feedback="All the same.", actor="ann", connect=_never)
    review_submission(submission=excluded, decision=Review.Decision.EXCLUDE, note="", user=user)
    Assignment.objects.filter(pk=extra.assignment_id).update(state="released", extra=True)
    Hit.objects.update(n_live=2, n_submitted=2)
    second = make_submission(study=study, seed=4)
    for position in (1, 2):
        _repeat(second, position)
    Arm.objects.filter(study=study).update(shares_items=True)
    return study


def _never(name: str, study: Study) -> Platform:
    raise AssertionError(name)


def _repeat(sent: Submission, position: int) -> None:
    """The same worker's submission of another hit, with a rating of the same item."""
    work = sent.assignment
    hit = Hit.objects.create(study=sent.study, arm=work.hit.arm, position=position, wanted=1, n_live=1, n_submitted=1)
    again = Assignment.objects.create(
        hit=hit,
        participant=sent.participant,
        state="submitted",
        slot=0,
        ordinal=position + 1,
        seed=1,
        order={},
        accepted_at=work.accepted_at,
        expires_at=work.expires_at,
    )
    item = work.hit.items.get()
    HitItem.objects.create(hit=hit, item=item, position=0)
    columns = {"study": sent.study, "participant": sent.participant}
    made = Submission.objects.create(assignment=again, answers=[], seconds=9, received_at=timezone.now(), **columns)
    Rating.objects.create(
        submission=made,
        item=item,
        question="diversity",
        scale="diversity",
        value=3,
        created_at=timezone.now(),
        **columns,
    )


COUNTS = {"unconfirmed": 0, "excluded": 1, "extra": 1, "excluded_by_rule": 0, "repeated_ratings": 2}
WORDS = (
    "Left out of all figures: 1 submission that a person excluded; 1 extra submission that came late, when somebody "
    "else had the place; 2 ratings of items that the same worker had rated before."
)


def test_the_database_the_frames_and_the_bundle_count_the_same(tmp_path: Path) -> None:
    study = with_one_of_each()
    assert read_left_out(study).counts() == COUNTS
    data = study_data(study)
    assert data.left_out == COUNTS
    file = io.BytesIO()
    write_study_bundle(study, file)
    (tmp_path / "study.zip").write_bytes(file.getvalue())
    bundle = read_bundle(tmp_path / "study.zip")
    assert (bundle.left_out, bundle.description.rejected) == (COUNTS, 1)
    assert int(bundle.ratings["value"].notna().sum()) == progress(study).ratings.included == 2
    assert progress(study).left_out_words == WORDS


def test_a_report_says_at_its_top_what_it_leaves_out(tmp_path: Path) -> None:
    study = with_one_of_each()
    page = write_report(study_data(study), out_dir=tmp_path, draws=20, made_at=datetime(2026, 5, 4, tzinfo=UTC))
    text = page.read_text()
    assert text.count(WORDS) == 1
    assert text.index("</header>") < text.index(WORDS) < text.index("<section ")
    assert "The figures include 1 submission whose pay was refused." in text


def test_a_study_that_leaves_nothing_out_says_so() -> None:
    assert progress(make_submission().study).left_out_words == "Nothing is left out of the figures."
