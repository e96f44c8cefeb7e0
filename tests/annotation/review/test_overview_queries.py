"""The study's page in the console takes few queries, with all that a study can have."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Arm, Assignment, Flag, Posting, Review, Study, Submission
from tests.annotation.console_helpers import as_role
from tests.factories import make_assignment, make_participant, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db
ARMS: list[dict[str, Any]] = [{"name": "a", "reward": "0.50"}, {"name": "b", "reward": "0.20"}]
RULES = {"gold_share_below": 0.1, "flags": ["too_fast"], "different_flags": 2}


def full_study() -> Study:
    """Arms with different pay, items in several hits, a platform, exclusion rules, gold items, flags, reviews, late and
    repeated work, comments, people and bots."""
    values: dict[str, Any] = {"hits_per_worker": 1, "consent": "Yes?", "exclusion": RULES}
    study = make_study(items=4, ratings_per_item=4, arms=ARMS, **values)
    study.items.filter(position=0).update(role="gold")
    Arm.objects.filter(study=study).update(shares_items=True)
    ada = make_researcher("ada")
    for number in range(7):
        sent = make_submission(study=study, seed=number, profile="careless", feedback="Fine." if number else "")
        Flag.objects.create(submission=sent, reason="too_fast" if number == 3 else "same_text")
        if number < 2:
            Review.objects.create(submission=sent, decision="include" if number else "exclude", user=ada)
    Assignment.objects.filter(pk=sent.assignment_id).update(state="released", extra=True)
    make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    make_assignment(study=study)
    Posting.objects.create(study=study, platform="mturk", external_id="H1", hit=study.hits.order_by("position")[0])
    Assignment.objects.filter(submission__in=Submission.objects.filter(study=study)[:2]).update(
        posting=study.postings.get()
    )
    return study


def test_the_page_of_a_study_with_all_features_takes_few_queries() -> None:
    study = full_study()
    client = as_role("owner", study)
    url = reverse("console_study", args=[study.slug])
    client.get(url)
    with CaptureQueriesContext(connection) as seen:
        page = client.get(url).content.decode()
    assert "Fine." in page and "arm" in page.lower()
    assert len(seen) <= 28, [query["sql"][:200] for query in seen.captured_queries]
