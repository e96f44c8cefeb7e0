"""Items that a type draws at random from another study's texts: once, in the draft, and never again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Item, ItemFeed, Study
from annotation.studies.applying import apply
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.studies.outputs import feed_items, set_feed, set_follow
from annotation.studies.storing import change_study
from annotation.studies.study_files import read_study_file
from annotation.work.excluding import review_submission
from common.problems import Invalid
from tests.annotation.task_types.journeys import detection_study
from tests.factories import make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db


def explained(submissions: int = 4) -> Study:
    """A detection study with two explanations in each submission."""
    study = detection_study(training="none", ratings_per_item=4)
    for _ in range(submissions):
        make_submission(study=study)
    return study


def draft(**config: Any) -> Study:
    return make_study(task_type="comment_coding", items=0, live=False, hits_per_worker=None, config=config)


def test_one_comment_of_each_drawn_author_becomes_an_item() -> None:
    there, study = explained(), draft(authors_per_domain=3)
    assert set_feed(study=study, source=there, actor="ann") == 3
    authors = [item.authors.get().worker_id for item in study.items.all()]
    assert len(set(authors)) == 3
    payload = Item.objects.filter(study=study).order_by("position")[0].payload
    assert payload["domain"] == "story"
    assert payload["text"].startswith("Once upon a time there was a")
    assert payload["answer"].startswith(("Definitely ", "Possibly "))


def test_the_same_seed_draws_the_same_again_and_another_seed_does_not() -> None:
    there, study = explained(8), draft(authors_per_domain=3)
    names = []
    for seed in (1, 1, 2):
        change_study(study=study, config=study.config | {"draw_seed": seed}, actor="ann")
        study.refresh_from_db()
        set_feed(study=study, source=there, actor="ann")
        names.append(list(study.items.order_by("position").values_list("external_id", flat=True)))
    assert names[0] == names[1] != names[2]


def test_excluded_submissions_are_not_drawn_and_too_few_authors_are_refused() -> None:
    there, study = explained(), draft(authors_per_domain=4)
    submission = there.submissions.order_by("pk")[0]
    review_submission(submission=submission, decision="exclude", note="", user=make_researcher("reviewer"))
    with pytest.raises(Invalid, match="3 authors wrote comments, but 4 are to be drawn"):
        set_feed(study=study, source=there, actor="ann")
    assert not ItemFeed.objects.exists()


def test_a_study_without_explanations_is_refused() -> None:
    with pytest.raises(Invalid, match="has no comments yet"):
        set_feed(study=draft(), source=explained(0), actor="ann")
    with pytest.raises(Invalid, match="comment_coding can judge comment"):
        set_feed(study=draft(), source=make_study(task_type="con_test"), actor="ann")


def test_drawn_items_follow_nothing() -> None:
    there, study = explained(), draft(authors_per_domain=3)
    with pytest.raises(Invalid, match="draws its items once"):
        set_feed(study=study, source=there, follow=True, actor="ann")
    set_feed(study=study, source=there, actor="ann")
    with pytest.raises(Invalid, match="draws its items once"):
        set_follow(study=study, follow=True, actor="ann")
    publish(study=study, actor="ann")
    with pytest.raises(Invalid, match="drawn at random before the launch"):
        feed_items(study=study, actor="ann")
    assert study.items.count() == 3


def test_a_launch_with_another_draw_than_the_settings_say_is_refused() -> None:
    study = draft(authors_per_domain=3)
    set_feed(study=study, source=explained(), actor="ann")
    change_study(study=study, config=study.config | {"authors_per_domain": 2}, actor="ann")
    study.refresh_from_db()
    assert [problem.where for problem in reasons_not_to_publish(study)] == ["items"]


def test_a_study_file_draws_the_items(tmp_path: Path) -> None:
    there = explained()
    path = tmp_path / "coding.yaml"
    lines = ["slug: coding", "task_type: comment_coding", "title: Coding", "hits_per_worker: null"]
    lines += ["config: {authors_per_domain: 3}", f"items: {{from_study: {there.slug}}}"]
    path.write_text("\n".join(lines))
    assert apply(read_study_file(path)).created
    assert Study.objects.get(slug="coding").items.count() == 3
    assert apply(read_study_file(path)).differences == []
