"""``study extend``, ``add-ratings``, ``delete-hits``, ``reconcile`` and ``compensate``, as a user types them."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Compensation, Hit, HitItem, Study
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import syncing
from annotation.studies.storing import change_study
from marketplace.models import Hit as MarketHit
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_here, send_there
from tests.factories import make_study
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    settings.MTURK_CALLS_PER_SECOND = 0
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=1, ratings_per_item=2, slug="weather")


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_offer_longer_add_ratings_end_and_delete(study: Study) -> None:
    assert "1 HIT offered until" in run("extend", "weather", "--days", "3")
    said = run("add-ratings", "weather", "5", "--dry-run")
    assert "3 further assignments: $0.54 in rewards and $0.12 in fees, $0.66 in total." in said
    assert MarketHit.objects.get().max_assignments == 2
    assert "3 places added, 0 further HITs posted." in run("add-ratings", "weather", "5")
    assert MarketHit.objects.get().max_assignments == 5
    assert "0 HITs can be deleted" in run("delete-hits", "weather", "--dry-run")
    run("end", "weather")
    assert "1 HIT deleted on MTurk" in run("delete-hits", "weather")


def refused(*arguments: str) -> str:
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("study", *arguments, stdout=out, stderr=out)
    return " ".join(out.getvalue().split())


def three_hits_of_each_item(study: Study) -> None:
    """The study's only hit three times, with one place each: three ratings of its item."""
    hit = study.hits.get()
    [place] = HitItem.objects.filter(hit=hit)
    study.hits.update(wanted=1)
    for position in (1, 2):
        copy = Hit.objects.create(study=study, arm=hit.arm, position=position, wanted=1, reward=hit.reward)
        HitItem.objects.create(hit=copy, item=place.item, position=place.position)
    Study.objects.filter(pk=study.pk).update(ratings_per_item=3)


def test_more_ratings_are_counted_for_each_text_and_not_for_each_hit(study: Study) -> None:
    """A text in three hits gets three more ratings from one more place for each; one more rating is not possible."""
    three_hits_of_each_item(study)
    assert refused("add-ratings", "weather", "4", "--dry-run").endswith(
        "Each item is in 3 hits: one more place for each hit means 3 more ratings of it. Enter 6."
    )
    assert "Enter 6 or 9." in refused("add-ratings", "weather", "7", "--dry-run")
    said = run("add-ratings", "weather", "6", "--dry-run")
    assert "Each hit gets 1 more place, and each item 3 more ratings by different workers." in said
    assert "3 further assignments: $0.54 in rewards" in said  # not 9
    change_study(study=study, values={"ratings_per_item": "6"}, actor="test")
    assert set(study.hits.values_list("wanted", flat=True)) == {2}


def test_texts_in_different_numbers_of_hits_cannot_get_the_same_number_more(study: Study) -> None:
    three_hits_of_each_item(study)
    other = make_study(items=1).items.get()
    other.pk, other.study, other.position, other.external_id = None, study, 1, "other"
    other.save()
    HitItem.objects.create(hit=study.hits.get(position=2), item=other, position=1)
    assert "Some items are in 1 hit and others in up to 3" in refused("add-ratings", "weather", "6")
    assert set(study.hits.values_list("wanted", flat=True)) == {1}


def test_reconcile_says_what_to_do_and_compensate_does_it(study: Study, api: Mturk) -> None:
    posting, worker = study.postings.get(), make_market_worker()
    assert "There are no differences." in run("reconcile", "weather")
    here = accept_there(posting, worker).assignment_id
    send_here(posting, worker.worker_id, here)
    there = accept_there(posting, make_market_worker())
    send_there(there)
    syncing.sync_study(study=study, platform=api)
    said = run("reconcile", "weather")
    assert "study compensate weather pays its worker" in said
    assert f"--fetch {there.assignment_id}" in said
    with pytest.raises(CommandError, match="Nothing was written"):
        run("reconcile", "weather", "--fetch", there.assignment_id)
    with pytest.raises(CommandError, match="not an amount"):
        run("compensate", "weather", here, "--amount", "much", "--reason", "x")
    run("compensate", "weather", here, "--amount", "0.50", "--reason", "Your time was up.")
    assert Compensation.objects.get().amount == Decimal("0.50")


def test_wrong_names_are_explained_in_words(study: Study) -> None:
    make_study(slug="elsewhere", items=1)
    with pytest.raises(CommandError, match="is on no platform"):
        run("extend", "elsewhere")
    with pytest.raises(CommandError, match="No work of weather has the assignment id"):
        run("compensate", "weather", "3NONE", "--amount", "1", "--reason", "x")
    with pytest.raises(CommandError, match="Sync first"):
        run("reconcile", "weather", "--fetch", "3NONE")
