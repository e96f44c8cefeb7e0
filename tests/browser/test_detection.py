"""Human or machine in a real Chromium: practice pairs, feedback and texts, in every size and colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Rating
from annotation.task_types.items import ItemData
from tests.annotation.task_types.journeys import TRAININGS, detection_study
from tests.browser.conftest import NewPage
from tests.browser.work_helpers import check_looks, open_start, send, start_work
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: What the first page asks, if the worker practises first.
TITLES = {"examples": "Practice: who wrote this text?", "comparison": "Practice: which text is by the machine?"}
PROMPT = "Once upon a time"
HUMAN = "there was a king who lost his hat in a game of cards, and who would not play again until his cat wore it."
MACHINE = "there was a hat that was the hat of the king of the hats, and the king of the hats had a hat that was red."


def an_item(name: str, **cells: str) -> ItemData:
    empty = {"domain": "story", "role": "", "explanation": "", "other_text": "", "columns": ["sample_id"], "extra": []}
    payload: dict[str, Any] = {"sample_id": name, "prompt": PROMPT, "source": "hidden-model", **empty, **cells}
    return ItemData(name, payload, "practice" if cells.get("role") else "main")


@pytest.mark.parametrize("training", TRAININGS)
def test_the_start_and_the_first_page_of_every_training(
    training: str, live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    """What a layperson reads before the first answer."""
    study = detection_study(training=training)
    page = new_page()
    open_start(page, live_server, study)
    expect(page.get_by_text("Machines often repeat themselves")).to_have_count(1 if training == "instructions" else 0)
    expect(page.get_by_text("You practise first")).to_have_count(1 if training in ("examples", "comparison") else 0)
    check_looks(page, axe_core, f"start, {training}")
    start_work(page)
    expect(page.locator("h1")).to_have_text(TITLES.get(training, "Who wrote this text?"))
    check_looks(page, axe_core, f"first page, {training}")


def test_a_practice_pair_and_a_text_from_start_to_end(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    pair = {"role": "practice", "other_text": HUMAN, "explanation": "It says *hat* again and again."}
    study = make_study(
        task_type="detection",
        payloads=[an_item("m", text=MACHINE), an_item("p", text=MACHINE, **pair)],
        config={"training": "comparison"},
        items_per_hit=2,
        title="Texts",
    )
    page = new_page()
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator("#task")).to_be_visible()
    check_looks(page, axe_core, "pair")
    side = "Text A" if "hat of the king" in page.locator(".sides section").first.inner_text() else "Text B"
    page.get_by_role("radio", name=side).check()
    send(page, "Who wrote this text?")
    expect(page.locator(".notice")).to_contain_text(f"The machine generated {side}.")
    check_looks(page, axe_core, "text after feedback")
    expect(page.get_by_label("Why do you think that a person wrote it?")).to_be_hidden()
    page.get_by_role("radio", name="Possibly machine-generated").check()
    page.get_by_label("What would you change").fill("I would remove most of the hats.")
    assert "hidden-model" not in page.content()
    send(page, "Thank you")
    assert {row.question: row.value for row in Rating.objects.exclude(value=None)} == {
        "machine_text": 1.0,
        "judgement": 3.0,
    }
