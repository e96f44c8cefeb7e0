"""The spending guard: a study's budget, an account's month, and commands that ask first.

Amounts are worked out by hand from MTurk's price list: 20% of rewards and bonuses, at least $0.01 each.
"""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connections, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import (
    AuditEntry,
    BulkAction,
    Commitment,
    Compensation,
    Hit,
    Payment,
    Posting,
    Study,
    StudyBudget,
)
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import (
    changing_offers,
    compensating,
    deciding_on_platform,
    lost_places,
    publishing,
    spending_guard,
    syncing,
)
from annotation.recruiting.job_actions import do_job
from annotation.recruiting.job_requests import request_job
from annotation.recruiting.spending import set_aside_for, spending_of
from annotation.review import bulk_decisions
from common.problems import Invalid
from marketplace.models import Hit as MarketHit
from marketplace.services.money import payments
from tests.annotation.console_helpers import as_role
from tests.annotation.recruiting.helpers import posted_study, send_both, send_here
from tests.factories import make_study

pytestmark = pytest.mark.django_db
#: Two hits with two raters for $0.18, each with a fee of $0.04 (0.036, rounded): 4 × 0.22.
FORECAST = Decimal("0.88")


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def connected(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> Mturk:
    """The marketplace for every part that looks for its platform."""
    monkeypatch.setattr(Mturk, "connected", classmethod(lambda cls, account=None: api))
    return api


def budget(study: Study, amount: str) -> None:
    spending_guard.set_budget(study=study, amount=Decimal(amount), actor="ada")


def want_one_more(study: Study, api: Mturk) -> None:
    """Let the study's first hit want a third rater, and ask the platform for the place."""
    Hit.objects.filter(postings=study.postings.all()[0]).update(wanted=3)
    lost_places.replace_lost(study=study, platform=api)


# --- the study's budget ---


def test_publishing_fixes_the_budget_and_sets_the_cost_aside(api: Mturk) -> None:
    study = posted_study(api)
    assert set_aside_for(study) == FORECAST
    assert StudyBudget.objects.get(study=study).amount == FORECAST + 10
    entry = AuditEntry.objects.get(study=study, action="set budget")
    assert entry.detail == {"forecast": "$0.88", "new": "$10.88"}


def test_more_places_stop_at_the_budget(api: Mturk) -> None:
    study = posted_study(api)
    budget(study, "1.00")
    with pytest.raises(
        Invalid, match=r"This can cost \$0.22 with fees, but only \$0.12 of this study's budget of \$1.00"
    ):
        want_one_more(study, api)
    hit = MarketHit.objects.get(hit_id=study.postings.all()[0].external_id)
    assert hit.max_assignments == 2
    budget(study, "1.10")
    want_one_more(study, api)
    hit.refresh_from_db()
    assert (hit.max_assignments, set_aside_for(study)) == (3, Decimal("1.10"))


def test_publishing_again_sets_nothing_aside_twice(api: Mturk) -> None:
    study = posted_study(api)
    publishing.plan_postings(study=study, platform=api, actor="ada")
    assert set_aside_for(study) == FORECAST
    want_one_more(study, api)
    changing_offers.extend_postings(study=study, platform=api, until=timezone.now() + timedelta(days=9), actor="ada")
    assert set_aside_for(study) == FORECAST + Decimal("0.22")


def test_a_bonus_stops_at_the_budget_and_counts_once(api: Mturk) -> None:
    study = posted_study(api)
    send_both(study.postings.all()[0])
    syncing.sync_study(study=study, platform=api)
    outside = study.postings.all()[0].outside.get()
    budget(study, "1.50")
    chosen: dict[str, Any] = {"outside": outside, "reason": "Thank you.", "platform": api, "actor": "ada"}
    with pytest.raises(Invalid, match=r"\$0.72 with fees, but only \$0.62"):
        deciding_on_platform.send_bonus(amount=Decimal("0.60"), key="large", **chosen)
    assert not Payment.objects.exists()
    for _ in range(2):
        deciding_on_platform.send_bonus(amount=Decimal("0.50"), key="small", **chosen)
    assert set_aside_for(study) == FORECAST + Decimal("0.60")
    assert [each.amount for each in Payment.objects.all()] == [Decimal("0.50")]


def test_a_bonus_that_the_platform_refuses_frees_its_money(api: Mturk, requester: Any) -> None:
    study = posted_study(api)
    send_both(study.postings.all()[0])
    syncing.sync_study(study=study, platform=api)
    payments.withdraw(requester=requester, amount=Decimal("999.00"), about="rent", actor="test")
    with pytest.raises(PlatformTrouble):
        deciding_on_platform.send_bonus(
            outside=study.postings.all()[0].outside.get(),
            amount=Decimal("5.00"),
            reason="Thank you.",
            platform=api,
            actor="ada",
            key="one",
        )
    assert set_aside_for(study) == FORECAST


def test_a_compensation_stops_at_the_budget(api: Mturk) -> None:
    study = posted_study(api)
    work = send_here(study.postings.all()[0], "AWORKER1", "A-LOST")
    budget(study, "0.90")
    chosen: dict[str, Any] = {"work": work, "reason": "Your time was up.", "platform": api, "actor": "ada"}
    with pytest.raises(Invalid, match="budget"):
        compensating.compensate(amount=Decimal("0.50"), **chosen)
    assert not Compensation.objects.exists()


def test_rejected_work_is_replaced_within_the_budget(api: Mturk) -> None:
    """Each rejection frees the money for the place that is offered in its stead."""
    study = posted_study(api, items=1, ratings_per_item=2)
    budget(study, "0.44")
    [posting] = study.postings.all()
    for number in range(3):
        send_both(Posting.objects.get(pk=posting.pk))
        syncing.sync_study(study=study, platform=api)
        latest = posting.outside.order_by("-pk")[0]
        deciding_on_platform.reject(outside=latest, platform=api, actor="ada", feedback="Empty.")
        assert lost_places.replace_lost(study=study, platform=api).added == 1, number
    assert set_aside_for(study) == Decimal("0.44")


def test_places_that_nobody_took_are_free_again_and_come_back_when_they_are_offered_longer(api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=2)
    changing_offers.end_postings(study=study, platform=api, actor="ada")
    spending_guard.release_unspent(study)
    assert set_aside_for(study) == Decimal("0.44")  # somebody may still be working
    spending_guard.release_unspent(study, now=timezone.now() + timedelta(minutes=study.time_limit_minutes + 6))
    assert set_aside_for(study) == 0
    changing_offers.extend_postings(study=study, platform=api, until=timezone.now() + timedelta(days=1), actor="ada")
    assert set_aside_for(study) == Decimal("0.44")


def test_approving_what_was_offered_is_never_refused(api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=1)
    send_both(study.postings.get())
    syncing.sync_study(study=study, platform=api)
    StudyBudget.objects.update(amount=0)
    deciding_on_platform.approve(outside=study.postings.get().outside.get(), platform=api, actor="ada")
    assert Payment.objects.get().amount == Decimal("0.18")


def test_a_budget_is_not_set_below_what_is_promised(api: Mturk) -> None:
    study = posted_study(api)
    with pytest.raises(
        Invalid, match=r"\$0.88 of this study's budget is already spent or promised. Enter at least 0.88"
    ):
        budget(study, "0.87")
    for amount in ("-1", "0.001", "NaN", "1000001"):
        with pytest.raises(Invalid, match="not an amount that a budget can have"):
            budget(study, amount)


def test_the_database_keeps_the_amounts_sound(api: Mturk) -> None:
    study = posted_study(api)
    for wrong in ({"released": "0.45"}, {"released": "-0.01"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Commitment.objects.filter(study=study).update(**wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        StudyBudget.objects.update(amount=-1)


@pytest.mark.django_db(transaction=True)
def test_processes_that_spend_at_once_cannot_pass_the_budget_together(api: Mturk) -> None:
    study = posted_study(api)
    budget(study, "3.88")  # 0.88 are set aside
    gate = Barrier(8)

    def spend(number: int) -> bool:
        gate.wait()
        try:
            spending_guard.set_aside(study=study, platform=api, costs={f"test/{number}": Decimal(1)})
        except Invalid:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 3
    assert set_aside_for(study) == Decimal("3.88")


# --- the month ---


def test_all_studies_of_a_month_stop_at_the_accounts_limit(api: Mturk, settings: Settings) -> None:
    settings.MONTHLY_BUDGET = Decimal("1.00")
    posted_study(api)
    with pytest.raises(Invalid, match=r"only \$0.12 is left of the \$1.00 that all studies on MTurk may cost in"):
        posted_study(api, slug="second")
    assert not Posting.objects.filter(study__slug="second").exists()
    before = timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0) - timedelta(seconds=1)
    Commitment.objects.update(created_at=before)
    assert posted_study(api, slug="third")


# --- the command line ---


def test_a_slip_in_the_reward_is_not_published_without_a_yes(connected: Mturk) -> None:
    """$18 for $0.18: 2 × 4 × $18 and 20% are $172.80."""
    study = make_study(slug="weather", items=2, ratings_per_item=4, reward="18", live=False)
    with pytest.raises(CommandError, match=r"This can cost \$172.80 with fees. Nothing was done. To agree, add --yes."):
        run("publish", "weather", "--platform", "mturk")
    study.refresh_from_db()
    assert (study.status, study.postings.count(), StudyBudget.objects.count()) == ("draft", 0, 0)
    assert not MarketHit.objects.exists()
    assert "the platform has 2 of 2 HITs" in run("publish", "weather", "--platform", "mturk", "--yes")


@pytest.mark.parametrize(("answer", "posted"), [("no", 0), ("", 0), ("yes", 2)])
def test_a_person_is_asked(connected: Mturk, monkeypatch: pytest.MonkeyPatch, answer: str, posted: int) -> None:
    make_study(slug="weather", items=2, ratings_per_item=4, reward="18", live=False)
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return answer

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", reply)
    try:
        run("publish", "weather", "--platform", "mturk")
    except CommandError as error:
        assert str(error) == "Nothing was done."
    assert asked == ["This can cost $172.80 with fees. Type yes to continue: "]
    assert MarketHit.objects.count() == posted


def test_adding_ratings_and_bonuses_ask_too(connected: Mturk, settings: Settings) -> None:
    study = posted_study(connected, slug="weather")
    sent = send_both(study.postings.all()[0])
    syncing.sync_study(study=study, platform=connected)
    settings.CONFIRM_ABOVE = Decimal("0.50")
    with pytest.raises(CommandError, match=r"\$0.88 with fees"):
        run("add-ratings", "weather", "4")
    bonus = ("bonus", "weather", "--submission", str(sent.submission.pk), "--reason", "Thanks", "--amount", "0.50")
    with pytest.raises(CommandError, match=r"\$0.60 with fees"):
        run(*bonus)
    study.refresh_from_db()
    assert (study.ratings_per_item, Payment.objects.count()) == (2, 0)
    run("add-ratings", "weather", "4", "--yes")
    run(*bonus, "--yes")
    study.refresh_from_db()
    assert (study.ratings_per_item, Payment.objects.count()) == (4, 1)


def test_ratings_that_the_budget_does_not_cover_are_not_added(connected: Mturk) -> None:
    study = posted_study(connected, slug="weather")
    budget(study, "1.00")
    with pytest.raises(CommandError):
        run("add-ratings", "weather", "4")
    study.refresh_from_db()
    assert study.ratings_per_item == 2


def test_bonuses_for_many_are_all_paid_or_none(connected: Mturk) -> None:
    study = posted_study(connected, slug="weather")
    for posting in study.postings.all():
        send_both(posting)
    syncing.sync_study(study=study, platform=connected)
    budget(study, "1.00")
    chosen = study.submissions.all()
    made = bulk_decisions.plan_action(study=study, action="bonus", chosen=chosen, actor="ada")
    made = bulk_decisions.set_terms(bulk=made, note="Thanks", amount=Decimal("0.10"))
    with pytest.raises(Invalid, match=r"\$0.24 with fees, but only \$0.12"):
        bulk_decisions.confirm_action(bulk=made, actor="ada", start=lambda pk: None)
    assert BulkAction.objects.get().state == "shown"


def test_the_command_shows_and_sets_the_budget(connected: Mturk) -> None:
    posted_study(connected, slug="weather")
    said = run("budget", "weather", "25.00")
    assert "weather: the budget is $25.00. $0.88 is spent or promised, $24.12 is left." in said
    assert "This month, all studies on its account: $0.88 of $1,000.00." in said
    assert AuditEntry.objects.filter(action="set budget", actor="manage.py study").get().detail["new"] == "$25.00"
    make_study(slug="new")
    assert "new has no budget yet." in run("budget", "new")


def test_low_pay_is_said_on_the_command_line(connected: Mturk) -> None:
    make_study(slug="weather", reward="0.18", estimated_minutes="3", live=False)
    said = run("publish", "weather", "--platform", "mturk", "--dry-run")
    assert "Warning: $0.18 pays about $3.60 an hour, less than the minimum of $7.25." in said
    assert "Warning: $0.18 pays about $3.60 an hour" in run("publish", "weather")


def test_low_pay_can_be_refused(connected: Mturk, settings: Settings) -> None:
    settings.REFUSE_LOW_PAY = True
    study = make_study(slug="weather", reward="0.18", estimated_minutes="3", live=False)
    for arguments in (("--platform", "mturk"), ()):
        with pytest.raises(CommandError):
            run("publish", "weather", *arguments)
    study.refresh_from_db()
    assert study.status == "draft"
    Study.objects.update(reward="0.40")  # $8.00 an hour
    run("publish", "weather", "--platform", "mturk")


# --- the console ---


def test_an_owner_changes_the_budget_on_the_page(connected: Mturk) -> None:
    study = posted_study(connected, slug="weather")
    client = as_role("owner", study)
    page = client.get(reverse("console_platforms", args=["weather"])).content.decode()
    assert "Budget of this study" in page and "$10.88" in page and "$10.00" in page
    url = reverse("console_platform_budget", args=["weather"])
    answer = client.post(url, {"budget": "$1,250.50"}, follow=True).content.decode()
    assert "The budget is $1,250.50 now." in answer
    assert spending_of(study).budget == Decimal("1250.50")
    assert "This is not an amount." in client.post(url, {"budget": "a lot"}, follow=True).content.decode()
    assert "Enter at least 0.88." in client.post(url, {"budget": "0.10"}, follow=True).content.decode()


def test_a_sync_that_the_budget_stops_says_so(connected: Mturk) -> None:
    study = posted_study(connected, items=1, ratings_per_item=2)
    budget(study, "0.44")
    Study.objects.filter(pk=study.pk).update(ratings_per_item=3)
    study.hits.update(wanted=3)
    job = request_job(study=study, kind="sync", platform="mturk", actor="ada")
    do_job(job.pk)
    job.refresh_from_db()
    assert (job.state, "of this study's budget of $0.44 is left" in job.said) == ("failed", True)
    assert "manage.py study budget" in job.fix
