"""What the writing types share: balanced orders, what happened to a suggestion, and responses by many writers."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from analysis.report.sections.variability import texts_by_decoder
from annotation.models import Output, Rating
from annotation.results.description import labelled_settings
from annotation.task_types.base import Shown
from annotation.task_types.counterbalancing import balanced_order
from annotation.task_types.items import ItemData, Row
from annotation.task_types.offers import OfferData, Try
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.slogan.tries import used_offer, uses_of
from annotation.task_types.suggestion_fates import DELETED, EDITED, KEPT, fate_of
from tests.annotation.task_types import walking
from tests.annotation.task_types.sources import make_samples
from tests.factories import make_participant, make_study, make_submission


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_each_condition_has_each_place_and_each_neighbour_equally_often(count: int) -> None:
    """What a Williams design is (Williams 1949): n rows for an even n, 2n for an odd one."""
    rows = 2 * count if count % 2 else count
    orders = [balanced_order(count, row) for row in range(rows)]

    assert all(sorted(order) == list(range(count)) for order in orders)
    places = Counter((place, each) for order in orders for place, each in enumerate(order))
    assert set(places.values()) == {rows // count} and len(places) == count * count
    neighbours = Counter(pair for order in orders for pair in pairwise(order))
    assert len(neighbours) == count * (count - 1) and len(set(neighbours.values())) == 1
    assert balanced_order(count, rows) == orders[0], "the rows repeat"


def test_four_conditions_are_in_the_published_order() -> None:
    """The first row of a Williams design for n = 4 is 0, 1, n−1, 2; each row adds 1."""
    assert [balanced_order(4, row) for row in range(4)] == [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_conditions_have_one_order(count: int) -> None:
    assert balanced_order(count, 5) == list(range(count))


# Worked out by hand from the definition in `fate_of`.
@pytest.mark.parametrize(
    ("suggested", "submitted", "fate"),
    [
        ("It rained all day.", "It rained all day.", KEPT),
        ("It rained all day.", "  It rained\nall day. ", KEPT),
        ("It rained all day.", "it rained ALL day!", EDITED),
        ("It rained all day.", "All day it snowed.", EDITED),
        ("It rained all day.", "It never rained that day at all.", DELETED),
        ("It rained all day.", "", DELETED),
        ("Never.", "She said never again.", EDITED),
        ("Never.", "Always.", DELETED),
        ("…", "Something.", DELETED),
        ("👨‍👩‍👧 ran home.", "👨‍👩‍👧 ran home.", KEPT),
    ],
)
def test_what_became_of_a_suggestion(suggested: str, submitted: str, fate: float) -> None:
    assert fate_of(suggested, submitted) == fate


def tries() -> list[Try]:
    def offer(number: int, side: str, text: str) -> OfferData:
        return OfferData(0, side, "model-a", text, number=number)

    first = (offer(1, "1", "Dry in any storm."), offer(1, "2", ""))
    return [Try(1, {}, first), Try(2, {}, (offer(2, "1", "It holds."),)), Try(3, {}, None)]


@pytest.mark.parametrize(
    ("used", "text", "expected"),
    [
        ([], "My own words.", {}),
        ([], "it holds", {}),
        ([], " It holds. ", {"2/1": (True, 0)}),
        (["1/1"], "Dry in any storm!", {"1/1": (True, 0)}),
        (["1/1", "2/1", "1/1"], "Dry in any weather.", {"1/1": (True, 1), "2/1": (False, 1)}),
        (["1/1", "2/1"], "My own words.", {"1/1": (False, 0), "2/1": (False, 1)}),
    ],
)
def test_which_suggestions_a_slogan_used(used: list[str], text: str, expected: dict[str, tuple[bool, int]]) -> None:
    found = {f"{use.number}/{use.side}": (use.chosen, use.switches) for use in uses_of(tries(), used, text)}
    assert found == expected
    offer = used_offer(tries(), used, text)
    assert (offer is None) == (not expected)


@pytest.mark.django_db
def test_the_arms_of_a_slogan_study_differ_in_keywords_and_suggestions() -> None:
    arms: list[dict[str, Any]] = [{"name": "mil"}, {"name": "solo", "config": {"suggestions": False}}]
    study = make_study(task_type="slogan", items=1, arms=arms)
    for _ in arms:
        make_submission(participant=make_participant(study=study))

    by_arm = {
        arm: set(Rating.objects.filter(participant__arm__name=arm).values_list("question", flat=True))
        for arm in ("mil", "solo")
    }
    assert {"keywords", "tools"} & by_arm["mil"] == set()
    assert by_arm["mil"] - by_arm["solo"] >= {"used", "tries", "use_again", "suggestions_catchy"}
    assert "tools" in by_arm["solo"]


@pytest.mark.django_db
def test_responses_keep_their_writers() -> None:
    study = make_study(task_type="production", items=2, items_per_hit=2, config={"responses": 3}, ratings_per_item=2)
    for _ in range(2):
        make_submission(study=study)

    rows = Rating.objects.filter(question="response").values_list("participant", "item", "target")
    assert Counter((worker, item) for worker, item, _ in rows) == dict.fromkeys({row[:2] for row in rows}, 3)
    assert len({worker for worker, _, _ in rows}) == 2
    assert {output.kind: len(output.texts) for output in Output.objects.all()} == {"text": 1, "set": 3}
    assert Output.objects.filter(kind="set").count() == 4


def test_a_run_s_samples_are_the_models_texts_of_a_context() -> None:
    """One context with six texts by each of three decoders and one by a fourth, as the report reads them."""
    task = get_type("production")
    (row,), left_out = task.from_samples(make_samples(), {})
    assert left_out == 0
    texts = texts_by_decoder(row.cells)
    assert {name: len(of) for name, of in texts.items()} == {"temp=0.5": 6, "temp=1": 6, "top_k=5": 6, "greedy": 1}
    assert texts["temp=1"][2] == "Text 2 of temp=1."
    (item,), problems = task.read_items([Row(1, row.cells, row.sources)], walking.initial_config(task))
    assert problems == [] and item.payload["context"] == "Once upon a time"
    assert not any("Text 2" in value for key, value in item.payload.items() if key != "extra")


def test_a_simulated_writer_does_not_write_the_same_to_every_context() -> None:
    task = get_type("production")
    config = walking.initial_config(task)
    written = set()
    for name in ("c1", "c2", "c3", "c4", "c5", "c6"):  # each is alone in its hit
        item = ItemData(name, {"context": "I lost my keys again."})
        shown = Shown([item], config, walking.texts_of(task, config), {"items": [0]})
        (page,) = walking.pages_of(task, shown)
        written.add(task.simulate(SimulatedWorker.named("w1", "careful"), shown, page, [])["response-1"])

    assert len(written) > 1


def test_a_setting_that_was_left_empty_is_described_as_not_set() -> None:
    task = get_type("production")

    told = dict(labelled_settings(task.config_form.base_fields, walking.initial_config(task)))

    assert told["Maximum words in a response"] == "not set"
    assert told["Record how workers write"] == "no"


@pytest.mark.parametrize(("name", "edited"), [("mil_story", True), ("slogan", False)])
def test_the_report_shows_edits_tests_between_arms_and_waiting_once(name: str, edited: bool) -> None:
    task = get_type(name)
    alone, helped = (walking.initial_config(task) | {"suggestions": on} for on in (False, True))
    with_help = [section.name for section in task.sections(helped)]
    assert with_help == [*(["edits", "story_texts"] if edited else []), "scales", "arm_tests", "scales", "waiting"]
    # A study with both arms shows every section of the two once.
    assert all(section in task.sections(helped) for section in task.sections(alone))
    told = [topic for section in task.sections(helped) for topic in section.parameters.get("topics", ())]
    assert {"satisfied", "enjoyed", "suggestions_liked"} <= set(told)
