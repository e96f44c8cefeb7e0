"""The pool replaces late suggestions; a lease says who writes which."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from generation.models import Suggestion
from generation.suggestions import asking, serving
from generation.suggestions.asking import ask_suggesters, read_suggestions
from generation.suggestions.definitions import change_suggester
from tests.generation.support.served_suggestions import LATER, LEASE, result, take_all
from tests.generation.support.toy_suggestions import ask_for, make_pool, make_suggester

pytestmark = pytest.mark.django_db


# --- The pool ---


def test_after_the_deadline_the_pool_steps_in_and_it_is_marked() -> None:
    suggester = make_suggester(wait_seconds=10)
    text = make_pool(suggester, "A bell rang in the distance.")[0]
    row = ask_for(suggester)

    before = read_suggestions(suggestions=[row.pk], now=row.deadline - timedelta(seconds=0.1))[0]
    answer = read_suggestions(suggestions=[row.pk], now=row.deadline)[0]

    assert before.waiting
    assert (answer.state, answer.text, answer.from_pool, answer.waited) == ("done", text.text, True, 10)
    row.refresh_from_db()
    assert (row.pool_text, row.message) == (text, "No suggestion came within 10 s.")


def test_without_a_pool_the_writer_continues_alone() -> None:
    row = ask_for(make_suggester())

    answer = read_suggestions(suggestions=[row.pk], now=row.asked_at + LATER)[0]

    assert (answer.state, answer.text, answer.from_pool) == ("failed", "", False)
    assert answer.notice == asking.NONE_CAME
    row.refresh_from_db()
    assert row.message == "No suggestion came within 10 s. The pool of a has no text left for round 1 of this story."


def test_the_texts_of_the_round_come_first_then_those_for_every_round() -> None:
    suggester = make_suggester()
    make_pool(suggester, "Of every round, once.", round=0)
    make_pool(suggester, "Of round two.", round=2)
    make_pool(suggester, "Of round three.", round=3)
    rows = [ask_for(suggester, key, round=2, story="s") for key in "abc"]

    texts = [read_suggestions(suggestions=[row.pk], now=row.asked_at + LATER)[0].text for row in rows]

    assert texts == ["Of round two.", "Of every round, once.", ""]


def test_no_pool_text_comes_twice_in_one_story() -> None:
    a, b = make_suggester("a"), make_suggester("b")
    make_pool(a, "One came in.", "Two went out.", "Three stayed on.")
    make_pool(b, "one came in", "Two went out!", "Four were lost.")
    rows = [
        row
        for key in ("r1", "r2")
        for row in ask_suggesters(suggesters=[a, b], key=key, story_fields={"story": "x"}, round=1, seed=1, story="s")
    ]
    other = ask_for(a, "elsewhere", story="t")

    answers = read_suggestions(suggestions=[row.pk for row in [*rows, other]], now=other.asked_at + LATER)

    texts = [answer.text.strip(".!").lower() for answer in answers[:4]]
    assert sorted(texts) == ["four were lost", "one came in", "three stayed on", "two went out"]
    assert answers[4].from_pool


def test_a_pool_text_that_the_model_already_wrote_in_this_story_is_not_used() -> None:
    suggester = make_suggester()
    make_pool(suggester, "The rain stopped at noon.")
    first, second = (ask_for(suggester, key, story="s") for key in "ab")
    serving.store(name="p", results=[result(first)], now=timezone.now())

    assert read_suggestions(suggestions=[second.pk], now=second.asked_at + LATER)[0].state == "failed"


def test_the_database_refuses_a_pool_text_twice_in_one_story() -> None:
    suggester = make_suggester()
    text = make_pool(suggester, "One came in.")[0]
    rows = [ask_for(suggester, key, story="s") for key in "ab"]
    Suggestion.objects.filter(pk=rows[0].pk).update(pool_text=text)

    with pytest.raises(IntegrityError), transaction.atomic():
        Suggestion.objects.filter(pk=rows[1].pk).update(pool_text=text)


def test_a_finished_suggestion_must_have_a_text() -> None:
    row = ask_for(make_suggester())

    with pytest.raises(IntegrityError), transaction.atomic():
        Suggestion.objects.filter(pk=row.pk).update(state="done", answered_at=timezone.now())


def test_a_suggester_that_is_not_active_answers_from_its_pool_at_once() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    change_suggester(suggester=suggester, active=False)
    suggester.refresh_from_db()

    answer = read_suggestions(suggestions=[ask_for(suggester).pk])[0]

    assert answer.from_pool
    assert answer.waited < 5


def test_a_text_that_arrives_after_the_pool_text_is_kept_beside_it() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    take_all()
    read_suggestions(suggestions=[row.pk], now=row.asked_at + LATER)

    stored = serving.store(name="p", results=[result(row, log_p=-3.0)], now=row.asked_at + 2 * LATER)

    row.refresh_from_db()
    assert stored == 0
    assert (row.text, row.from_pool, row.late_text) == (
        "A bell rang in the distance.", True, "The rain stopped at noon.",
    )  # fmt: skip
    assert (row.log_p, row.answered_at) == (-3.0, row.asked_at + LATER)


def test_after_unusable_tries_the_pool_steps_in_before_the_deadline() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    take_all()

    serving.store(name="p", results=[result(row, "")], now=row.asked_at + timedelta(seconds=1))

    answer = read_suggestions(suggestions=[row.pk])[0]
    assert (answer.from_pool, answer.waited) == (True, 1)
    row.refresh_from_db()
    assert (row.message, row.leased_by) == ("too short", "")


# --- Leases ---


def test_what_is_leased_is_not_taken_again_until_the_lease_runs_out() -> None:
    suggester = make_suggester()
    row = ask_for(suggester)
    room, now = {suggester.model_id: 10}, row.asked_at

    def take(name: str, after: float) -> list[int]:
        claimed = serving.claim(name=name, room=room, lease=LEASE, now=now + timedelta(seconds=after))
        return [row.pk for row in claimed]

    assert take("p", 0) == [row.pk]
    assert take("q", 4.9) == []
    assert serving.extend(name="p", lease=LEASE, now=now + timedelta(seconds=2)) == 1
    assert take("q", 6.9) == []
    assert take("q", 7) == [row.pk]
    row.refresh_from_db()
    assert (row.leased_by, row.tries, row.started_at) == ("q", 2, now)


def test_requests_are_claimed_while_there_is_room_the_longest_waiting_first() -> None:
    suggester, other = make_suggester("a"), make_suggester("b", model="toy-2")
    rows = [ask_for(suggester, key) for key in "abc"]
    elsewhere = ask_for(other, "d")

    claimed = serving.claim(name="p", room={suggester.model_id: 2}, lease=LEASE, now=timezone.now())

    assert [row.pk for row in claimed] == [rows[0].pk, rows[1].pk]
    assert [row.pk for row in take_all("q", other)] == [elsewhere.pk]


def test_requests_that_nobody_would_see_are_not_started() -> None:
    suggester = make_suggester()
    row = ask_for(suggester)

    assert serving.claim(name="p", room={suggester.model_id: 9}, lease=LEASE, now=row.deadline) == []


def test_the_first_of_two_answers_counts() -> None:
    row = ask_for(make_suggester())
    take_all("p")
    serving.store(name="p", results=[result(row, "This one came first of all.")], now=timezone.now())

    assert serving.store(name="q", results=[result(row)], now=timezone.now()) == 0

    row.refresh_from_db()
    assert (row.text, row.late_text) == ("This one came first of all.", "")


def test_one_that_lost_its_lease_and_has_nothing_does_not_end_the_other_s_work() -> None:
    suggester = make_suggester()
    row = ask_for(suggester)
    take_all("p")
    serving.claim(name="q", room={suggester.model_id: 9}, lease=LEASE, now=row.asked_at + LEASE + LEASE / 5)

    serving.store(name="p", results=[result(row, "")], now=timezone.now())

    row.refresh_from_db()
    assert (row.state, row.leased_by) == ("waiting", "q")


def test_giving_back_makes_it_free_at_once_and_costs_no_try() -> None:
    suggester = make_suggester()
    rows = [ask_for(suggester, key) for key in "ab"]
    take_all("p")

    assert serving.release(name="q") == 0
    assert serving.release(name="p", suggestions=[rows[0].pk], counted=True) == 1
    assert serving.release(name="p") == 1

    assert list(Suggestion.objects.order_by("pk").values_list("tries", "leased_by")) == [(1, ""), (0, "")]
    assert len(take_all("q")) == 2


def test_a_request_that_kills_its_process_each_time_is_answered_from_the_pool() -> None:
    suggester = make_suggester(tries=2)
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    for number in (1, 2):
        assert len(take_all()) == 1
        assert serving.answer_exhausted_from_pool(now=timezone.now()) == 0
        Suggestion.objects.update(leased_until=timezone.now() - timedelta(seconds=number))

    assert take_all() == []
    assert serving.answer_exhausted_from_pool(now=timezone.now()) == 1
    assert read_suggestions(suggestions=[row.pk])[0].from_pool
