"""Answers in conversations: asked for with their messages, seen as they grow, never from a pool."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from generation.backends.base import Request
from generation.decoding.conversations import stored, transcript, without_begun_stop, without_oldest
from generation.models import Suggestion
from generation.suggestions import suggester_process
from generation.suggestions.cleaning import clean_answer
from generation.suggestions.delivering import Delivery, deliver
from generation.suggestions.delivering import Request as Asked
from tests.generation.suggestions.test_suggester_process import ended, quick, ready, turns  # noqa: F401 - a fixture
from tests.generation.support.toy_suggestions import ToyShop, make_pool, make_suggester

pytestmark = pytest.mark.django_db(transaction=True)
MESSAGES = (("system", "Be kind."), ("user", "Hello."), ("assistant", "Good day."), ("user", "And you?"))


def asked(key: str = "k", **changes: Any) -> Asked:
    conversation = stored(MESSAGES, 9)
    values: dict[str, Any] = {
        "key": key,
        "suggester": "toy",
        "fields": {"story": transcript(MESSAGES)},
        "round": 1,
        "story": "s",
    }
    return Asked(**values | {"seed": 1, "conversation": conversation} | changes)


def delivered(**changes: Any) -> Delivery:
    return deliver(requests=[asked(**changes)])[0]


def test_a_conversation_as_a_text_ends_where_the_answer_begins() -> None:
    assert transcript(MESSAGES) == "Be kind.\n\nUser: Hello.\nAssistant: Good day.\nUser: And you?\nAssistant:"


def test_the_oldest_exchange_goes_first_and_the_instructions_stay() -> None:
    shorter = without_oldest(MESSAGES)
    assert shorter == (("system", "Be kind."), ("user", "And you?"))
    assert without_oldest(shorter) == ()
    assert without_oldest(MESSAGES[1:]) == (("user", "And you?"),)


def test_a_text_that_grows_does_not_show_the_beginning_of_its_end() -> None:
    assert [without_begun_stop(text) for text in ("Yes.", "Yes.\nUs", "Yes.\nAssistant")] == ["Yes."] * 3
    assert without_begun_stop("Yes.\nUseful") == "Yes.\nUseful"


def test_an_answer_keeps_its_lines_and_loses_what_no_page_can_show() -> None:
    assert clean_answer(" One:\n- a\n- b\x07\ufffd ", word_list="").text == "One:\n- a\n- b"
    assert clean_answer(" \n", word_list="").why == "nothing was written"
    assert "badger" in clean_answer("A badger.", word_list="badger").why


def test_the_model_gets_the_messages_and_the_studys_limit_whatever_the_suggesters_rules() -> None:
    # Its own limits are one sentence of at least 20 characters.
    make_suggester("toy", least_characters=20, limits={"max_new_tokens": 60, "stop": "sentence", "min_words": 4})
    shop = ToyShop(script=lambda request: "Fine.\nAnd you?")
    process = ready(shop)
    assert delivered().waiting

    turns(process, lambda: ended(Suggestion.objects.get()))

    request: Request = shop.engine().added[-1][0]
    assert request.messages == MESSAGES
    assert (request.limits.max_new_tokens, request.limits.stop) == (9, "")
    assert request.limits.stop_strings == ("\nUser:", "\nAssistant:")  # the toy has no chat template
    answer = delivered()
    assert (answer.text, answer.source) == ("Fine.\nAnd you?", "live")


def test_an_answer_is_seen_as_it_grows_unless_a_word_list_could_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggester_process, "GROWING_SECONDS", 0.0)
    suggester = make_suggester("toy")
    shop = ToyShop(script=lambda request: "One two three four five six.")
    process = ready(shop)
    delivered()
    seen: list[str] = []
    while not ended(*Suggestion.objects.all()):
        process.turn()
        seen.append(delivered().growing)
    assert "One two three" in seen
    assert seen[-1] == ""  # the whole text is there instead
    assert Suggestion.objects.get().growing == ""

    suggester.word_list = "badger"
    suggester.save()
    delivered(key="other")
    row = Suggestion.objects.get(key="other")
    while not ended(row):
        process.turn()
        assert delivered(key="other").growing == ""


def test_an_answer_that_comes_too_late_fails_and_no_pool_stands_in_for_it() -> None:
    make_pool(make_suggester("toy", wait_seconds=10.0), "Then it rained for a week or so.")
    delivered()
    Suggestion.objects.update(
        asked_at=timezone.now() - timedelta(seconds=8), deadline=timezone.now() + timedelta(seconds=2)
    )
    assert delivered().waiting
    assert Suggestion.objects.count() == 1, "a second answer beside the one that people read would replace it"

    Suggestion.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    answer = delivered()

    assert (answer.waiting, answer.text, answer.source) == (False, "", "none")
    assert Suggestion.objects.get().state == "failed"


def test_another_process_writes_an_answer_whose_process_was_killed() -> None:
    make_suggester("toy")
    shop = ToyShop(script=lambda request: "One two three four five six.")
    first = ready(shop, name="first")
    delivered()
    for _ in range(3):
        first.turn()
    assert Suggestion.objects.get().leased_by == "first"
    # Killed: it neither stores nor releases anything, and its lease runs out.
    Suggestion.objects.update(leased_until=timezone.now() - timedelta(seconds=1))

    second = ready(ToyShop(script=lambda request: "One two three four five six."), name="second")
    turns(second, lambda: ended(*Suggestion.objects.all()))

    assert delivered().text == "One two three four five six."
    assert Suggestion.objects.get().tries == 2
