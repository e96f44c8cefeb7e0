"""Conversations on workers' pages: what was said is never lost, doubled or given away, whatever goes wrong."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from annotation.models import Draft, Offer, Output, Rating, Step, Submission
from generation.models import Suggestion
from tests.annotation.offers_helpers import answer, pass_time, poll
from tests.annotation.pages import fields
from tests.annotation.task_types.chat_helpers import ROW, SECRET, begin_answer, chat_study, newest, person, say

pytestmark = pytest.mark.django_db
JUDGED = {"helpful-A": "4"}


def test_a_conversation_from_the_first_message_to_the_submission() -> None:
    study = chat_study()
    browser = person(study)
    assert "Good day." in browser.get().content.decode()
    say(browser, "A word?", {"A": "Rain."})
    say(browser, "Another?", {"A": "Snow."})

    assert browser.send(end="1").status_code == 303
    assert browser.send(**JUDGED).status_code == 303

    ratings = Rating.objects.order_by("pk").values_list("question", "target", "value", "text")
    assert list(ratings) == [
        ("message", "1", None, "A word?"),
        ("message", "2", None, "Another?"),
        ("helpful", "model-a", 4.0, ""),
    ]
    offer = Offer.objects.get(step=1)
    assert (offer.text, offer.side, offer.round, offer.suggester, offer.model) == ("Rain.", "A", 1, "model-a", "toy")
    assert (offer.seed, offer.decoder, offer.chosen) == (Suggestion.objects.earliest("pk").seed + 1, "ancestral", False)
    output = Output.objects.get()
    assert json.loads(output.texts[0])[:2] == [
        {"role": "Assistant", "content": "Good day."},
        {"role": "User", "content": "A word?"},
    ]
    assert SECRET not in output.texts[0]


def test_the_model_gets_the_instructions_and_the_history_and_people_never_read_the_instructions() -> None:
    browser = person(chat_study(most_tokens=77))
    pages = [browser.get().content.decode(), say(browser, "A word?", {"A": "Rain."}), say(browser, "More?", {})]

    conversation = newest("A").conversation
    assert conversation == {
        "messages": [
            {"role": "system", "content": SECRET},
            {"role": "assistant", "content": "Good day."},
            {"role": "user", "content": "A word?"},
            {"role": "assistant", "content": "Rain."},
            {"role": "user", "content": "More?"},
        ],
        "most_tokens": 77,
    }
    answer(newest("A"), "Snow.")
    browser.get()
    browser.send(end="1")
    pages.append(browser.get().content.decode())
    assert not any(SECRET in page or "model-a" in page for page in pages)


def test_two_assistants_get_the_same_message_and_each_its_own_history() -> None:
    study = chat_study(sides="two", questions=[])
    browser = person(study)
    page = say(browser, "A word?", {"A": "Rain.", "B": "Snow."})
    assert page.index("Rain.") < page.index("Snow.")
    say(browser, "More?", {})

    histories = {side: [one["content"] for one in newest(side).conversation["messages"]] for side in "AB"}
    assert histories == {
        "A": [SECRET, "Good day.", "A word?", "Rain.", "More?"],
        "B": [SECRET, "Good day.", "A word?", "Snow.", "More?"],
    }
    order: list[int] = Step.objects.get(number=0).assignment.order["models"][0]
    assert [newest(side).suggester.name for side in "AB"] == [("model-a", "model-b")[number] for number in order]
    for side in "AB":
        answer(newest(side), "Hail.")
    browser.get()
    browser.send(end="1")
    page = browser.get().content.decode()
    assert "model-" not in page
    browser.send(better="1")
    value = 1.0 if order == [0, 1] else -1.0
    assert Rating.objects.get(question="better").value == value
    assert Rating.objects.get(question="better").target == "model-a:model-b"


def test_a_page_that_waits_shows_what_is_written_so_far_to_the_script_alone() -> None:
    browser = person(chat_study())
    browser.send(message="A word?")
    page = browser.get().content.decode()
    assert 'id="waiting"' in page
    assert 'http-equiv="refresh"' in page  # without JavaScript
    assert "The assistant is writing" in page
    begin_answer("A", "It rai")

    status = poll(browser)

    assert (status["reload"], status["title"], status["growing"]) == (
        False,
        "The assistant is writing",
        {"A": "It rai"},
    )
    assert not Offer.objects.exists()
    answer(newest("A"), "It rains.")
    assert poll(browser)["reload"]
    assert "It rains." in browser.get().content.decode()


def test_a_message_sent_twice_is_one_message_with_one_answer() -> None:
    browser = person(chat_study())
    form = browser.form()
    assert browser.post(form, message="A word?").status_code == 303
    assert browser.post(form, message="A word?").status_code == 303
    assert browser.post(form, message="Another tab?")["Location"].endswith("?already")  # Back, or a second tab
    for _ in range(3):
        browser.get()

    assert Step.objects.count() == 1
    assert Suggestion.objects.count() == 1
    assert Step.objects.get().answers == {"message": "A word?"}


def test_nothing_can_be_sent_before_the_answer_is_there() -> None:
    browser = person(chat_study())
    browser.send(message="A word?")
    browser.get()
    assert browser.send(message="Hello?").status_code == 303
    assert browser.send(end="1").status_code == 303
    assert Step.objects.count() == 1


def test_an_assistant_that_does_not_answer_can_be_asked_again_or_left() -> None:
    browser = person(chat_study(wait=10.0))
    browser.send(message="A word?")
    browser.get()
    pass_time(11)
    page = browser.get().content.decode()
    assert "There is no answer to your last message. Everything so far is saved." in page
    assert "A word?" in page
    assert 'name="retry"' in page
    assert browser.send(message="Hello?").status_code == 422

    assert browser.send(retry="1").status_code == 303
    browser.get()
    assert Suggestion.objects.count() == 2
    first, second = Suggestion.objects.order_by("pk")
    assert first.conversation == second.conversation
    assert first.seed != second.seed
    answer(second, "Rain.")
    page = browser.get().content.decode()
    assert page.count("A word?") == 1
    assert "Rain." in page
    assert [offer.source for offer in Offer.objects.all()] == ["none", "live"]


def test_of_two_only_the_one_that_did_not_answer_is_asked_again() -> None:
    browser = person(chat_study(sides="two", wait=10.0))
    browser.send(message="A word?")
    browser.get()
    answer(newest("A"), "Rain.")
    pass_time(11)
    assert "Rain." in browser.get().content.decode()
    browser.send(retry="1")
    browser.get()
    assert Suggestion.objects.filter(key__endswith="/A").count() == 1
    assert Suggestion.objects.filter(key__endswith="/B").count() == 2


@pytest.mark.parametrize(
    ("post", "error"),
    [
        ({"message": " \n"}, "Please write something here."),
        ({"message": "x" * 100_000}, "at most 20,000 fit"),
        ({"message": "x" * 1001}, "Please use at most 1,000 characters"),
        ({"end": "1"}, "Send what is in the box, or empty it, before you end."),
        ({"retry": "1"}, "Send what is in the box, or empty it, before you end."),
    ],
)
def test_what_cannot_be_sent_is_refused_with_what_was_typed(post: dict[str, str], error: str) -> None:
    browser = person(chat_study())
    response = browser.send(**post)
    assert response.status_code == 422
    assert error in fields(response).text
    assert fields(response).values["message"].strip() == post.get("message", "").strip()
    assert not Step.objects.exists()


def test_an_end_with_a_text_in_the_box_keeps_the_text() -> None:
    browser = person(chat_study())
    say(browser, "A word?")
    response = browser.send(end="1", message="Wait")
    assert response.status_code == 422
    assert fields(response).values["message"] == "Wait"


def test_markup_and_forged_marks_are_shown_as_text() -> None:
    browser = person(chat_study())
    page = say(browser, "<script>alert(1)</script><|im_end|>", {"A": "<b>Rain.</b>"})
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&lt;|im_end|&gt;" in page
    assert "&lt;b&gt;Rain.&lt;/b&gt;" in page


def test_after_the_last_message_only_the_questions_follow() -> None:
    browser = person(chat_study(max_turns=1))
    page = say(browser, "A word?")
    assert "That was the last message of this conversation." in page
    assert "<textarea" not in page
    assert browser.send(message="One more").status_code == 422
    browser.send(end="1")
    assert browser.send(**JUDGED).status_code == 303
    assert Submission.objects.count() == 1


def test_a_scenario_has_limits_of_its_own() -> None:
    browser = person(chat_study(rows=[ROW | {"max_turns": "1", "most_tokens": "5", "most_characters": "8"}]))
    assert browser.send(message="Nine chars").status_code == 422
    say(browser, "A word?")
    assert newest("A").conversation["most_tokens"] == 5
    assert browser.send(message="More?").status_code == 422


def test_what_is_typed_is_a_draft_and_the_sent_messages_stay() -> None:
    browser = person(chat_study())
    say(browser, "A word?")
    form = browser.form()
    assert browser.draft(form, message="And anoth").status_code == 204
    page = browser.get()
    assert fields(page).values["message"] == "And anoth"
    assert "A word?" in fields(page).text
    assert Draft.objects.count() == 1


def test_the_preview_shows_a_whole_conversation_without_asking_a_model() -> None:
    study = chat_study(sides="two")
    client = person(study).client
    page = client.get(reverse("study_preview", args=[study.slug]), {"step": "2"}).content.decode()
    assert "Here workers read what a model answers to their message." in page
    assert not Suggestion.objects.exists()
