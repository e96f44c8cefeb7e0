"""Offering longer, pausing, ending and deleting, on this server's own marketplace."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import AuditEntry, Posting, Study
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import adding_ratings, changing_offers, deciding_on_platform, syncing
from annotation.recruiting.offered_work import offer_counts
from annotation.recruiting.polling import due, unsettled
from common.problems import Invalid
from marketplace.models import Hit as MarketHit
from marketplace.wire import errors
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=2, ratings_per_item=1)


def status(client: Any, posting: Posting) -> str:
    return str(client.get_hit(HITId=posting.external_id)["HIT"]["HITStatus"])


def test_what_has_ended_is_offered_again_and_can_be_ended_again(study: Study, api: Mturk, client: Any) -> None:
    posting = study.postings.order_by("pk")[0]
    for days in (3, 5):
        assert changing_offers.end_postings(study=study, platform=api, actor="test").count == 2
        assert status(client, posting) == "Reviewable"
        until = timezone.now() + timedelta(days=days)
        assert changing_offers.extend_postings(study=study, platform=api, until=until, actor="test").count == 2
        posting.refresh_from_db()
        assert (posting.state, posting.expires_at, status(client, posting)) == ("open", until, "Assignable")
    assert AuditEntry.objects.filter(action="extend").count() == 4


def test_only_what_has_places_left_is_offered_longer(study: Study, api: Mturk) -> None:
    done = study.postings.order_by("pk")[0]
    send_both(done)
    syncing.sync_study(study=study, platform=api)
    assert done not in changing_offers.extendable(study, "mturk")
    with pytest.raises(Invalid, match="not a number of days"):
        changing_offers.check_extension(study=study, platform="mturk", days=0)


def test_a_paused_study_is_not_offered_and_comes_back_until_its_old_end(study: Study, api: Mturk, client: Any) -> None:
    posting = study.postings.order_by("pk")[0]
    end = posting.expires_at
    for _ in range(2):
        assert changing_offers.pause_postings(study=study, platform=api, actor="test").count == 2
        posting.refresh_from_db()
        assert (posting.state, status(client, posting)) == ("paused", "Reviewable")
        assert changing_offers.resume_postings(study=study, platform=api, actor="test").count == 2
        posting.refresh_from_db()
        assert (posting.state, posting.expires_at, status(client, posting)) == ("open", end, "Assignable")


def test_only_what_is_over_and_decided_is_deleted(study: Study, api: Mturk) -> None:
    done, waiting = study.postings.order_by("pk")
    send_both(done)
    accept_there(waiting, make_market_worker())
    syncing.sync_study(study=study, platform=api)
    assert not changing_offers.deletable(study, "mturk").exists()  # one is undecided, one is offered
    deciding_on_platform.approve(outside=done.outside.get(), platform=api, actor="test")
    assert changing_offers.delete_postings(study=study, platform=api, actor="test").count == 1
    done.refresh_from_db()
    assert done.state == "deleted"
    assert MarketHit.objects.get(hit_id=done.external_id).state == "Disposed"
    assert syncing.sync_study(study=study, platform=api).postings == 1
    assert offer_counts(study, "mturk").sent == {"approved": 1}


def test_a_hit_that_the_platform_does_not_delete_is_named_and_the_rest_continues(study: Study, api: Mturk) -> None:
    """Somebody is working on it there, which this server does not know."""
    busy, free = study.postings.order_by("pk")
    accept_there(busy, make_market_worker())
    changing_offers.end_postings(study=study, platform=api, actor="test")
    done = changing_offers.delete_postings(study=study, platform=api, actor="test")
    assert (done.count, len(done.refused)) == (1, 1)
    assert busy.external_id in done.refused[0]
    busy.refresh_from_db()
    free.refresh_from_db()
    assert (busy.state, free.state) == ("expired", "deleted")


def test_that_one_hit_is_refused_is_seen_whatever_the_words(
    study: Study, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reworded(errors.RequestError):
        def __init__(self, message: str, *, code: str) -> None:
            super().__init__("Not now.", code=code)

    busy, _ = study.postings.order_by("pk")
    accept_there(busy, make_market_worker())
    changing_offers.end_postings(study=study, platform=api, actor="test")
    monkeypatch.setattr(errors, "RequestError", Reworded)
    done = changing_offers.delete_postings(study=study, platform=api, actor="test")
    assert done.count == 1
    [refusal] = done.refused
    assert refusal.startswith(f"{busy.external_id}: The platform answered: Not now.")


def test_trouble_that_names_a_hit_but_is_not_about_it_ends_the_action(
    study: Study, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    posting = study.postings.order_by("pk")[0]

    def refuse(operation: str, **params: Any) -> Any:
        raise PlatformTrouble(f"The key may not change {posting.external_id}.", code="AccessDenied")

    monkeypatch.setattr(api, "call", refuse)
    with pytest.raises(PlatformTrouble, match="may not change"):
        changing_offers.end_postings(study=study, platform=api, actor="test")


def test_hits_that_were_deleted_elsewhere_do_no_harm(study: Study, api: Mturk, client: Any) -> None:
    gone, other = study.postings.order_by("pk")
    changing_offers.end_postings(study=study, platform=api, actor="test")
    client.delete_hit(HITId=gone.external_id)
    MarketHit.objects.filter(hit_id=gone.external_id).delete()
    assert changing_offers.delete_postings(study=study, platform=api, actor="test").count == 2
    assert set(study.postings.values_list("state", flat=True)) == {"deleted"}
    assert other.pk


def test_more_ratings_cost_only_what_is_new(api: Mturk) -> None:
    """By hand: 2 hits of 3 more each at $0.18 are $1.08; this marketplace rounds each fee of $0.036 to $0.04."""
    study = posted_study(api, items=2, ratings_per_item=2, reward=Decimal("0.18"))
    cost = adding_ratings.cost_of_more(study, api, 5)
    assert (cost.assignments, cost.rewards) == (6, Decimal("1.08"))
    assert cost.fees == Decimal("0.24")
    with pytest.raises(Invalid, match="already get 2 ratings"):
        adding_ratings.add_ratings(study=study, ratings=2, actor="test")


def test_polling_continues_until_every_accepted_assignment_has_ended(study: Study, api: Mturk) -> None:
    now = timezone.now()
    assert unsettled(study).count() == 2
    changing_offers.end_postings(study=study, platform=api, actor="test")
    syncing.sync_study(study=study, platform=api)
    assert unsettled(study).count() == 2  # somebody may have accepted it a second before
    later = now + timedelta(minutes=study.time_limit_minutes + 11)
    assert unsettled(study, later).count() == 2  # not polled since
    study.postings.update(synced_at=later)
    assert unsettled(study, later).count() == 0


def test_quiet_postings_are_polled_rarely_and_busy_ones_each_time(study: Study, api: Mturk) -> None:
    assert due(study).count() == 2  # never polled
    syncing.sync_study(study=study, platform=api)
    assert due(study).count() == 0
    busy = study.postings.order_by("pk")[0]
    send_both(busy)
    assert list(due(study)) == [busy]
    syncing.sync_study(study=study, platform=api)
    assert due(study).count() == 0
    assert due(study, timezone.now() + timedelta(hours=2)).count() == 2
