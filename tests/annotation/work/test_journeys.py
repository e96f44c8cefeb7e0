"""Simulated workers walk whole studies over HTTP, from the start page through every arm to the completion code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from annotation.models import Output, Participant, Rating, Step, Study, Submission
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.task_types.simulation import SimulatedWorker
from annotation.work.bots import Bot, Browser
from annotation.work.coded_items import coded_items
from annotation.work.exams import has_passed
from tests.annotation.task_types.journeys import TRAININGS, detection_study, quality_exam, quality_study
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)


def walk(study: Study, url: str, *, workers: int) -> list[Bot]:
    """Careful simulated workers, one after the other, each to the end."""
    bots = []
    for number in range(workers):
        worker = SimulatedWorker.named(f"walker-{number}", "careful")
        bots.append(Bot(study, worker, Browser(url), done=lambda: None))
        bots[-1].walk()
    return bots


def test_every_training_ends_with_a_code(live_server: Any) -> None:
    study = detection_study()
    bots = walk(study, live_server.url, workers=8)
    codes = {bot.code for bot in bots}
    assert len(codes) == 8
    assert codes == set(Participant.objects.values_list("completion_code", flat=True))
    assert Counter(Participant.objects.values_list("arm__name", flat=True)) == dict.fromkeys(TRAININGS, 2)
    pages = {"none": 2, "instructions": 2, "examples": 4, "comparison": 4}
    for arm, count in pages.items():
        steps = Step.objects.filter(assignment__participant__arm__name=arm)
        assert steps.count() == 2 * count, arm
    shown = Rating.objects.filter(question="judgement", item__role="main").values_list("item__external_id", flat=True)
    assert Counter(shown) == {"h1": 4, "h2": 4, "m1": 4, "m2": 4}  # in each arm once
    assert Rating.objects.filter(question="machine_text").count() == 4


def test_explanations_of_a_detection_study_are_drawn_and_coded(live_server: Any) -> None:
    there = detection_study()
    walk(there, live_server.url, workers=8)
    assert Output.objects.filter(study=there, kind="comment").count() == 16
    values: dict[str, Any] = {"items": 0, "live": False, "hits_per_worker": None, "config": {"authors_per_domain": 6}}
    study = make_study(task_type="comment_coding", items_per_hit=3, ratings_per_item=2, **values)
    assert set_feed(study=study, source=there, actor="test") == 6
    authors = study.items.values_list("authors__worker", flat=True)
    assert len(set(authors)) == 6
    publish(study=study, actor="test")
    bots = walk(study, live_server.url, workers=2)
    assert all(bot.code for bot in bots)
    assert {len(item.given) for item in coded_items(study)} == {2}


def test_quality_and_its_exam_end_with_a_code(live_server: Any) -> None:
    exam = quality_exam()
    (bot,) = walk(exam, live_server.url, workers=1)
    assert bot.code
    study = quality_study(exam_study=exam.slug, exam_percent=100)
    taken = Submission.objects.get(study=exam)
    assert Rating.objects.filter(submission=taken, question="quality").count() == 3
    assert isinstance(has_passed(study, taken.participant.worker_id), bool)
    (bot,) = walk(study, live_server.url, workers=1)
    assert bot.code == Participant.objects.get(study=study).completion_code
