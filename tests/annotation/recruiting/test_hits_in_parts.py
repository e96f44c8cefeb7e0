"""A hit that is offered as several HITs: nobody is offered a part of it after they took another."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.models import Assignment, Posting, QualificationType, Study
from annotation.platforms import changes_of
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import deciding_on_platform, publishing, qualifications, syncing
from annotation.recruiting.lost_places import replace_lost
from annotation.tokens import posting_token
from annotation.work.ending import return_assignment
from marketplace.models import Hit as MarketHit
from marketplace.models import HITType
from marketplace.services.hits import assignments as market
from marketplace.services.hits.offers import groups_for
from marketplace.services.refusals import Refusal
from tests.annotation.recruiting.helpers import accept_there, finish_assignment, posted_study, send_there
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


def address(posting: Posting, accepted: Any) -> str:
    query = {
        "assignmentId": accepted.assignment_id,
        "workerId": accepted.worker.worker_id,
        "hitId": posting.external_id,
        "turkSubmitTo": "http://testserver",
    }
    return f"/p/{posting_token(posting.pk)}/?{urlencode(query)}"


@pytest.fixture
def grants_at_once(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker process does when a page asks it to."""

    def now(work: Assignment) -> bool:
        if qualifications.is_granted(work):
            return False
        qualifications.grant_now(assignment_id=work.pk)
        return True

    monkeypatch.setattr(qualifications, "connect_account", lambda name, account: api)
    monkeypatch.setattr("annotation.recruiting.pages.arrival.ask_to_grant", now)


def start(posting: Posting, worker: Any) -> tuple[Any, Assignment]:
    """Accept the HIT there, and press Start in its frame."""
    accepted = accept_there(posting, worker)
    response = Client().post(address(posting, accepted))
    assert response.status_code == 303, response.content.decode()
    return accepted, Assignment.objects.get(platform_assignment_id=accepted.assignment_id)


def finish(accepted: Any, work: Assignment) -> None:
    """Answer everything, open the page that hands in, and hand in."""
    finish_assignment(work)
    assert work.posting is not None
    token = Client().get(address(work.posting, accepted))["Location"]
    assert "Your answers are saved" in Client().get(token, follow=True).content.decode()
    send_there(accepted)


def groups(worker: Any) -> set[HITType]:
    return {group.hit_type for group in groups_for(worker=worker) if group.qualified}


def test_after_one_part_the_other_cannot_be_accepted(api: Mturk, grants_at_once: None) -> None:
    """Ten raters are two HITs of five. Both hits of the study have their own, of which a worker takes one each."""
    study = posted_study(api, items=2, ratings_per_item=10)
    ours = {(each.hit.position, each.part): each for each in study.postings.select_related("hit")}  # type: ignore[union-attr]
    assert sorted(ours) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    worker = make_market_worker()
    finish(*start(ours[0, 0], worker))
    for _ in range(6):
        with pytest.raises(Refusal):
            accept_there(ours[0, 1], worker)
    other = MarketHit.objects.get(hit_id=ours[1, 0].external_id).hit_type
    assert groups(worker) == {other}  # the parts of the first hit are not even listed
    finish(*start(ours[1, 1], worker))
    assert groups(worker) == set()
    assert accept_there(ours[0, 1], make_market_worker())


def test_the_other_part_is_closed_while_the_first_is_still_open(api: Mturk, grants_at_once: None) -> None:
    study = posted_study(api, items=1, ratings_per_item=10)
    one, two = study.postings.order_by("part")
    worker = make_market_worker()
    start(one, worker)
    with pytest.raises(Refusal):
        accept_there(two, worker)


def test_who_returned_a_part_can_take_one_again(api: Mturk, grants_at_once: None) -> None:
    study = posted_study(api, items=1, ratings_per_item=10)
    one, two = study.postings.order_by("part")
    worker = make_market_worker()
    for _ in range(2):  # the second time is another call, not the first one again
        accepted, work = start(one, worker)
        market.return_(assignment_id=accepted.assignment_id, worker=worker)
        return_assignment(assignment_id=work.pk, participant_id=work.participant_id)
        kind = QualificationType.objects.get(hit=work.hit)
        qualifications.grant_all(kind=kind, platform=api)
    assert accept_there(two, worker)


def test_one_hit_for_each_worker_needs_no_further_qualification(api: Mturk, grants_at_once: None) -> None:
    """The two parts are one group, and one qualification keeps everybody to one HIT of the study."""
    study = posted_study(api, items=1, ratings_per_item=10, hits_per_worker=1)
    one, two = study.postings.order_by("part")
    assert [kind.purpose for kind in QualificationType.objects.all()] == ["limit"]
    assert HITType.objects.count() == 1
    worker = make_market_worker()
    finish(*start(one, worker))
    for _ in range(6):
        with pytest.raises(Refusal):
            accept_there(two, worker)


def test_what_was_granted_at_once_is_kept_until_the_platform_was_asked(api: Mturk, grants_at_once: None) -> None:
    study = posted_study(api, items=2, ratings_per_item=2, hits_per_worker=1)
    one, two = study.postings.order_by("pk")
    worker = make_market_worker()
    accepted, work = start(one, worker)
    finish_assignment(work)
    qualifications.grant_now(assignment_id=work.pk)
    syncing.sync_study(study=study, platform=api)  # the browser has not handed it in yet
    qualifications.grant_all(kind=QualificationType.objects.get(), platform=api)
    with pytest.raises(Refusal):
        accept_there(two, worker)
    send_there(accepted)


def test_a_place_that_was_lost_is_not_offered_to_those_who_had_one(api: Mturk, grants_at_once: None) -> None:
    """A hit of nine cannot grow where ten cost more: the lost place is another HIT of the same hit."""
    study = posted_study(api, items=1, ratings_per_item=9)
    [posting] = study.postings.all()
    workers = [make_market_worker() for _ in range(9)]
    for worker in workers:
        finish(*start(posting, worker))
    syncing.sync_study(study=study, platform=api)
    lost = posting.outside.order_by("pk")[0]
    deciding_on_platform.reject(outside=lost, platform=api, actor="ada", feedback="Empty.")
    replace_lost(study=study, platform=api)
    further = study.postings.get(part=1)
    for worker in workers:
        with pytest.raises(Refusal):
            accept_there(further, worker)
    assert accept_there(further, make_market_worker())


# --- where ten cost no more ---


@pytest.fixture
def no_higher_fee(settings: Settings) -> None:
    settings.MARKETPLACE_FEE_PERCENT = settings.MARKETPLACE_FEE_PERCENT_MANY = 20


def test_nothing_is_split_where_ten_cost_no_more(api: Mturk, no_higher_fee: None) -> None:
    study = posted_study(api, items=1, ratings_per_item=12)
    assert [each.wanted for each in study.postings.all()] == [12]
    settings = publishing.settings_of(study, api)
    assert settings["split"] is True
    assert publishing.cost(study, api).hits == 1
    assert publishing.cost_remarks(study, api) == []


def test_a_hit_of_nine_grows_where_ten_cost_no_more(api: Mturk, no_higher_fee: None) -> None:
    study = posted_study(api, items=1, ratings_per_item=9)
    [posting] = study.postings.all()
    changes = changes_of(api)
    assert changes.may_hold(posting, 12)
    [call] = changes.grow(posting, 12)
    api.call(call.operation, **call.params([]))
    assert MarketHit.objects.get(hit_id=posting.external_id).max_assignments == 12


def test_elsewhere_amazons_rule_holds(api: Mturk, settings: Settings, no_higher_fee: None) -> None:
    study = posted_study(api, items=1, ratings_per_item=9)
    settings.MTURK_ENDPOINT = "https://mturk-requester.us-east-1.amazonaws.com"
    assert not changes_of(api).may_hold(study.postings.get(), 10)
    assert Study.objects.count() == 1
