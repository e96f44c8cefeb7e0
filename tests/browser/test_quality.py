"""Several continuations on one page in a real Chromium, in every size and colour."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Participant, Rating
from annotation.task_types.items import ItemData
from tests.annotation.task_types.journeys import quality_exam, quality_study
from tests.browser.conftest import NewPage
from tests.browser.work_helpers import check_looks, open_start, send, start_work
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CONTEXT = "The ferry between the two islands will stop running for three weeks in March while its engines are"
TEXTS = {
    "a": "replaced, the harbour office said on Monday. Passengers are asked to take the bus over the new bridge, which",
    "b": "engines of the ferry and the ferry is a ferry with engines that the engines of the ferry have and the",
    "c": "being repaired. The company hopes that nobody will have to wait longer than an hour for a bus in the morn",
}
#: Words of the exam's texts, and the labels that pass: one is wrong by one level.
LABELS = {"stays open": "Decent", "is a pool": "Passable", "of of the the": "Terrible"}


def test_continuations_from_start_to_end(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    empty = {"log_prob": "", "log_q": "", "role": "", "known_label": "", "columns": ["sample_id"], "extra": []}
    payloads = [
        ItemData(name, {"sample_id": name, "context": CONTEXT, "text": text, "system": f"hidden-{name}", **empty})
        for name, text in TEXTS.items()
    ]
    study = make_study(task_type="quality", payloads=payloads, items_per_hit=3, title="News about ferries")
    page = new_page()
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator("#task")).to_be_visible()

    check_looks(page, axe_core, "continuations")
    assert "hidden-" not in page.content()
    shown = [page.locator(".pair strong").nth(at).inner_text() for at in range(3)]
    page.locator(".send button").click()
    expect(page.locator("#summary li")).to_have_count(3)
    check_looks(page, axe_core, "continuations without labels")
    for at, text in enumerate(shown, start=1):
        label = {"a": "High Quality", "b": "Terrible", "c": "Decent"}[next(n for n, t in TEXTS.items() if t == text)]
        group = page.get_by_role("radiogroup", name=f"Continuation {at}")
        group.get_by_role("radio", name=label).check()
    send(page, "Thank you")
    assert {row.item.external_id: row.value for row in Rating.objects.select_related("item") if row.item} == {
        "a": 5.0,
        "b": 1.0,
        "c": 4.0,
    }


def test_only_who_passes_the_exam_gets_into_the_study(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    """One wrong label by one level passes; “High Quality” for everything does not (Zhang et al. 2020, app. A)."""
    exam = quality_exam(identity="browser", title="Exam")
    study = quality_study(identity="browser", title="News", exam_study=exam.slug, exam_percent=100)
    for passes in (False, True):
        page = new_page()
        open_start(page, live_server, exam)
        start_work(page)
        expect(page.locator("#task")).to_be_visible()
        for at in range(3):
            text = page.locator(".pair strong").nth(at).inner_text()
            right = next(label for part, label in LABELS.items() if part in text)
            group = page.get_by_role("radiogroup", name=f"Continuation {at + 1}")
            group.get_by_role("radio", name=right if passes else "High Quality").check()
        if passes:
            check_looks(page, axe_core, "exam")
        send(page, "Thank you")
        open_start(page, live_server, study)
        start_work(page)
        if passes:
            expect(page.locator("#task")).to_be_visible()
        else:
            expect(page.locator("h1")).to_have_text("This study is for people who passed another one")
            check_looks(page, axe_core, "not passed")


def test_both_pools_of_an_a_a_study_see_the_same(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    """Two disjoint pools do the same tasks (Zhang et al. 2020, §4.1); nothing tells workers which pool they are in."""
    empty = {"log_prob": "", "log_q": "", "role": "", "known_label": "", "columns": ["sample_id"], "extra": []}
    payloads = [
        ItemData(name, {"sample_id": name, "context": CONTEXT, "text": text, "system": f"hidden-{name}", **empty})
        for name, text in TEXTS.items()
    ]
    arms = [{"name": "pool-day"}, {"name": "pool-night"}]
    study = make_study(task_type="quality", payloads=payloads, items_per_hit=3, arms=arms, title="News about ferries")
    starts, tasks = [], []
    for _ in arms:
        page = new_page()
        open_start(page, live_server, study)
        check_looks(page, axe_core, "start of an A/A study")
        starts.append(page.locator("main").inner_text())
        start_work(page)
        expect(page.locator("#task")).to_be_visible()
        assert "pool-" not in page.content()
        tasks.append(sorted(page.locator(".pair strong").all_inner_texts()))
    assert set(Participant.objects.values_list("arm__name", flat=True)) == {"pool-day", "pool-night"}
    # Two people have taken a task each in between, so one fewer is free.
    assert re.sub(r"\d+ tasks are", "tasks are", starts[0]) == re.sub(r"\d+ tasks are", "tasks are", starts[1])
    assert tasks[0] == tasks[1] == sorted(TEXTS.values())
