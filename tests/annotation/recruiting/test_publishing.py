"""A study's hits on the marketplace, over its API: each posted once, whatever fails on the way."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import PlatformCall, Posting, Study
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import publishing
from annotation.studies.storing import change_study
from common.problems import Invalid
from marketplace.models import Hit as MarketHit
from marketplace.models import Requester
from marketplace.services.money import payments
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def live_study(**values: Any) -> Study:
    defaults: dict[str, Any] = {"items": 3, "ratings_per_item": 10, "hits_per_worker": None, "reward": Decimal("0.18")}
    return make_study(**defaults | values)


def publish(study: Study, api: Mturk, **settings: Any) -> publishing.Posted:
    if settings:
        study = change_study(study=study, platforms={"mturk": settings}, actor="test")
    publishing.plan_postings(study=study, platform=api, actor="test")
    return publishing.post_all(study=study, platform=api)


def outside(requester: Requester) -> list[MarketHit]:
    return list(MarketHit.objects.filter(requester=requester).order_by("pk"))


def test_every_hit_is_posted_in_parts_of_at_most_nine(api: Mturk, requester: Requester) -> None:
    study = live_study()
    assert publish(study, api) == publishing.Posted(6, 6)
    assert [hit.max_assignments for hit in outside(requester)] == [5] * 6
    posted = Posting.objects.filter(study=study, platform="mturk")
    assert set(posted.values_list("external_id", flat=True)) == {hit.hit_id for hit in outside(requester)}
    assert set(posted.values_list("state", flat=True)) == {"open"}


def test_unsplit_there_is_one_hit_for_each(api: Mturk, requester: Requester) -> None:
    publish(live_study(), api, split=False)
    assert [hit.max_assignments for hit in outside(requester)] == [10] * 3


def test_arms_with_different_rewards_are_different_hit_types(api: Mturk, requester: Requester) -> None:
    publish(live_study(arms=({"name": "a", "reward": Decimal("1.25")}, {"name": "b"}), ratings_per_item=2), api)
    rewards = Counter(str(hit.hit_type.reward) for hit in outside(requester))
    assert rewards == {"1.25": 3, "0.18": 3}
    assert len({hit.hit_type_id for hit in outside(requester)}) == 2


def test_publishing_again_posts_nothing_twice(api: Mturk, requester: Requester) -> None:
    study = live_study()
    publish(study, api)
    assert publish(study, api) == publishing.Posted(6, 6)
    assert len(outside(requester)) == 6


class Unlucky(Mturk):
    """An API that loses the answer of some calls after they took effect, or fails before."""

    def __init__(self, client: Any, *, lose: int = 0, fail: int = 0) -> None:
        super().__init__(client)
        self.lose, self.fail, self.made = lose, fail, 0

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        if operation.startswith("create_hit_with"):
            self.made += 1
            if self.made == self.fail:
                raise PlatformTrouble("Rate exceeded.", again=True)
            if self.made == self.lose:
                super().call(operation, **params)
                raise PlatformTrouble("The connection was lost.", again=True)
        return super().call(operation, **params)


@pytest.mark.parametrize("trouble", ["lose", "fail"])
def test_it_continues_where_it_stopped(trouble: str, api: Mturk, client: Any, requester: Requester) -> None:
    study = live_study()
    with pytest.raises(PlatformTrouble):
        publish(study, Unlucky(client, **{trouble: 3}))
    assert publishing.progress(study, api) == publishing.Posted(2, 6)
    assert publish(study, api) == publishing.Posted(6, 6)
    assert len(outside(requester)) == 6
    assert {call.state for call in PlatformCall.objects.all()} == {"done"}


def test_a_lost_answer_is_found_again_when_its_token_is_forgotten(
    api: Mturk, client: Any, requester: Requester
) -> None:
    study = live_study()
    with pytest.raises(PlatformTrouble):
        publish(study, Unlucky(client, lose=3))
    lost = PlatformCall.objects.get(state="pending")
    PlatformCall.objects.filter(pk=lost.pk).update(
        first_tried_at=timezone.now() - timedelta(days=2),
        token="another, as if the platform had forgotten the first",
    )
    assert publish(study, api) == publishing.Posted(6, 6)
    assert len(outside(requester)) == 6


def test_without_money_it_says_so_and_keeps_its_place(api: Mturk, requester: Requester) -> None:
    payments.withdraw(requester=requester, amount=Decimal("998.00"), about="rent", actor="test")
    study = live_study()
    with pytest.raises(PlatformTrouble, match="Add money to the account, then do the same again") as refused:
        publish(study, api)
    assert refused.value.code == "InsufficientFunds"
    done = publishing.progress(study, api).posted
    assert 0 < done < 6
    payments.deposit(requester=requester, amount=Decimal("998.00"), actor="test")
    assert publish(study, api) == publishing.Posted(6, 6)
    assert len(outside(requester)) == 6


def test_part_of_a_cent_and_a_draft_are_refused_before_anything_is_posted(api: Mturk) -> None:
    with pytest.raises(Invalid, match="whole cents"):
        publish(live_study(reward=Decimal("0.056")), api)
    with pytest.raises(Invalid, match="not live"):
        publish(make_study(live=False), api)
    assert not PlatformCall.objects.exists()


def test_a_dry_run_names_every_call_and_makes_none(api: Mturk, requester: Requester) -> None:
    study = live_study()
    publishing.plan_postings(study=study, platform=api, actor="test")
    calls = Counter(operation for operation, _ in publishing.calls_ahead(study, api))
    # Each of the three hits is in two parts, so it has its own type with a qualification.
    assert calls == {"create_qualification_type": 3, "create_hit_type": 3, "create_hit_with_hit_type": 6}
    assert not outside(requester)


def test_the_published_design_costs_what_the_paper_and_the_price_list_say(settings: Any) -> None:
    settings.MTURK_ENDPOINT = "https://mturk-requester.us-east-1.amazonaws.com"
    study, offline = live_study(items=20), Mturk.offline()  # a tenth of Tevet & Berant's 200 sets
    assert publishing.cost(study, offline).total == Decimal("43.20")
    unsplit = change_study(study=study, platforms={"mturk": {"split": False}}, actor="test")
    assert publishing.cost(unsplit, offline).total == Decimal("50.40")
    assert publishing.cost_remarks(study, offline) == ["Offered in HITs of at most 9, which saves $7.20."]
