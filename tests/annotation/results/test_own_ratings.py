"""Writers' ratings of their own texts, in the study where other people rate these texts."""

from __future__ import annotations

import io

import pytest

from annotation.models import Study
from annotation.results.frames import study_data, write_study_bundle
from annotation.studies.outputs import set_feed
from generation.models import Suggester
from tests.annotation.offers_helpers import story_study
from tests.annotation.results.exports.helpers import exclude
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


def chain() -> tuple[Study, Study]:
    """Three stories, and a draft that judges them on the same statements."""
    stories = story_study(rounds=1)
    Suggester.objects.update(active=False)
    for seed in range(3):
        make_submission(study=stories, seed=seed)
    statements = [{"topic": "satisfied", "question": "I am happy."}, {"topic": "new", "question": "It is new."}]
    judging = make_study(task_type="likert", items=0, live=False, config={"statements": statements})
    set_feed(study=judging, source=stories, actor="test")
    return stories, judging


def test_the_study_of_third_parties_has_the_writers_ratings() -> None:
    stories, judging = chain()

    own = study_data(judging).own_ratings

    assert own["question"].unique().tolist() == ["satisfied"], "only what both studies ask"
    assert len(own) == 3 and set(own["item"]) <= set(study_data(judging).items["item"])
    expected = {
        each.participant.pseudonym: each.ratings.get(question="satisfied").value for each in stories.submissions.all()
    }
    assert dict(zip(own["writer"], own["value"], strict=True)) == expected


def test_excluded_writers_are_left_out_and_the_bundle_has_the_same() -> None:
    stories, judging = chain()
    first = stories.submissions.order_by("pk").first()
    assert first is not None
    exclude(first)

    own = study_data(judging).own_ratings

    assert len(own) == 2 and first.participant.pseudonym not in set(own["writer"])
    out = io.BytesIO()
    write_study_bundle(judging, out)
    assert b"own_ratings.csv" in out.getvalue()


def test_studies_without_a_source_have_none() -> None:
    assert study_data(make_study(task_type="likert", items=1)).own_ratings.empty
    assert study_data(story_study()).own_ratings.empty
