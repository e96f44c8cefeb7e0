"""Statements about a text beyond the examples: settings, orders, scales, sources."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from annotation.task_types.base import Shown
from annotation.task_types.items import ItemData, Json, Row
from annotation.task_types.likert.likert import Likert, agreement
from annotation.task_types.questions import Grid
from tests.annotation.task_types.sources import make_outputs, make_samples
from tests.annotation.task_types.walking import drawn, initial_config, texts_of

TASK = Likert()
FIVE = ["Not at all", "A little", "Fairly", "Very", "Extremely"]


def config_of(**settings: Any) -> Json:
    form = Likert.config_form(initial_config(TASK) | settings)
    assert form.is_valid(), form.errors
    return dict(form.cleaned_data)


def errors_of(**settings: Any) -> Mapping[str, Any]:
    return Likert.config_form(initial_config(TASK) | settings).errors


def items(number: int = 1) -> list[ItemData]:
    rows = [Row(at, {"sample_id": f"s{at}", "text": f"Text {at}.", "context": "Ctx."}) for at in range(1, number + 1)]
    found, problems = TASK.read_items(rows, initial_config(TASK))
    assert problems == []
    return found


def shown(config: Json, seed: int = 1, number: int = 1) -> Shown:
    found = items(number)
    order = TASK.arrange(found, config, slot=0, rng=random.Random(seed))
    return Shown(found, config, texts_of(TASK, config), order)


# --- settings ---


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([], "At least 1 entry is needed"),
        ([{"topic": "good", "question": "x"}, {"topic": "good", "question": "y"}], "“good” is in the list twice"),
        ([{"topic": "comment", "question": "x"}], "“comment” is already used"),
        ([{"topic": "form", "question": "x"}], "“form” is already used"),
        ([{"topic": "Very good", "question": "x"}], "must begin with a letter"),
        ([{"topic": "good", "question": " "}], "question is empty"),
        (["creative"], "not a record"),
        ("creative", "not a list"),
    ],
)
def test_statements_that_cannot_be_used_are_refused(statements: Any, message: str) -> None:
    assert message in str(errors_of(statements=statements)["statements"])


@pytest.mark.parametrize("points", [2, 12])
def test_scale_has_three_to_eleven_points(points: int) -> None:
    assert "points" in errors_of(points=points)


def test_either_every_point_has_a_name_or_none_has() -> None:
    assert "There are 5 names for 7 points" in str(errors_of(labels=FIVE)["labels"])
    assert [point.label for point in agreement(config_of(points=5, labels=FIVE)).points] == FIVE


def test_published_scale_is_seven_points_from_disagree_to_agree() -> None:
    points = agreement(config_of()).points
    assert [point.value for point in points] == [1, 2, 3, 4, 5, 6, 7]
    assert (points[0].label, points[-1].label) == ("Strongly disagree", "Strongly agree")
    assert not any(point.label for point in points[1:-1])


def test_descending_scale_shows_the_highest_point_first_and_stores_the_same_values() -> None:
    up, down = (agreement(config_of(direction=way)) for way in ("ascending", "descending"))
    assert down.points == up.points[::-1]
    assert (up.low, up.high) == (down.low, down.high) == (1, 7)


# --- pages ---


def topics_shown(arranged: Shown) -> list[str]:
    grid = TASK.pages(arranged)[0].parts[0]
    assert isinstance(grid, Grid)
    return [question.topic for question in grid.questions]


def test_statements_are_shuffled_or_as_listed() -> None:
    listed = [row["topic"] for row in config_of()["statements"]]
    assert listed == ["creative", "coherent", "entertaining", "grammatical", "liked"]
    assert all(topics_shown(shown(config_of(order="fixed"), seed)) == listed for seed in range(5))
    orders = {tuple(topics_shown(shown(config_of(), seed))) for seed in range(20)}
    assert len(orders) > 10
    assert all(sorted(order) == sorted(listed) for order in orders)


def test_one_worker_reads_the_statements_in_one_order_for_all_texts() -> None:
    pages = TASK.pages(shown(config_of(), number=3))
    assert len({tuple(question.topic for question in page.questions) for page in pages}) == 1


def test_context_is_shown_unless_the_study_hides_it() -> None:
    for show in (True, False):
        (page,) = TASK.pages(shown(config_of(show_context=show)))
        assert ("Ctx." in drawn(page)) is show


def test_comment_may_be_left_out() -> None:
    (page,) = TASK.pages(shown(config_of(comment=True)))
    _, errors = page.clean(dict.fromkeys(topics_shown(shown(config_of())), "4"))
    assert errors == {}


def test_report_and_scores_include_every_statement() -> None:
    config = config_of()
    topics = [row["topic"] for row in config["statements"]]
    assert [score.topic for score in TASK.scores(config)] == topics
    sections = [(section.name, section.parameters) for section in TASK.sections(config)]
    assert sections == [("scales", {"topics": topics}), ("origin_tests", {"topics": topics})]


# --- sources ---


def test_each_sample_and_each_text_of_a_writer_is_one_item() -> None:
    samples, left_out = TASK.from_samples(make_samples(), {})
    assert (len(samples), left_out) == (19, 0)
    assert samples[0].cells["text"] == "Text 0 of temp=0.5."
    outputs = TASK.from_outputs(make_outputs("text"))
    assert [row.sources for row in outputs] == [(each.id,) for each in make_outputs("text")]
    assert outputs[0].cells["writer"] == "w0"


def test_samples_without_text_are_left_out() -> None:
    samples = make_samples()
    samples[0].text = " \n "
    rows, left_out = TASK.from_samples(samples, {})
    assert (len(rows), left_out) == (18, 1)


def test_missing_values_of_a_sample_are_marked() -> None:
    samples = make_samples()
    samples[0].text = " \x00one\ud800 two "
    assert TASK.from_samples(samples, {})[0][0].cells["text"] == "\ufffdone\ufffd two"


def test_label_of_a_text_is_its_parameter() -> None:
    cells = {"sample_id": "a", "text": "T", "label_name": "temp", "label_value": " 0.7 "}
    (item,), problems = TASK.read_items([Row(1, cells)], initial_config(TASK))
    assert problems == []
    assert TASK.describe_item(item.payload).parameter == ("temp", 0.7)
