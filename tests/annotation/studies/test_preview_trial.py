"""A preview can be answered as workers do, and nothing of it is stored."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Draft, Offer, Participant, Pull, Step, Study, Submission
from generation.models import Suggestion
from tests.annotation.console_helpers import as_role
from tests.annotation.offers_helpers import FIRST, story_study
from tests.annotation.pages import fields
from tests.factories import make_study
from tests.generation.support.toy_suggestions import make_pool, make_suggester

pytestmark = pytest.mark.django_db
STORED = (Assignment, Draft, Offer, Participant, Pull, Step, Submission, Suggestion)


class Trying:
    """A member who fills in the pages of the preview without JavaScript."""

    def __init__(self, study: Study, role: str = "viewer") -> None:
        self.client: Client = as_role(role, study)
        self.here = reverse("console_preview_page", args=[study.slug])
        self.response: Any = self.client.get(self.here + "?step=1")

    @property
    def page(self) -> Any:
        return fields(self.response)

    @property
    def html(self) -> str:
        return str(self.response.content.decode())

    def send(self, extra: str = "", **typed: str) -> None:
        step = self.html.partition('data-step="')[2].partition('"')[0]
        url = f"{self.here}?step={int(step) + 1}{extra}"
        self.response = self.client.post(url, self.page.values | typed)


def rating_study(**values: Any) -> Study:
    config = {"statements": [{"topic": "liked", "question": "I like it."}]}
    return make_study(task_type="likert", items=2, items_per_hit=2, config=config, **values)


def test_pages_are_answered_one_after_the_other_to_the_end() -> None:
    trying = Trying(rating_study())
    assert "Step 1 of 2" in trying.page.text
    trying.send(liked="4")
    assert trying.response.status_code == 200
    assert "Step 2 of 2" in trying.page.text
    trying.send(liked="2")
    assert "This is the end of the task" in trying.page.text
    assert "Nothing was saved." in trying.page.text


def test_a_mistake_is_shown_as_workers_see_it_and_what_was_typed_stays() -> None:
    study = make_study(task_type="production", items=1)
    trying = Trying(study)
    [box] = [name for name in trying.page.values if name not in ("form", "timing", "feedback")][:1]
    trying.send(**{box: ""})
    assert trying.response.status_code == 422
    assert "Please check" in trying.page.text
    assert "Step 1" in trying.page.text


def test_nothing_is_stored_by_trying() -> None:
    study = story_study()
    before = [model.objects.count() for model in STORED]
    trying = Trying(study)
    trying.send(turn=FIRST)
    assert trying.response.status_code == 200
    assert [model.objects.count() for model in STORED] == before


def test_pages_that_follow_from_answers_follow_from_those_typed() -> None:
    trying = Trying(story_study())
    trying.send(turn=FIRST)
    assert FIRST in trying.page.text
    assert "A line from the pool of model-a, number 1." in trying.page.text


def slogan_study() -> Study:
    make_pool(make_suggester("slogans"), "Bread before dawn.", "Warm at four.", "Early crumbs.", "Rise early.")
    config = {"suggesters": ["slogans"], "suggestions": True}
    return make_study(task_type="slogan", items=1, config=config)


def test_the_button_for_suggestions_shows_examples_each_once() -> None:
    study = slogan_study()
    trying = Trying(study)
    trying.send("&suggest=1", keywords="bread", slogan="Crumbs")
    assert "Bread before dawn." in trying.page.text
    assert trying.page.values["keywords"].strip() == "bread"
    trying.send("&suggest=1")
    assert "Warm at four." in trying.page.text
    assert trying.html.count("Bread before dawn.") == 1
    assert not Pull.objects.exists()
    trying.send(slogan="Bread at four.")
    assert "Step 2" in trying.page.text


def test_the_button_needs_keywords_and_a_first_slogan() -> None:
    trying = Trying(slogan_study())
    trying.send("&suggest=1", keywords="bread", slogan="")
    assert "Something is still missing" in trying.page.text
    assert "Bread before dawn." not in trying.page.text


def test_a_step_in_the_middle_can_be_tried() -> None:
    trying = Trying(rating_study())
    trying.response = trying.client.get(trying.here + "?step=2")
    trying.send(liked="3")
    assert "This is the end of the task" in trying.page.text


@pytest.mark.parametrize("sent", ["", "nonsense", "eyJh:1x:abc"])
def test_answers_that_are_not_the_servers_begin_again(sent: str) -> None:
    trying = Trying(rating_study())
    trying.send(form=sent)
    assert trying.response.status_code == 303
    assert trying.response.headers["Location"].endswith("step=1")


def test_answers_to_a_draft_that_has_changed_begin_again() -> None:
    study = rating_study(live=False)
    trying = Trying(study)
    Study.objects.filter(pk=study.pk).update(texts={"title": "Another title"})
    trying.send(liked="4")
    assert trying.response.status_code == 303


def test_the_public_preview_cannot_be_answered() -> None:
    study = rating_study()
    shown = Client().get(reverse("study_preview", args=[study.slug])).content.decode()
    assert "<fieldset disabled>" in shown
    assert "data-try" not in shown
    assert Client().post(reverse("study_preview", args=[study.slug])).status_code == 405
