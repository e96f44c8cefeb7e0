"""Arms with different pay on a platform: workers choose by the price, or all arms share one listing and a bonus."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.management.study_platform import sync_lines
from annotation.models import Assignment, OutsideAssignment, Payment, PlatformCall, Posting, Study
from annotation.platforms.base import Claim
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.costs import Offered, in_words
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.platforms.prolific.platform import Prolific
from annotation.recruiting import deciding_on_platform, lost_places, offered_work, publishing, syncing
from annotation.recruiting.arrivals import accept_hit
from annotation.recruiting.spending import set_aside_for
from annotation.recruiting.spending_guard import set_budget
from annotation.tokens import participant_token
from annotation.work.allocation import NotAdmitted
from annotation.work.excluding import review_submission
from marketplace.models import Hit as MarketHit
from marketplace.models import LedgerEntry
from tests.annotation.pages import fields
from tests.annotation.recruiting.helpers import finish_assignment, posted_study, send_both
from tests.factories import make_researcher, make_study

pytestmark = pytest.mark.django_db
#: Of arms with equally few people, the first gets the next.
ARMS: list[dict[str, Any]] = [{"name": "comparison", "reward": "2.25"}, {"name": "none", "reward": "1.25"}]
OFFERED = [Offered(2, Decimal("1.25"), 1), Offered(2, Decimal("2.25"), 1)]


def study_of(api: Mturk, *, one_listing: bool) -> Study:
    values = {"items": 2, "ratings_per_item": 1, "arms": ARMS, "platforms": {"mturk": {"one_listing": one_listing}}}
    return posted_study(api, **values)


def moved(kind: str) -> Decimal:
    """What the marketplace's workers got of this kind, from its ledger."""
    entries = LedgerEntry.objects.filter(account__kind="worker", kind=kind)
    return Decimal(entries.aggregate(usd=Sum("amount"))["usd"] or 0)


def paid(kind: str) -> Decimal:
    return Decimal(Payment.objects.filter(kind=kind).aggregate(usd=Sum("amount"))["usd"] or 0)


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The server's own client, in process."""
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


# --- before the launch ---


def test_the_launch_says_that_workers_choose_their_arm_by_its_price_and_names_the_setting() -> None:
    [remark] = Mturk.offline().remarks(OFFERED, {"split": False, "one_listing": False})
    assert "2 listings, with their prices ($1.25, $2.25)" in remark
    assert "(one_listing)" in remark
    assert Mturk.offline().remarks(OFFERED[:1], {"split": False, "one_listing": False}) == []


def test_the_cost_of_one_listing_has_the_bonuses_and_their_fees() -> None:
    # Four submissions at 1.25 with 20% each: 5.00 and 1.00. Two bonuses of 1.00 with 20%: 2.00 and 0.40.
    settings = {"split": False, "one_listing": True}
    cost = Mturk.offline().cost(OFFERED, settings)
    assert (cost.rewards, cost.bonuses, cost.fees, cost.total) == tuple(map(Decimal, ("5.00", "2.00", "1.40", "8.40")))
    assert in_words(cost) == "$5.00 in rewards, $2.00 in bonuses and $1.40 in fees, $8.40 in total."
    assert Mturk.offline().remarks(OFFERED, settings)[0].startswith("One listing at $1.25")


def test_the_higher_fee_of_ten_assignments_is_for_the_reward_and_not_for_the_bonus() -> None:
    # Ten at 1.25 with 40%: 5.00. Ten bonuses of 1.00 with 20%: 2.00.
    offered = [Offered(1, Decimal("1.25"), 9), Offered(1, Decimal("2.25"), 10)]
    cost = Mturk.offline().cost(offered, {"split": False, "one_listing": True})
    assert cost.fees == Decimal("1.25") * 9 * Decimal("0.2") + Decimal("5.00") + Decimal("2.00")


# --- the listing ---


def test_arms_that_pay_differently_are_two_groups_of_hits_without_the_setting(api: Mturk) -> None:
    study_of(api, one_listing=False)
    assert set(MarketHit.objects.values_list("hit_type__reward", flat=True)) == {Decimal("1.25"), Decimal("2.25")}


def test_one_listing_is_one_group_at_the_lower_price_that_tells_of_the_bonus(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    [(reward, description)] = set(MarketHit.objects.values_list("hit_type__reward", "hit_type__description"))
    assert reward == Decimal("1.25")
    assert "pay up to $1.00 more, as a bonus" in description
    assert "comparison" not in description
    assert publishing.cost(study, api).total == Decimal("8.40")


@pytest.mark.parametrize("arm", ["none", "comparison"])
def test_the_start_page_tells_of_the_bonus_whatever_arm_the_hit_is_of_and_names_none(api: Mturk, arm: str) -> None:
    study = study_of(api, one_listing=True)
    posting = study.postings.filter(hit__arm__name=arm).order_by("pk")[0]
    address = {"assignmentId": "A1", "workerId": "W1", "hitId": posting.external_id}
    page = Client().get(posting.url, address).content.decode()
    assert "You get $1.25. Some versions of this task pay up to $1.00 more, as a bonus" in page
    assert "comparison" not in page


def test_pay_is_a_least_until_the_arm_is_known_and_then_what_this_worker_earns(api: Mturk) -> None:
    """By hand: $1.25 in 5 minutes is $15.00 an hour. The arm drawn first pays $2.25."""
    study = study_of(api, one_listing=True)
    Study.objects.filter(pk=study.pk).update(estimated_minutes=5)
    posting = study.postings.filter(hit__arm__name="comparison").order_by("pk")[0]
    address = {"assignmentId": "A1", "workerId": "W1", "hitId": posting.external_id}
    start = fields(Client().get(posting.url, address)).text
    assert "Reward per task at least $1.25" in start
    assert "Pay per hour at least $15.00" in start
    work = finish_assignment(arrive(posting, "W1", "A1"))
    assert work.hit.arm.name == "comparison"
    done = fields(Client().get(reverse("work_done", args=[participant_token(work.participant_id, work.pk)]))).text
    assert "You earn $2.25 for this HIT once it is approved." in done


# --- arms are drawn ---


def arrive(posting: Posting, worker: str, assignment: str) -> Assignment:
    """At the address that the page was opened with, whatever hit the posting offers by now."""
    soon = timezone.now() + timedelta(hours=1)
    return accept_hit(posting=posting, claim=Claim("mturk", worker, assignment), expires_at=soon, consented=False)


def test_arms_are_drawn_at_arrival_although_everybody_comes_to_hits_of_one_arm_first(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    opened = [*study.postings.filter(hit__arm__name="none"), *study.postings.filter(hit__arm__name="comparison")]
    works = [arrive(posting, f"W{n}", f"A{n}") for n, posting in enumerate(opened)]
    assert [work.participant.arm.name for work in works] == ["comparison", "none", "comparison", "none"]
    assert sorted(work.hit_id for work in works) == sorted(study.hits.values_list("pk", flat=True))
    assert [work.posting_id for work in works] == [posting.pk for posting in opened]
    assert offered_work.missing_places(study, "mturk") == {}
    assert set(study.arms.values_list("name", "n_enrolled")) == {("none", 2), ("comparison", 2)}


def test_a_worker_who_comes_to_a_hit_of_another_arm_gets_one_of_their_own_instead(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    for posting in study.postings.filter(hit__arm__name="none"):
        work = finish_assignment(arrive(posting, "W1", f"A{posting.pk}"))
        assert (work.hit.arm.name, work.posting_id) == ("comparison", posting.pk)
    with pytest.raises(NotAdmitted, match="other_arm"):  # their arm has no hit left
        arrive(study.postings.filter(hit__arm__name="comparison")[0], "W1", "A3")


THREE_ARMS: list[dict[str, Any]] = [*ARMS, {"name": "examples", "reward": "1.75"}]


@pytest.mark.parametrize("arms", [ARMS, THREE_ARMS])
def test_every_worker_of_a_hit_with_six_places_gets_an_arm_drawn_and_is_paid_for_it(
    api: Mturk, arms: list[dict[str, Any]]
) -> None:
    values = {"items": 1, "ratings_per_item": 6, "arms": arms, "platforms": {"mturk": {"one_listing": True}}}
    study = posted_study(api, **values)
    first, *others = study.postings.order_by("pk")
    assert first.wanted == 6
    drawn = Counter(send_both(first).participant.arm.name for _ in range(6))
    assert drawn == dict.fromkeys([arm["name"] for arm in arms], 6 // len(arms))
    for posting in others:
        for _ in range(6):
            work = send_both(posting)
            numbers = study.arms.values_list("n_enrolled", flat=True)
            assert max(numbers) - min(numbers) <= 1, work
    assert set(study.hits.values_list("wanted", "n_live", "n_submitted")) == {(6, 6, 6)}
    assert offered_work.missing_places(study, "mturk") == {}
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.approve_all(outside=deciding_on_platform.to_approve(study), platform=api, actor="ada")
    got = Payment.objects.filter(study=study).values_list("submission__assignment__hit__arm__name")
    assert dict(got.annotate(usd=Sum("amount"))) == {arm["name"]: 6 * Decimal(arm["reward"]) for arm in arms}
    assert moved("reward") + moved("bonus") == sum(6 * Decimal(arm["reward"]) for arm in arms)


def study_of_one_item(api: Mturk, **values: Any) -> Study:
    values = {"items": 1, "ratings_per_item": 2, "arms": ARMS, "platforms": {"mturk": {"one_listing": True}}} | values
    return posted_study(api, **values)


def test_a_place_that_the_platform_gives_out_again_is_for_the_arm_that_lacks_somebody(api: Mturk) -> None:
    """Four places in two HITs. The first worker, of the first arm, returns theirs, and somebody else gets it."""
    study = study_of_one_item(api)
    first, second = study.postings.order_by("pk")
    works = [
        arrive(first, "W1", "A1"),
        arrive(first, "W2", "A2"),
        arrive(second, "W3", "A3"),
        arrive(second, "W4", "A4"),
    ]
    again = arrive(first, "W5", "A5")
    works[0].refresh_from_db()
    assert (works[0].state, again.hit_id) == ("abandoned", works[0].hit_id)
    assert set(study.hits.values_list("wanted", "n_live")) == {(2, 2)}


def test_a_worker_who_comes_back_to_a_hit_with_a_new_assignment_has_returned_the_first(api: Mturk) -> None:
    study = study_of_one_item(api)
    first = study.postings.order_by("pk")[0]
    earlier, now = arrive(first, "W1", "A1"), arrive(first, "W1", "A2")
    earlier.refresh_from_db()
    assert (earlier.state, now.hit_id) == ("returned", earlier.hit_id)
    finish_assignment(now)
    with pytest.raises(NotAdmitted, match="done"):
        arrive(first, "W1", "A3")


def test_work_that_is_lost_in_one_arm_is_offered_again_and_done_in_that_arm(api: Mturk) -> None:
    """By hand: each HIT has two places. One comparison is rejected, so five places are given out, and four filled."""
    study = study_of_one_item(api)
    sent = [send_both(posting) for posting in study.postings.order_by("pk") for _ in range(2)]
    syncing.sync_study(study=study, platform=api)
    [lost, _] = [work for work in sent if work.participant.arm.name == "comparison"]
    outside = OutsideAssignment.objects.get(external_id=lost.platform_assignment_id)
    deciding_on_platform.reject(outside=outside, platform=api, actor="ada", feedback="Empty.")
    assert lost_places.replace_lost(study=study, platform=api).added == 1
    assert set(study.postings.values_list("wanted", flat=True)) == {2, 3}
    assert send_both(study.postings.get(wanted=3)).hit_id == lost.hit_id
    assert lost_places.replace_lost(study=study, platform=api).added == 0


def test_parts_of_a_hit_in_one_listing_are_one_group_at_the_lowest_reward(api: Mturk) -> None:
    """Twelve places are two HITs of at most nine, which workers can both do where a hit has other texts for them."""
    study = study_of_one_item(api, ratings_per_item=12)
    assert study.postings.count() == 4
    assert MarketHit.objects.values("hit_type").distinct().count() == 1
    assert set(study.postings.values_list("reward", flat=True)) == {Decimal("1.25")}


# --- pay ---


def test_approving_pays_the_difference_once_and_both_books_agree(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    for posting in study.postings.all():
        send_both(posting)
    before = api.balance()
    syncing.sync_study(study=study, platform=api)
    done = deciding_on_platform.approve_all(outside=deciding_on_platform.to_approve(study), platform=api, actor="ada")
    assert (done.count, done.total, done.refused) == (4, Decimal("7.00"), [])
    for _ in range(2):  # nothing is paid again
        syncing.sync_study(study=study, platform=api)
        deciding_on_platform.pay_differences(study=study, platform=api, actor="ada")
    assert (moved("reward"), paid("reward")) == (Decimal("5.00"), Decimal("5.00"))
    assert (moved("bonus"), paid("bonus")) == (Decimal("2.00"), Decimal("2.00"))
    # The rewards and their fees were set aside when the HITs were posted.
    assert before - api.balance() == Decimal("2.40")
    more = Payment.objects.filter(kind="bonus").values_list("submission__assignment__hit__arm__name", flat=True)
    assert set(more) == {"comparison"}


def test_the_differences_are_set_aside_with_the_places_and_paid_when_nothing_is_left_of_the_budget(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    # Four at 1.25 and two differences of 1.00, each with 20%.
    assert set_aside_for(study) == Decimal("8.40")
    set_budget(study=study, amount=Decimal("8.40"), actor="ada")
    for posting in study.postings.all():
        send_both(posting)
    syncing.sync_study(study=study, platform=api)
    done = deciding_on_platform.approve_all(outside=deciding_on_platform.to_approve(study), platform=api, actor="ada")
    assert (done.total, done.refused) == (Decimal("7.00"), [])
    assert set_aside_for(study) == Decimal("8.40")


def test_the_place_for_excluded_work_sets_aside_what_its_arm_pays_whichever_hit_it_is_listed_with(api: Mturk) -> None:
    """By hand: the four places are $8.40. The work at $2.25 was paid, so its place costs $2.70 once more, with fees."""
    study = study_of_one_item(api)
    sent = [send_both(posting) for posting in study.postings.order_by("pk") for _ in range(2)]
    lost = next(
        work
        for work in sent
        if work.hit.arm.name == "comparison" and work.posting is not None and work.posting.hit_id != work.hit_id
    )
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.approve_all(outside=deciding_on_platform.to_approve(study), platform=api, actor="ada")
    lost.refresh_from_db()
    user = make_researcher("ada")
    review_submission(submission=lost.submission, decision="exclude", note="Copied.", user=user, release=True)
    assert lost_places.replace_lost(study=study, platform=api).added == 1
    assert set_aside_for(study) == Decimal("11.10")
    assert send_both(study.postings.get(wanted=3)).hit_id == lost.hit_id


def test_work_that_the_platform_approved_by_itself_gets_its_difference_at_the_next_sync(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    posting = study.postings.filter(hit__arm__name="comparison")[0]
    work = send_both(posting)
    api.call("approve_assignment", AssignmentId=work.platform_assignment_id)
    list(sync_lines(study, progress=False, actor="ada"))
    assert (paid("reward"), paid("bonus")) == (Decimal("1.25"), Decimal("1.00"))
    assert moved("bonus") == Decimal("1.00")


def test_a_bonus_that_the_platform_refused_is_paid_later(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(api, one_listing=True)
    send_both(study.postings.filter(hit__arm__name="comparison")[0])
    syncing.sync_study(study=study, platform=api)
    real = api.call

    def refusing(operation: str, **params: Any) -> Any:
        if operation == "send_bonus":
            raise PlatformTrouble("The balance is too low.", code="InsufficientFunds", may_be_done=False)
        return real(operation, **params)

    monkeypatch.setattr(api, "call", refusing)
    done = deciding_on_platform.approve_all(outside=deciding_on_platform.to_approve(study), platform=api, actor="ada")
    assert done.refused and "balance" in done.refused[0]
    assert OutsideAssignment.objects.get().state == "approved"
    monkeypatch.setattr(api, "call", real)
    assert deciding_on_platform.pay_differences(study=study, platform=api, actor="ada").total == Decimal("1.00")
    assert (moved("bonus"), paid("bonus")) == (Decimal("1.00"), Decimal("1.00"))


def test_rejected_work_gets_no_difference(api: Mturk) -> None:
    study = study_of(api, one_listing=True)
    send_both(study.postings.filter(hit__arm__name="comparison")[0])
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.reject(outside=OutsideAssignment.objects.get(), platform=api, actor="ada", feedback="Empty.")
    syncing.sync_study(study=study, platform=api)
    assert not PlatformCall.objects.filter(operation="send_bonus").exists()


# --- a platform that offers all hits of a price together ---


def test_arms_are_drawn_at_arrival_where_one_posting_offers_all_hits() -> None:
    study = make_study(
        items=4, ratings_per_item=1, arms=ARMS, platforms={"prolific": {"one_listing": True}}, estimated_minutes=5
    )
    publishing.plan_postings(study=study, platform=Prolific.offline(), actor="test")
    posting = Posting.objects.get(study=study)
    assert (posting.reward, posting.wanted) == (Decimal("1.25"), 8)
    soon = timezone.now() + timedelta(hours=1)
    works = [
        accept_hit(posting=posting, claim=Claim("prolific", f"W{n}", f"A{n}"), expires_at=soon, consented=False)
        for n in range(4)
    ]
    assert sorted(work.participant.arm.name for work in works) == ["comparison", "comparison", "none", "none"]
