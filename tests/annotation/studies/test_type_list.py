"""The list of types: the most used first, each with a small picture of its page."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.studies.pages.miniatures import HEIGHT, WIDTH, Shape, miniature
from annotation.task_types.registry import all_types, get_type, grouped_types
from tests.annotation.console_helpers import as_role
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def shapes(name: str, kind: str) -> list[Shape]:
    return [shape for shape in miniature(get_type(name)) if shape.kind == kind]


def test_without_studies_the_types_for_any_text_come_first() -> None:
    listed = [task.name for _, types in grouped_types({}) for task in types]
    assert listed[:3] == ["form", "likert", "pairwise"]
    assert set(listed) == set(all_types())


def test_the_most_used_type_comes_first_in_its_group_and_its_group_before_the_others() -> None:
    groups = grouped_types({"rnk_hds": 3, "likert": 1, "pairwise": 2})
    assert groups[0][1][0].name == "rnk_hds"
    assert groups[1][1][0].name == "pairwise"
    assert groups[1][1][1].name == "likert"


def test_the_page_orders_types_by_the_studies_of_this_server() -> None:
    study = make_study(task_type="production", items=1)
    page = as_role("viewer", study).get(reverse("console_new")).content.decode()
    assert re.findall(r'console/new/([a-z_]+)/"', page)[0] == "production"


@pytest.mark.parametrize("name", sorted(all_types()))
def test_every_type_has_a_picture_of_its_page_within_the_frame(name: str) -> None:
    drawn = miniature(get_type(name))
    assert len(drawn) >= 5
    for shape in drawn:
        assert shape.x >= 0
        assert shape.y >= 0
        assert shape.x + shape.width <= WIDTH, shape
        assert shape.y + shape.height <= HEIGHT, shape


def test_the_picture_shows_what_the_page_asks() -> None:
    assert len(shapes("abs_hds", "dot")) == 9  # 1 to 5 in half steps
    assert len(shapes("con_test", "box")) == 5  # five boxes to write in
    assert not shapes("con_test", "dot")
    two_sides = {shape.x for shape in shapes("rnk_hds", "card")}
    assert len(two_sides) == 2


def test_the_pictures_are_in_the_list_and_hidden_from_screen_readers() -> None:
    study = make_study(items=1)
    page = as_role("viewer", study).get(reverse("console_new")).content.decode()
    assert page.count('<svg class="miniature" viewBox="0 0 200 130" aria-hidden="true"') == len(all_types())
    assert "style=" not in page.partition("<svg")[2].partition("</svg>")[0]
