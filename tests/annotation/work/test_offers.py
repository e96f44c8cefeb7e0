"""Live suggestions on workers' pages: asked for in time, shown all at once, recorded, and never in the writer's way."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.instrument import clear_caches, live_instrument
from annotation.models import Draft, Offer, Output, Rating, Step, Submission
from annotation.work import offers as service
from annotation.work.cancelling_offers import cancel_offers
from annotation.work.offers import open_page
from generation.models import Suggester, Suggestion
from generation.suggestions.asking import read_suggestions
from generation.suggestions.delivering import deliver
from tests.annotation.offers_helpers import (
    FIRST,
    LAST,
    PICKED,
    TEXTS,
    answer,
    answer_all,
    asked,
    assignment_of,
    is_waiting,
    offers,
    pass_time,
    poll,
    shown_texts,
    story_study,
    writer,
)
from tests.annotation.pages import WorkerBrowser, fields

pytestmark = pytest.mark.django_db


def test_suggestions_are_asked_for_when_the_page_before_is_saved(
    django_capture_on_commit_callbacks: Any,
) -> None:
    browser = writer(story_study(), begun=False)
    browser.get()
    with django_capture_on_commit_callbacks(execute=True):
        browser.send(turn=FIRST)

    rows = Suggestion.objects.order_by("key")
    assert [(row.prompt, row.round, row.state) for row in rows] == [(FIRST, 1, "waiting")] * 2
    assert {row.suggester.name for row in rows} == {"model-a", "model-b"}
    assert rows[0].story == rows[1].story
    assert is_waiting(browser)
    assert Suggestion.objects.count() == 2, "the page asks for nothing twice"


def test_a_page_that_nobody_asked_for_asks_when_it_is_drawn() -> None:
    browser = writer(story_study())  # within a test nothing is ever committed

    assert Suggestion.objects.count() == 0
    assert is_waiting(browser)
    assert Suggestion.objects.count() == 2


def test_a_page_shows_all_its_suggestions_at_once_without_names() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer(asked("1"), TEXTS["1"])
    assert is_waiting(browser)
    assert not Offer.objects.exists()

    answer(asked("2"), TEXTS["2"])

    assert shown_texts(browser) == [TEXTS["1"], TEXTS["2"]]
    assert "model-" not in browser.get().content.decode()


def test_an_offer_says_what_was_shown_where_from_and_how_fast() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    pass_time(3)
    row = asked("2")
    answer_all()
    browser.get()

    offer = offers(study)["2"]
    sides = assignment_of(study).order["sides"][0][0]
    assert offer.suggester == ["model-a", "model-b"][sides[1]]
    assert (offer.text, offer.source, offer.model, offer.decoder) == (TEXTS["2"], "live", "toy", "ancestral")
    assert (offer.seed, offer.suggestion_id, offer.step, offer.round) == (row.seed + 1, row.pk, 1, 1)
    assert offer.latency == pytest.approx(3, abs=1)
    assert (offer.chosen, offer.switches) == (None, None)
    assert offer.item == study.items.get()


def test_the_step_records_which_offer_was_sent_and_the_switches() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer_all()

    browser.send(**PICKED | {"pick_history": "1 2 1"})

    found = {side: (offer.chosen, offer.switches) for side, offer in offers(study).items()}
    assert found == {"1": (True, 1), "2": (False, 1)}
    assert Step.objects.get(number=1).answers == {"pick": ["1", "2", "1"], "turn": PICKED["turn"]}


def test_a_whole_story_becomes_ratings_outputs_and_a_submission() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer_all()
    browser.send(**PICKED)
    assert browser.send(**LAST).status_code == 303

    assert Submission.objects.get().answers[1]["pick"] == ["1"]
    rows = {(row.question, row.target): row.text or row.value for row in Rating.objects.all()}
    first = assignment_of(study).order["sides"][0][0][0]
    assert rows["choice", "1"] == first + 1
    assert rows["suggested", "1"] == TEXTS["1"]
    assert rows["turn", "2"] == PICKED["turn"]
    assert rows["switches", "1"] == 0
    assert Output.objects.get(kind="text").texts == [f"{FIRST} {PICKED['turn']}"]


# --- twice, at once, and after a restart ---


def test_sending_the_page_before_again_changes_nothing(django_capture_on_commit_callbacks: Any) -> None:
    study = story_study()
    browser = writer(study, begun=False)
    form = browser.form()
    with django_capture_on_commit_callbacks(execute=True):
        for text in (FIRST, "Something quite different this time."):
            assert browser.post(form, turn=text).status_code == 303

    assert Suggestion.objects.count() == 2
    assert set(Suggestion.objects.values_list("prompt", flat=True)) == {FIRST}


def test_two_tabs_see_the_same_suggestions() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer_all()
    first = shown_texts(browser)
    Suggestion.objects.filter(state="done").update(text="Another text than before.")

    assert shown_texts(browser) == first
    assert Offer.objects.count() == 2


def test_a_race_for_storing_offers_has_one_winner() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer_all()
    assignment = assignment_of(study)
    opened = open_page(
        instrument=live_instrument(assignment.participant.arm_id),
        assignment_id=assignment.pk,
        hit_id=assignment.hit_id,
        order=assignment.order,
        number=1,
    )
    assert opened.page is not None
    found = deliver(requests=service.requests_for(assignment.pk, 1, opened.page))

    service._store_offers(assignment.pk, assignment.hit_id, 1, opened.page, found)

    assert Offer.objects.count() == 2


def test_a_restart_in_between_changes_nothing() -> None:
    """All that a waiting page needs is in the database."""
    study = story_study()
    browser = writer(study)
    assert is_waiting(browser)
    before = set(Suggestion.objects.values_list("pk", "key", "seed"))
    clear_caches()
    again = WorkerBrowser(study.participants.get())

    assert is_waiting(again)
    assert set(Suggestion.objects.values_list("pk", "key", "seed")) == before
    answer_all()
    assert shown_texts(again) == list(TEXTS.values())


def test_a_page_that_waits_cannot_be_sent() -> None:
    study = story_study()
    browser = writer(study)
    form = browser.form()

    assert browser.post(form, **PICKED).status_code == 303
    assert Step.objects.count() == 1


def test_a_submitted_turn_is_final(django_capture_on_commit_callbacks: Any) -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer_all()
    form = browser.form()
    browser.post(form, **PICKED)
    browser.post(form, pick="2", pick_history="2", turn="Something else that should not count.")

    assert Step.objects.get(number=1).answers["turn"] == PICKED["turn"]
    assert offers(study)["1"].chosen is True


def test_what_is_typed_survives_the_wait_and_a_reload() -> None:
    study = story_study()
    browser = writer(study)
    form = browser.form()
    assert browser.draft(form, turn="Half a thought about").status_code == 204
    assert is_waiting(browser)
    answer_all()

    assert fields(browser.get()).values["turn"] == "Half a thought about"
    browser.draft(form, pick="2", pick_history="1 2", turn="More of it", turn_edits='{"1": "old"}')
    page = fields(browser.get()).values
    assert (page["pick"], page["pick_history"], page["turn"]) == ("2", "1 2", "More of it")
    assert page["turn_edits"] == '{"1": "old"}'
    assert Draft.objects.count() == 1


def test_the_poll_says_when_to_load_again_and_stores_nothing() -> None:
    study = story_study()
    browser = writer(study)
    assert poll(browser)["title"] == "2 suggestions are being written"
    answer_all()

    assert poll(browser) == {"reload": True}
    assert not Offer.objects.exists()
    assert poll(browser, step=0) == {"reload": True}, "another tab has sent it"


def test_the_poll_is_a_few_queries(django_assert_max_num_queries: Any) -> None:
    browser = writer(story_study())
    is_waiting(browser)

    with django_assert_max_num_queries(5):
        poll(browser)


def test_a_forged_address_polls_nothing(client: Any) -> None:
    assert client.get(reverse("work_offers", args=["forged"]), {"step": 1}).status_code == 404


def test_a_waiting_page_reloads_without_javascript() -> None:
    html = writer(story_study()).get().content.decode()

    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in html
    assert ">Check again</a>" in html
    assert 'class="story"' in html, "the story so far stays in sight"


def test_pool_texts_do_not_repeat_in_a_story() -> None:
    study = story_study(rounds=2)
    Suggester.objects.update(active=False)
    browser = writer(study)
    browser.send(pick="1", turn=shown_texts(browser)[0])
    browser.send(turn="I had not expected that at all.")
    shown_texts(browser)

    texts = list(Offer.objects.values_list("text", flat=True))
    assert len(set(texts)) == len(texts) == 4


# --- the rows are final ---


@pytest.mark.parametrize("change", [{"text": "Better."}, {"source": "pool"}, {"shown_at": timezone.now()}])
def test_an_offer_never_changes(change: dict[str, Any]) -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer_all()
    browser.get()

    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Offer.objects.update(**change)


def test_what_became_of_an_offer_is_written_once() -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer_all()
    browser.send(**PICKED)

    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Offer.objects.update(chosen=True)


def test_reading_suggestions_again_does_not_disturb_what_was_shown() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer_all()
    before = shown_texts(browser)
    read_suggestions(suggestions=list(Suggestion.objects.values_list("pk", flat=True)))
    cancel_offers(assignments=[assignment_of(study).pk])

    assert shown_texts(browser) == before
