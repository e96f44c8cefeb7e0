"""Two processes that add places at once buy what is wanted, and no more: on both databases.

Expected numbers are counted by hand: as many places as there are hits, times the ratings wanted of each.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, Sum

from annotation.models import Posting, Study
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import adding_ratings, lost_places
from annotation.recruiting.offered_work import missing_places
from marketplace.models import Hit as MarketHit
from tests.annotation.recruiting.faults import KINDS, Faults, Killed, until_done
from tests.annotation.recruiting.helpers import posted_study


def places_there() -> int:
    return int(MarketHit.objects.aggregate(n=Sum("max_assignments"))["n"])


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    def run(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that look for missing places both find them before either adds any, unless one is kept waiting."""
    both_have_counted, counted = Barrier(2), missing_places

    def count(study: Study, platform: str) -> dict[int, int]:
        missing = counted(study, platform)
        with suppress(BrokenBarrierError):
            both_have_counted.wait(timeout=0.7)
        return missing

    monkeypatch.setattr(lost_places, "missing_places", count)


@pytest.mark.django_db(transaction=True)
def test_adding_ratings_beside_a_sync_buys_every_place_once(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> None:
    study = posted_study(api, items=3, ratings_per_item=2)
    adding_ratings.add_ratings(study=study, ratings=5, actor="test")
    count_together(monkeypatch)
    replaced = at_once(*[lambda: lost_places.replace_lost(study=study, platform=api)] * 2)
    assert places_there() == 3 * 5
    assert sorted(study.postings.values_list("wanted", "offered", "asked")) == [(5, 5, None)] * 3
    assert 9 <= sum(each.added for each in replaced) <= 18  # both may have made the same call


@pytest.mark.django_db(transaction=True)
def test_further_postings_are_planned_once(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> None:
    study = posted_study(api, items=1, ratings_per_item=9)
    adding_ratings.add_ratings(study=study, ratings=12, actor="test")
    count_together(monkeypatch)
    at_once(*[lambda: lost_places.replace_lost(study=study, platform=api)] * 2)
    assert places_there() == 12


@pytest.mark.django_db
def test_a_total_raised_while_a_call_is_on_its_way_is_reached_and_not_passed(
    api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process adds four places; before its call returns, another adds two more."""
    study = posted_study(api, items=1, ratings_per_item=2)
    posting = study.postings.get()
    adding_ratings.add_ratings(study=study, ratings=6, actor="test")
    whole = Mturk.call
    nested: list[bool] = []

    def meanwhile(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        if operation == "create_additional_assignments_for_hit" and not nested:
            nested.append(True)
            adding_ratings.add_ratings(study=Study.objects.get(pk=study.pk), ratings=8, actor="other")
            lost_places.replace_lost(study=study, platform=api, actor="other")
            assert places_there() == 8
        return whole(self, operation, **params)

    monkeypatch.setattr(Mturk, "call", meanwhile)
    lost_places.replace_lost(study=study, platform=api)
    posting.refresh_from_db()
    assert (places_there(), posting.wanted, posting.offered, posting.asked) == (8, 8, 8, None)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_fails_while_places_are_added_none_is_bought_twice(
    kind: str, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = posted_study(api, items=2, ratings_per_item=2)
    adding_ratings.add_ratings(study=study, ratings=4, actor="test")
    Faults(kind).install(monkeypatch)
    with pytest.raises((PlatformTrouble, Killed)) if kind != "repeated" else nullcontext():
        lost_places.replace_lost(study=study, platform=api)
    adding_ratings.add_ratings(study=Study.objects.get(pk=study.pk), ratings=7, actor="test")
    until_done(lambda: lost_places.replace_lost(study=study, platform=api))
    assert places_there() == 2 * 7
    assert not Posting.objects.exclude(wanted=F("offered")).exists()
