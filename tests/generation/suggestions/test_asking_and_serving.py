"""Suggestions are requested, read in time, cancelled, and finally answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.problems import Invalid
from generation.models import PoolText, Suggestion
from generation.suggestions import serving
from generation.suggestions.asking import ask_suggesters, cancel_suggestions, close_abandoned, read_suggestions
from tests.generation.support.served_suggestions import LATER, LEASE, result, take_all
from tests.generation.support.toy_suggestions import ask_for, make_model, make_pool, make_suggester

pytestmark = pytest.mark.django_db


def test_asking_stores_what_will_be_drawn() -> None:
    suggester = make_suggester(template="Story: {story}\nNext:", priming="A story.", wait_seconds=7)

    row = ask_for(suggester, "k1", story_fields={"story": "It rained."}, round=3, story="s1", seed=5)

    assert row.prompt == "A story.\n\nStory: It rained.\nNext:"
    assert row.keep == len("A story.\n\n")
    assert (row.state, row.round, row.story) == ("waiting", 3, "s1")
    assert row.deadline - row.asked_at == timedelta(seconds=7)
    assert 0 <= row.seed < 2**63


def test_asking_twice_with_one_key_gives_one_suggestion() -> None:
    suggester = make_suggester()

    first, second = (ask_for(suggester, "k", seed=seed, round=seed) for seed in (1, 2))

    assert first.pk == second.pk
    assert second.round == 1
    assert ask_for(suggester, "other").pk != first.pk


def test_two_suggesters_are_asked_at_once_and_draw_differently() -> None:
    a, b = make_suggester("a"), make_suggester("b")
    question: dict[str, Any] = {"key": "k", "story_fields": {"story": "It rained."}, "round": 1, "seed": 1}

    rows = ask_suggesters(suggesters=[b, a], **question)
    again = ask_suggesters(suggesters=[b, a], **question)

    assert [row.suggester.name for row in rows] == ["b", "a"]
    assert [row.pk for row in rows] == [row.pk for row in again]
    assert rows[0].seed != rows[1].seed
    assert rows[0].prompt == rows[1].prompt


def test_the_seed_decides_and_the_key_too() -> None:
    suggester = make_suggester()
    seeds = {ask_for(suggester, key, seed=seed).seed for key, seed in (("k", 1), ("l", 1), ("m", 2))}

    assert len(seeds) == 3
    row = Suggestion.objects.get(key="k")
    row.delete()
    assert ask_for(suggester, "k", seed=1).seed == row.seed


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"key": ""}, "key: It is ''. Use a text of 1 to 120 characters."),
    ({"key": "x" * 121}, "1 to 120 characters"),
    ({"key": "a\x00b"}, "key:"),
    ({"story": "s" * 121}, "story:"),
    ({"round": 0}, "round: It is 0."),
    ({"round": 1001}, "round:"),
    ({"story_fields": {}}, "{story}"),
    ({"story_fields": {"text": "It rained."}}, "its fields: {text}"),
    ({"story_fields": {"story": 3}}, "story_fields, story: It is not a text."),
    ({"story_fields": {"story": "x" * 100_001}}, "longer than 100000 characters"),
]


@pytest.mark.parametrize(("values", "message"), WRONG)
def test_invalid_requests_are_refused(values: dict[str, Any], message: str) -> None:
    suggester = make_suggester()

    with pytest.raises(Invalid) as refused:
        ask_for(suggester, **values)

    assert message in str(refused.value)
    assert not Suggestion.objects.exists()


def test_the_same_suggester_twice_or_none_cannot_be_asked() -> None:
    suggester = make_suggester()

    for suggesters in ([], [suggester, suggester]):
        with pytest.raises(Invalid, match="Name each suggester once"):
            ask_suggesters(suggesters=suggesters, key="k", story_fields={"story": "x"}, round=1, seed=1)


def test_reading_returns_the_wait_and_a_message_for_the_writer() -> None:
    row = ask_for(make_suggester(wait_seconds=10))
    moments = [row.asked_at + timedelta(seconds=seconds) for seconds in (1, 8)]

    early, late = (read_suggestions(suggestions=[row.pk], now=now)[0] for now in moments)

    assert (early.state, early.waiting, early.waited, early.left, early.text) == ("waiting", True, 1, 9, "")
    assert early.notice == "A suggestion is being written (1 s)."
    assert late.notice == "This is taking longer than usual (8 s). You will get a suggestion within 2 s."


def test_reading_gives_answers_in_the_order_asked_for() -> None:
    suggester = make_suggester()
    rows = [ask_for(suggester, key) for key in "abc"]

    answers = read_suggestions(suggestions=[rows[2].pk, rows[0].pk, rows[1].pk])

    assert [answer.id for answer in answers] == [rows[2].pk, rows[0].pk, rows[1].pk]
    with pytest.raises(Invalid, match="There is no suggestion 999999"):
        read_suggestions(suggestions=[rows[0].pk, 999_999])


def test_an_answer_in_time() -> None:
    row = ask_for(make_suggester())
    take_all()

    stored = serving.store(name="p", results=[result(row)], now=row.asked_at + timedelta(seconds=2))

    answer = read_suggestions(suggestions=[row.pk])[0]
    assert stored == 1
    assert (answer.state, answer.text, answer.from_pool, answer.notice) == (
        "done", "The rain stopped at noon.", False, "",
    )  # fmt: skip
    assert (answer.waited, answer.left) == (2, 0)


def test_two_answers_that_read_the_same_are_both_shown_and_marked() -> None:
    a, b = make_suggester("a"), make_suggester("b")
    rows = ask_suggesters(suggesters=[a, b], key="k", story_fields={"story": "x"}, round=1, seed=1)
    texts = ["The rain stopped at noon.", "The rain stopped, at noon!"]
    results = [result(row, text) for row, text in zip(rows, texts, strict=True)]
    serving.store(name="p", results=results, now=timezone.now())

    answers = read_suggestions(suggestions=[row.pk for row in rows])

    assert [answer.text for answer in answers] == texts
    assert [answer.same_as for answer in answers] == [None, rows[0].pk]


# --- The rest ---


def test_cancelling_ends_the_waiting_and_nothing_else() -> None:
    suggester = make_suggester()
    waiting, answered = ask_for(suggester, "a"), ask_for(suggester, "b")
    serving.store(name="p", results=[result(answered)], now=timezone.now())

    assert cancel_suggestions(suggestions=[waiting.pk, answered.pk]) == 1

    read = read_suggestions(suggestions=[waiting.pk, answered.pk], now=waiting.asked_at + LATER)
    states = [answer.state for answer in read]
    assert states == ["cancelled", "done"]
    ids = [waiting.pk, answered.pk]
    assert serving.needless(suggestions=ids, unbegun=[], now=waiting.asked_at) == [waiting.pk]
    assert take_all() == []


def test_abandoned_requests_are_answered_from_the_pool_in_the_end() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)

    assert close_abandoned(now=row.deadline + timedelta(minutes=9)) == 0
    assert close_abandoned(now=row.deadline + timedelta(minutes=11)) == 1

    assert read_suggestions(suggestions=[row.pk])[0].from_pool


def test_a_clock_that_is_behind_does_no_harm() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    first, second = ask_for(suggester, "a"), ask_for(suggester, "b")
    behind = first.asked_at - timedelta(seconds=30)
    take_all()

    serving.store(name="p", results=[result(first), result(second, "")], now=behind)

    assert [status.waited for status in read_suggestions(suggestions=[first.pk, second.pk])] == [0, 0]


def count_queries(do: Any) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        do()
    return len(queries)


def test_looking_for_work_does_not_read_what_was_answered_long_ago() -> None:
    """Neither database may read all suggestions many times a second: those that wait have a separate index."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL plans by statistics, which a small table does not have")
    suggester = make_suggester()
    ask_for(suggester)
    with CaptureQueriesContext(connection) as queries:
        assert serving.anything_waits()
        assert len(take_all()) == 1
        serving.extend(name="p", lease=LEASE, now=timezone.now())
        serving.answer_exhausted_from_pool(now=timezone.now())
        close_abandoned()
    looks = [query["sql"] for query in queries if "WHERE" in query["sql"] and "waiting" in query["sql"]]
    assert len(looks) >= 5
    with connection.cursor() as cursor:
        for sql in looks:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            plan = " / ".join(row[3] for row in cursor.fetchall() if "generation_suggestion" in row[3])
            assert "suggestion_to_take" in plan or "PRIMARY KEY" in plan, f"{sql}: {plan}"


def test_queries_do_not_grow_with_suggestions() -> None:
    suggesters = [make_suggester(f"s{number}") for number in range(6)]
    for suggester in suggesters:
        make_pool(suggester, *(f"Pool text number {number} of {suggester.name}." for number in range(5)))
    question: dict[str, Any] = {"story_fields": {"story": "x"}, "round": 1, "seed": 1}

    def costs(n: int) -> list[int]:
        rows: list[Suggestion] = []
        costs = [count_queries(lambda: rows.extend(ask_suggesters(suggesters=suggesters[:n], key=f"{n}", **question)))]
        ids = [row.pk for row in rows]
        costs.append(count_queries(lambda: read_suggestions(suggestions=ids)))
        costs.append(count_queries(lambda: take_all("p", suggesters[0])))
        results = [result(row, f"The rain of {row.suggester.name} stopped.") for row in rows[:-1]]
        costs.append(count_queries(lambda: serving.store(name="p", results=results, now=timezone.now())))
        costs.append(count_queries(lambda: read_suggestions(suggestions=ids, now=rows[0].asked_at + LATER)))
        return costs

    assert costs(2) == costs(6)


def test_pool_texts_may_go_without_changing_what_was_shown() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    row = ask_for(suggester)
    read_suggestions(suggestions=[row.pk], now=row.asked_at + LATER)

    PoolText.objects.all().delete()

    assert read_suggestions(suggestions=[row.pk])[0].text == "A bell rang in the distance."
    assert make_model().suggesters.count() == 1
