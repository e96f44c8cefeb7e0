"""Several tabs and processes at once on one database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from generation.models import Suggestion
from generation.suggestions import serving
from generation.suggestions.asking import ask_suggesters, read_suggestions
from generation.suggestions.serving import Result
from tests.generation.support.toy_suggestions import make_pool, make_suggester

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = timedelta(seconds=5)


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """What each returns when all begin at the same moment; the first error is raised."""
    start, results, errors = threading.Barrier(len(work)), [None] * len(work), []

    def do(number: int) -> None:
        try:
            start.wait(10)
            results[number] = work[number]()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=do, args=(number,)) for number in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]
    return results


def ask(suggesters: list[Any], key: str, story: str = "s") -> list[int]:
    rows = ask_suggesters(
        suggesters=suggesters, key=key, story_fields={"story": "It rained."}, round=1, seed=1, story=story
    )
    return [row.pk for row in rows]


def test_two_tabs_that_ask_with_one_key_get_the_same_suggestions() -> None:
    pair = [make_suggester("a"), make_suggester("b")]

    answers = at_once(*[lambda: ask(pair, "k")] * 8)

    assert len({tuple(ids) for ids in answers}) == 1
    assert Suggestion.objects.count() == 2


def test_two_tabs_that_read_after_the_deadline_see_one_text() -> None:
    pair = [make_suggester("a"), make_suggester("b")]
    for suggester in pair:
        make_pool(suggester, *(f"Text number {number} stood there." for number in range(4)))
    for number in range(5):
        # Both suggesters have the same texts, and their two suggestions are read separately.
        ids = ask(pair, f"{number}", story=f"{number}")
        later = timezone.now() + timedelta(seconds=11)
        orders = [ids, ids[::-1], ids[:1], ids[1:]] * 2

        at_once(*[lambda order=order: read_suggestions(suggestions=order, now=later) for order in orders])  # noqa: B023

        answers = read_suggestions(suggestions=ids)
        assert [answer.from_pool for answer in answers] == [True, True]
        assert answers[0].text != answers[1].text


def test_processes_that_look_at_once_share_what_waits() -> None:
    suggester = make_suggester()
    for number in range(40):
        ask([suggester], f"{number}")

    def take(name: str) -> list[int]:
        claimed: list[int] = []
        while Suggestion.objects.filter(leased_by="").exists():
            rows = serving.claim(name=name, room={suggester.model_id: 3}, lease=LEASE, now=timezone.now())
            claimed += [row.pk for row in rows]
        return claimed

    claims = at_once(*[lambda name=name: take(name) for name in "pqrs"])

    claimed = [pk for row_id in claims for pk in row_id]
    assert len(claimed) == len(set(claimed)) == 40
    assert set(Suggestion.objects.values_list("tries", flat=True)) == {1}


def test_the_pool_and_the_model_at_the_same_moment_leave_one_text() -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    for number in range(10):
        pk = ask([suggester], f"{number}", story=f"{number}")[0]
        now = timezone.now() + timedelta(seconds=11)
        result = Result(suggestion=pk, text="The rain stopped at noon.", why="", tries=1, raw_text="x")

        at_once(
            lambda: read_suggestions(suggestions=[pk], now=now),  # noqa: B023
            lambda: serving.store(name="p", results=[result], now=now),  # noqa: B023
        )

        row = Suggestion.objects.get(pk=pk)
        assert (row.text, row.late_text) in [
            ("A bell rang in the distance.", "The rain stopped at noon."),
            ("The rain stopped at noon.", ""),
        ]
        assert row.from_pool == (row.text == "A bell rang in the distance.")
