"""Hits planned after the launch, and places added to hits, have gold and attention items like the first ones."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Hit, Item, Study
from annotation.recruiting.adding_ratings import add_ratings
from annotation.studies.importing_items import add_items
from annotation.studies.launching import publish
from annotation.studies.outputs import feed_items, follow_feeds, set_feed
from annotation.task_types.items import ItemData
from tests.annotation.outputs_helpers import draft, source
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, rate, someone
from tests.factories import make_submission
from tests.report_data import a_set

pytestmark = pytest.mark.django_db
CHECK = {"answers": {"diversity": ["1"]}, "tolerance": 0.5, "explanation": ""}


def roles(study: Study, *, after: int = 0) -> list[list[str]]:
    """The roles of each hit's items, of the hits from this position on."""
    hits = Hit.objects.filter(study=study, position__gte=after).order_by("position")
    return [sorted(hit.items.values_list("role", flat=True)) for hit in hits]


def fed_with_checks(of: Study, *, gold: int = 2, **values: Any) -> Study:
    """A live study of the outputs of ``of``, with gold items and one attention item."""
    study = draft(**values)
    set_feed(study=study, source=of, follow=True, actor="ann")
    names = [*((f"g{at}", "gold") for at in range(gold)), ("a0", "attention")]
    made = []
    for name, role in names:
        payload = a_set(name).payload | {"check": CHECK | {"role": role}}
        made.append((ItemData(name, payload, role), {"file": "gold.csv", "rows": [1]}))  # type: ignore[arg-type]
    add_items(study, made, first=Item.objects.filter(study=study).count())
    publish(study=study, actor="ann")
    return Study.objects.get(pk=study.pk)


def test_hits_of_outputs_that_arrive_later_have_gold_and_attention_items() -> None:
    there = source(submissions=2)
    study = fed_with_checks(there)
    wanted = ["attention", "gold", "main"]
    assert roles(study) == [wanted] * 4
    for _ in range(2):
        make_submission(study=there)
    assert feed_items(study=study, actor="ann") == 4
    assert roles(study, after=4) == [wanted] * 4
    later = Hit.objects.filter(study=study, position__gte=4)
    used = [hit.items.get(role="gold").external_id for hit in later]
    assert sorted(used) == ["g0", "g0", "g1", "g1"], "in turn"
    assert Item.objects.filter(study=study, role="gold").count() == 2


def test_a_study_that_follows_another_by_itself_adds_them_too() -> None:
    there = source(submissions=1)
    study = fed_with_checks(there, quality_control={"gold_per_hit": 2, "attention_per_hit": 0})
    make_submission(study=there)
    assert follow_feeds() == 2
    assert roles(study, after=2) == [["gold", "gold", "main"]] * 2


def test_without_gold_items_later_hits_are_as_before() -> None:
    there = source(submissions=1)
    study = draft()
    set_feed(study=study, source=there, follow=True, actor="ann")
    publish(study=study, actor="ann")
    make_submission(study=there)
    feed_items(study=study, actor="ann")
    assert roles(study) == [["main"]] * 4


def test_more_ratings_are_of_hits_with_gold_items() -> None:
    study = gold_study([*MAIN[:1], GOLD], values={"ratings_per_item": 1})
    rate(someone(study))
    add_ratings(study=study, ratings=3, actor="ann")
    assert list(Hit.objects.filter(study=study).values_list("wanted", flat=True)) == [3]
    for _ in range(2):
        sent = rate(someone(study), gold=7)
        assert sent.flags.get().reason == "gold_wrong"
    assert roles(study) == [["gold", "main"]]
