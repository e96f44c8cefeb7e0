"""Every figure of the overview that mixes simulated work with people's says so beside it."""

from __future__ import annotations

import re

import pytest

from annotation.models import Flag, Study
from annotation.review.progress import progress
from annotation.work.ending import return_assignment
from tests.annotation.console.test_study_pages import text_of
from tests.annotation.console_helpers import as_role
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def mixed() -> Study:
    """One submission by a person and two by simulated workers; one of each is at work, and one of each gave up."""
    study = make_study(items=2, ratings_per_item=9, arms=[{"name": "low"}])
    flagged = [
        make_submission(study=study, participant=make_participant(study=study, synthetic=synthetic), seed=seed)
        for seed, synthetic in enumerate((False, True, True))
    ]
    Flag.objects.all().delete()
    for submission in flagged[:2]:
        Flag.objects.create(submission=submission, reason="too_fast")
    for synthetic in (False, True):
        make_assignment(study=study, participant=make_participant(study=study, synthetic=synthetic))
        given_back = make_assignment(study=study, participant=make_participant(study=study, synthetic=synthetic))
        return_assignment(assignment_id=given_back.pk, participant_id=given_back.participant_id)
    return study


def small_print(page: str) -> dict[str, str]:
    """The small print of each tile."""
    tiles = re.findall(r"<div><dt>([^<]*)</dt><dd>(.*?)</dd></div>", page.partition('class="tiles"')[2], re.S)
    return {name: " ".join(re.sub(r"<[^>]*>", " ", text).split()) for name, text in tiles}


def test_simulated_work_is_counted_apart_in_every_figure() -> None:
    simulated = progress(mixed()).simulated
    assert simulated == {"items": 0, "in_progress": 1, "not_finished": 1, "flagged": 1, "per_hour": 2}


def test_items_that_simulated_workers_completed_are_counted() -> None:
    study = make_study(items=2, ratings_per_item=1)
    for synthetic in (False, True):
        make_submission(study=study, participant=make_participant(study=study, synthetic=synthetic))
    found = progress(study)
    assert (found.items_done, found.simulated["items"]) == (2, 1)


def test_the_overview_says_simulated_beside_every_mixed_figure() -> None:
    study = mixed()
    page = text_of(as_role("viewer", study), "console_study", study.slug)
    tiles = small_print(page)
    assert tiles["Working now"] == "2 1 simulated"
    assert "1 simulated" in tiles["Not finished"]
    assert "simulated" in tiles["Ratings included"]
    assert re.search(r"3 of 18</strong> <span[^>]*>2 simulated</span>", page)
    assert re.search(r"Submissions per hour</h3>\s*<p[^>]*>2 of 3 simulated", page)
    assert re.search(r"2 flagged submissions</a> <span[^>]*>1 simulated</span>", page)


def test_figures_of_people_alone_say_nothing_about_simulation() -> None:
    study = make_study(items=1, ratings_per_item=2)
    make_submission(study=study)
    page = text_of(as_role("viewer", study), "console_study", study.slug)
    assert "simulated" not in page.lower()
