"""Many tabs at once: one set of requests, one set of offers, one step, whatever the order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connections
from django.urls import reverse

from annotation.models import Offer, Pull, Step
from generation.models import Suggestion
from tests.annotation.offers_helpers import TEXTS, answer_all, is_waiting, offers, pass_time, story_study, writer
from tests.annotation.pages import WorkerBrowser
from tests.annotation.work.test_requested_offers import bring, slogan_study
from tests.annotation.work.test_requested_offers import writer as slogan_writer

pytestmark = pytest.mark.django_db(transaction=True)
TABS = 6


def at_once(tabs: Sequence[Callable[[], object]]) -> None:
    """All of these start together, each on a separate connection."""
    gate = threading.Barrier(len(tabs))

    def run(tab: Callable[[], object]) -> None:
        gate.wait()
        try:
            tab()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(tabs)) as pool:
        for future in [pool.submit(run, tab) for tab in tabs]:
            future.result()


def tabs_of(browser: WorkerBrowser) -> list[WorkerBrowser]:
    """Tabs with the same page, without anything else in common."""
    made = []
    for _ in range(TABS):
        tab = WorkerBrowser.__new__(WorkerBrowser)
        tab.client = type(browser.client)()
        tab.token, tab.url, tab.done_url = browser.token, browser.url, browser.done_url
        made.append(tab)
    return made


def test_tabs_that_draw_a_page_at_once_ask_once_and_show_the_same() -> None:
    study = story_study()
    browser = writer(study, begun=False)
    form = browser.form()

    at_once([lambda tab=tab: tab.post(form, turn="The door was open when we came home.") for tab in tabs_of(browser)])  # type: ignore[misc]
    assert Step.objects.count() == 1
    at_once([tab.get for tab in tabs_of(browser)])
    assert Suggestion.objects.count() == 2
    pass_time(6)
    at_once([tab.get for tab in tabs_of(browser)])
    assert Suggestion.objects.count() == 4, "one second try for each"
    answer_all()
    at_once([tab.get for tab in tabs_of(browser)])

    assert {side: offer.text for side, offer in offers(study).items()} == TEXTS
    assert Offer.objects.count() == 2


def test_when_time_runs_out_in_many_tabs_one_pool_text_is_used_for_each_side() -> None:
    study = story_study(rounds=2)
    browser = writer(study)
    assert is_waiting(browser)
    pass_time(11)
    url = reverse("work_offers", args=[browser.token])

    tabs = tabs_of(browser)
    polls = [partial(tab.client.get, url, {"step": 1}) for tab in tabs[3:]]
    at_once([*(tab.get for tab in tabs[:3]), *polls])

    assert Offer.objects.filter(source="pool").count() == 2
    assert Suggestion.objects.filter(from_pool=True).count() == 2


def test_a_page_sent_from_many_tabs_is_stored_once_with_one_outcome() -> None:
    study = story_study()
    browser = writer(study)
    assert is_waiting(browser)
    answer_all()
    form = browser.form()

    at_once(
        [
            lambda tab=tab, side=str(at % 2 + 1): tab.post(form, pick=side, turn=TEXTS[side])  # type: ignore[misc]
            for at, tab in enumerate(tabs_of(browser))
        ]
    )

    step = Step.objects.get(number=1)
    chosen = {side for side, offer in offers(study).items() if offer.chosen}
    assert chosen == {step.answers["pick"][-1]}
    assert step.answers["turn"] == TEXTS[chosen.pop()]


def test_tabs_that_press_the_button_at_once_ask_once_and_show_the_same() -> None:
    browser = slogan_writer(slogan_study())
    form, url = browser.form(), reverse("work_suggest", args=[browser.token])
    typed = {"form": form, "keywords": "storm", "slogan": "Let it"}

    at_once([lambda tab=tab: tab.client.post(url, typed) for tab in tabs_of(browser)])  # type: ignore[misc]

    assert (Pull.objects.count(), Suggestion.objects.count()) == (1, 2)
    bring()
    at_once([tab.get for tab in tabs_of(browser)])
    assert Offer.objects.count() == 2
