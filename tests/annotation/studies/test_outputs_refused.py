"""Outputs that cannot become items, outputs of several kinds, and imports at the same time."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from annotation.models import Item, ItemAuthor, Output, Study
from annotation.studies import outputs
from annotation.studies.launching import publish
from annotation.studies.outputs import feed_items, follow_feeds, set_feed
from annotation.task_types.registry import get_type
from common.problems import Invalid
from tests.annotation.outputs_helpers import draft, fed, said, source
from tests.factories import make_participant, make_researcher, make_study, make_submission, make_worker

pytestmark = pytest.mark.django_db


# --- what is refused ---


def refused_source(study: Study, there: Study, arms: tuple[str, ...] = ()) -> str:
    with pytest.raises(Invalid) as refused:
        set_feed(study=study, source=there, arms=arms, actor="ann")
    assert not study.items.exists()
    return said(refused)


def test_outputs_of_a_study_without_outputs() -> None:
    there = make_study(task_type="sim_hds", slug="rated")
    assert refused_source(draft(), there) == (
        "Submissions to rated (sim_hds) contain nothing that another study can judge. "
        "Choose a study of another type, or import a file of items."
    )


def test_outputs_of_a_kind_that_the_type_does_not_judge() -> None:
    there = make_study(task_type="con_test", slug="sets")
    told = refused_source(draft("likert"), there)
    assert "sets produces outputs of the kind set; likert can judge text, turn." in told
    assert "Studies of the type con_test cannot judge the outputs of other studies." in refused_source(
        draft("con_test"), there
    )


def test_a_study_cannot_be_its_own_source() -> None:
    study = draft("con_test")
    assert refused_source(study, study) == "A study cannot take its items from itself. Name another study."


def test_arms_that_the_source_does_not_have() -> None:
    there = source(arms=[{"name": "solo"}, {"name": "pair"}])
    assert refused_source(draft(), there, ("sol",)) == "There is no “sol”. Did you mean “solo”?"
    assert refused_source(draft(), there, ("solo", "solo")) == "The arm “solo” is in the list twice. Name it once."
    assert refused_source(draft(), source(), ("solo",)) == "There is no “solo”. There are none."


def test_only_a_study_with_a_source_can_be_fed() -> None:
    study = draft(slug="by-hand")
    with pytest.raises(Invalid) as refused:
        feed_items(study=study, actor="ann")
    assert said(refused) == (
        "The items of by-hand do not come from another study. "
        "Choose one on the Items page, or set items.from_study in the study file."
    )


# --- races ---


@pytest.mark.django_db(transaction=True)
def test_outputs_imported_by_many_at_once_are_imported_once() -> None:
    there = source(submissions=1)
    study = fed(there, follow=True)
    for _ in range(3):
        make_submission(study=there)

    def take(number: int) -> int:
        try:
            return follow_feeds() if number % 2 else feed_items(study=study, actor="ann")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(take, range(8)))
    assert sum(counts) == 6
    assert sorted(study.items.values_list("position", flat=True)) == list(range(8))
    assert sorted(study.hits.values_list("position", flat=True)) == list(range(8))
    assert Item.objects.filter(study=study).count() == ItemAuthor.objects.filter(item__study=study).count()


@pytest.mark.django_db(transaction=True)
def test_people_work_while_new_items_arrive() -> None:
    there = source(submissions=2)
    study = fed(there, ratings_per_item=2)
    for _ in range(4):
        make_submission(study=there)

    def work(number: int) -> bool:
        try:
            if number == 3:
                feed_items(study=study, actor="ann")
            make_submission(participant=make_participant(study=study, worker=make_worker(name=f"judge-{number}")))
            return True
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
    assert study.submissions.count() == 8
    assert study.hits.count() == 12


def test_only_members_of_the_source_see_it() -> None:
    there = source(slug="theirs")
    ann = make_researcher("ann")
    found, problems = outputs.check_source(
        task=get_type("abs_hds"), slug="mine", source_slug="theirs", arms=[], visible=Study.objects.filter(members=ann)
    )
    assert found is None
    assert problems[0].what == "There is no study “theirs”, or the owner of this study may not see it."
    there.memberships.create(user=ann, role="viewer")
    found, problems = outputs.check_source(
        task=get_type("abs_hds"), slug="mine", source_slug="theirs", arms=[], visible=Study.objects.filter(members=ann)
    )
    assert (found, problems) == (there, [])


# --- which kind ---


def stories(submissions: int = 1) -> Study:
    """A live study whose submissions make a story (kind text) and two sentences (kind turn) each."""
    study = make_study(
        task_type="mil_story", items=1, ratings_per_item=50, config={"sentences": 2, "suggestions": False}
    )
    for _ in range(submissions):
        make_submission(study=study)
    return study


@pytest.mark.parametrize(("kind", "items"), [("", 2), ("text", 2), ("turn", 4)])
def test_one_kind_of_outputs_is_taken_by_default_the_whole_texts(kind: str, items: int) -> None:
    there = stories(2)
    study = draft("likert")

    assert set_feed(study=study, source=there, kind=kind, actor="ann") == items

    made = {tuple(each.texts) for each in Output.objects.filter(kind=kind or "text")}
    assert {(item.payload["text"],) for item in study.items.all()} == made
    assert study.items.filter(authors__isnull=True).count() == 0


def test_later_outputs_are_of_the_same_kind_and_a_turn_has_the_story_before_it() -> None:
    there = stories()
    study = draft("likert")
    set_feed(study=study, source=there, kind="turn", actor="ann")
    publish(study=study, actor="ann")
    make_submission(study=there)

    assert feed_items(study=study, actor="ann") == 2
    first, second = Output.objects.filter(kind="turn").order_by("pk")[:2]
    contexts = [item.payload["context"] for item in study.items.order_by("position")[:2]]
    assert contexts == ["", first.texts[0]] == [first.context, second.context]


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Invalid) as refused:
        set_feed(study=draft("likert"), source=stories(), kind="turns", actor="ann")
    assert "turn" in said(refused)


def test_turns_of_two_writers_meet_in_pairs() -> None:
    there = stories(2)
    study = draft("pairwise")

    taken = set_feed(study=study, source=there, kind="turn", actor="ann")

    contexts = Counter(Output.objects.filter(kind="turn").values_list("context", flat=True))
    assert contexts[""] == 2, "first sentences have the same context"
    assert taken == sum(count == 2 for count in contexts.values())
    assert all(item.authors.count() == 2 for item in study.items.all())
