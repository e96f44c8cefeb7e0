"""The console's pages about platforms: choose, see the cost, publish, watch, change, reconcile."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Compensation, Item, PlatformJob, Posting, Study
from annotation.platforms import all_platforms
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import changing_offers, deciding_on_platform, job_actions, publishing, syncing, tasks
from marketplace.models import Hit as MarketHit
from tests.annotation.console_helpers import as_role, hidden
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here, send_there
from tests.factories import make_study
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


assert tasks.run_job  # registers the tasks: they run where they are sent


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    settings.MTURK_CALLS_PER_SECOND = 0
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


@pytest.fixture
def draft() -> Study:
    return make_study(
        items=2, ratings_per_item=10, hits_per_worker=None, live=False, reward=Decimal("0.18"), slug="weather"
    )


@pytest.fixture
def posted(api: Mturk) -> Study:
    return posted_study(api, items=2, ratings_per_item=2, slug="weather")


def url(name: str, *more: str) -> str:
    return reverse(name, args=["weather", *more])


def get(client: Client, name: str, *more: str, **query: Any) -> str:
    response = client.get(url(name, *more), query)
    assert response.status_code == 200, response.content
    return response.content.decode()


def post(client: Client, name: str, *more: str, **data: Any) -> str:
    """Post a form. Returns the page that follows."""
    return client.post(url(name, *more), data, follow=True).content.decode()


def publish(client: Client, **changes: Any) -> str:
    page = get(client, "console_platform", "mturk")
    return post(client, "console_platform_publish", "mturk", **{"version": hidden(page).get("version", ""), **changes})


# --- before ---


def test_a_panel_is_named_as_a_choice_and_within_sentences(draft: Study) -> None:
    client = as_role("owner", draft)
    assert ">Another panel</h3>" in get(client, "console_platforms")
    assert "<h2>Publish on the panel</h2>" in get(client, "console_platform", "panel")


def test_the_cost_is_shown_before_anything_is_posted(draft: Study) -> None:
    """By hand: 2 items × 10 at $0.18 are $3.60; 20 fees of $0.036, rounded to $0.04 here, are $0.80."""
    page = get(as_role("owner", draft), "console_platform", "mturk")
    for figure in ("$3.60", "$0.80", "$4.40", "which saves $0.60", "The pay per hour is not known"):
        assert figure in page
    assert not Posting.objects.exists()


def test_a_low_wage_is_pointed_out(draft: Study) -> None:
    """$0.18 for 3 minutes is $3.60 an hour, less than $7.25."""
    Study.objects.update(estimated_minutes=3)
    page = get(as_role("owner", draft), "console_platform", "mturk")
    assert "$3.60</dd>" in page
    assert "less than the minimum of $7.25 an hour" in page


def test_every_call_is_listed_and_nothing_changes(draft: Study) -> None:
    client = as_role("editor", draft)
    page = get(client, "console_platform_calls", "mturk")
    assert "8 calls" in page  # for each of two hits, a qualification and a HIT type; four HITs of five
    assert page.count("<code>create_hit_with_hit_type</code>") == 5  # once in the counts
    text = client.get(url("console_platform_calls", "mturk"), {"file": "1"}).content.decode()
    assert len(text.splitlines()) == 8
    draft.refresh_from_db()
    assert (draft.status, Posting.objects.count()) == ("draft", 0)


def test_settings_are_saved_and_change_the_cost(draft: Study) -> None:
    """Unsplit, 10 assignments per HIT: 40 % of $0.18 is $0.072, rounded to $0.07 here: 20 × 0.07 = $1.40."""
    client = as_role("editor", draft)
    form = {"description": "Rate replies", "keywords": "", "lifetime_days": "3", "approve_after_hours": "24"}
    page = post(client, "console_platform", "mturk", **form, frame_height="700", **{"locales-0": "US"})
    assert "Saved." in page
    assert "$1.40" in page
    draft.refresh_from_db()
    assert (draft.platforms["mturk"]["lifetime_days"], draft.platforms["mturk"]["split"]) == (3, False)
    response = client.post(url("console_platform", "mturk"), form | {"lifetime_days": "0", "frame_height": "700"})
    assert response.status_code == 422


def test_a_warning_is_shown_whatever_words_it_contains(draft: Study) -> None:
    first, second = draft.items.order_by("position")
    Item.objects.filter(pk=second.pk).update(payload=first.payload, external_id="link-of-an-hour")
    Study.objects.filter(pk=draft.pk).update(identity="none")
    page = get(as_role("owner", draft), "console_platform", "mturk")
    assert "link-of-an-hour" in page
    assert "The open link cannot tell people apart" not in page


def test_the_balance_and_the_missing_amount_are_shown(draft: Study, requester: Any) -> None:
    client = as_role("editor", draft)
    assert "$1,000.00" in get(client, "console_platform_balance", "mturk")
    Study.objects.update(reward=Decimal("100"))
    assert "less than the total" in get(client, "console_platform_balance", "mturk")


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (PlatformTrouble("The key is wrong.", "Check HITSERVER_MTURK_ACCESS_KEY_ID."), "The key is wrong. Check"),
        (PlatformTrouble("https://example.org answered HTML.", "Check the address.", again=True), "answered HTML"),
    ],
)
def test_trouble_with_the_account_is_shown_on_the_page(
    trouble: PlatformTrouble, words: str, draft: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        raise trouble

    monkeypatch.setattr(Mturk, "call", refuse)
    assert words in get(as_role("editor", draft), "console_platform_balance", "mturk")


def test_without_a_key_the_page_says_how_to_set_one(draft: Study, settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID = ""
    client = as_role("owner", draft)
    page = get(client, "console_platform", "mturk")
    assert "Not connected" in page
    assert "HITSERVER_MTURK_ACCESS_KEY_ID" in page
    assert "$4.40" in page
    assert "HITSERVER_MTURK_ACCESS_KEY_ID" in publish(client)
    assert not Posting.objects.exists()


# --- publish ---


def test_one_click_launches_and_posts_everything(draft: Study, django_capture_on_commit_callbacks: Any) -> None:
    client = as_role("owner", draft)
    with django_capture_on_commit_callbacks(execute=True):
        page = publish(client, replace="on")
    assert "Publishing has started" in page
    assert MarketHit.objects.count() == 4
    draft.refresh_from_db()
    assert draft.status == "live"
    assert PlatformJob.objects.get(kind="publish").params == {"replace": True}
    assert AuditEntry.objects.filter(action="publish on a platform", detail__cost="$4.40").count() == 1
    assert "MTurk has 4 of 4 HITs." in get(client, "console_platforms")
    with django_capture_on_commit_callbacks(execute=True):
        publish(client)
    assert MarketHit.objects.count() == 4


def test_a_page_that_is_out_of_date_posts_nothing(draft: Study) -> None:
    client = as_role("owner", draft)
    version = hidden(get(client, "console_platform", "mturk"))["version"]
    Study.objects.update(reward=Decimal("1.80"))
    page = post(client, "console_platform_publish", "mturk", version=version)
    assert "the study changed since" in page
    assert not Posting.objects.exists()


def test_only_an_owner_publishes_and_spends(draft: Study) -> None:
    editor = as_role("editor", draft)
    assert "Only an owner" in get(editor, "console_platform", "mturk")
    assert editor.post(url("console_platform_publish", "mturk")).status_code == 404
    assert as_role("viewer", draft).get(url("console_platform_calls", "mturk")).status_code == 404


def test_a_reward_that_the_platform_cannot_pay_is_named(draft: Study) -> None:
    Study.objects.update(reward=Decimal("0.056"))
    client = as_role("owner", draft)
    assert "$0.056 is not one" in get(client, "console_platform", "mturk")
    assert "$0.056 is not one" in publish(client)
    assert not Posting.objects.exists()


def test_progress_is_shown_and_publishing_continues_after_trouble(
    draft: Study, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    client, whole = as_role("owner", draft), Mturk.call

    def poor(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        if operation == "create_hit_with_hit_type" and MarketHit.objects.count() == 3:
            raise PlatformTrouble("The platform answered: not enough money.", "Add money to the account.")
        return whole(self, operation, **params)

    with monkeypatch.context() as patched, django_capture_on_commit_callbacks(execute=True):
        patched.setattr(Mturk, "call", poor)
        publish(client)
    page = get(client, "console_platforms")
    assert "Publish: stopped" in page
    assert "Add money to the account." in page
    assert "1 of 4 HITs is not posted" in page
    assert "Failed or refused" in get(client, "console_platform_calls_made", show="refused")
    with django_capture_on_commit_callbacks(execute=True):
        post(client, "console_platform_continue")
    assert "MTurk has 4 of 4 HITs." in get(client, "console_platforms")
    assert MarketHit.objects.count() == 4


def test_the_part_that_updates_stops_when_nothing_is_under_way(posted: Study) -> None:
    client = as_role("viewer", posted)
    response = client.get(url("console_platform_progress"))
    assert (response.status_code, response["HX-Refresh"]) == (200, "true")
    PlatformJob.objects.create(
        study=posted, kind="sync", platform="mturk", actor="t", state="waiting", asked_at=timezone.now()
    )
    response = client.get(url("console_platform_progress"))
    assert "HX-Refresh" not in response
    assert "Sync now" not in response.content.decode()


def test_without_a_worker_process_the_page_says_so(posted: Study) -> None:
    long_ago = timezone.now() - timedelta(minutes=1)
    PlatformJob.objects.create(
        study=posted, kind="sync", platform="mturk", actor="t", state="waiting", asked_at=long_ago
    )
    assert "No worker process has started this yet" in get(as_role("owner", posted), "console_platforms")


# --- afterwards ---


def test_changing_the_offer_works_from_the_page(posted: Study, django_capture_on_commit_callbacks: Any) -> None:
    client = as_role("owner", posted)
    for name, data, states in (
        ("console_platform_pause", {}, {"paused"}),
        ("console_platform_resume", {}, {"open"}),
        ("console_platform_end", {}, {"expired"}),
        ("console_platform_extend", {"days": "3"}, {"open"}),
        ("console_platform_end", {"close": "on"}, {"expired"}),
        ("console_platform_delete", {}, {"deleted"}),
    ):
        with django_capture_on_commit_callbacks(execute=True):
            post(client, name, **data)
        assert set(posted.postings.values_list("state", flat=True)) == states, name
    posted.refresh_from_db()
    assert posted.status == "closed"
    assert "whole number" in post(client, "console_platform_extend", days="many")


def test_the_studys_own_buttons_pause_and_resume_the_offer_too(
    posted: Study, django_capture_on_commit_callbacks: Any
) -> None:
    client = as_role("editor", posted)
    for name, status, state in (("console_pause", "paused", "paused"), ("console_resume", "live", "open")):
        with django_capture_on_commit_callbacks(execute=True):
            page = post(client, name)
        posted.refresh_from_db()
        assert (posted.status, set(posted.postings.values_list("state", flat=True))) == (status, {state})
        assert "The same is being done on MTurk" in page


def test_a_pause_without_a_key_pauses_here_and_says_so(posted: Study, settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID = ""
    page = post(as_role("editor", posted), "console_pause")
    posted.refresh_from_db()
    assert posted.status == "paused"
    assert "Nothing changed on the platform" in page and "HITSERVER_MTURK_ACCESS_KEY_ID" in page


def test_a_pause_that_comes_after_the_resume_pauses_nothing(posted: Study) -> None:
    client = as_role("owner", posted)
    post(client, "console_platform_pause")  # the job waits
    Study.objects.filter(pk=posted.pk).update(status="live")
    job_actions.do_job(PlatformJob.objects.get(kind="pause").pk)
    assert PlatformJob.objects.get(kind="pause").said == "The study has been resumed, so nothing was paused."
    assert set(posted.postings.values_list("state", flat=True)) == {"open"}


def test_what_is_still_out_is_always_shown(posted: Study, api: Mturk) -> None:
    posting = posted.postings.order_by("pk")[0]
    worker = make_market_worker()
    work = send_here(posting, worker.worker_id, accept_there(posting, worker).assignment_id)
    Assignment.objects.filter(pk=work.pk).update(state="accepted")
    changing_offers.end_postings(study=posted, platform=api, actor="test")
    assert "<dt>In progress</dt><dd>1</dd>" in get(as_role("viewer", posted), "console_platforms")


def test_more_ratings_are_added_for_the_cost_that_was_shown(
    posted: Study, django_capture_on_commit_callbacks: Any
) -> None:
    client = as_role("owner", posted)
    page = get(client, "console_more_ratings", ratings="4")
    assert "$0.88" in page  # by hand: 2 hits × 2 more × ($0.18 + a fee of $0.04)
    fields = hidden(page)
    assert "It costs $0.88 now" in post(client, "console_more_ratings", ratings="4", total="0.01")
    with django_capture_on_commit_callbacks(execute=True):
        post(client, "console_more_ratings", ratings=fields["ratings"], total=fields["total"])
    assert set(MarketHit.objects.values_list("max_assignments", flat=True)) == {4}
    assert "Items already get 4 ratings" in get(client, "console_more_ratings", ratings="2")


def test_lost_places_are_offered_again_at_once(
    posted: Study, api: Mturk, django_capture_on_commit_callbacks: Any
) -> None:
    posting = posted.postings.order_by("pk")[0]
    send_both(posting)
    syncing.sync_study(study=posted, platform=api)
    deciding_on_platform.reject(outside=posting.outside.get(), platform=api, actor="test", feedback="Empty.")
    client = as_role("owner", posted)
    assert "1 place is lost or ended" in get(client, "console_platforms")
    with django_capture_on_commit_callbacks(execute=True):
        post(client, "console_platform_replace")
    assert "lost or ended" not in get(client, "console_platforms")


# --- reconcile ---


def test_each_difference_has_its_remedy(posted: Study, api: Mturk) -> None:
    first, second = posted.postings.order_by("pk")
    worker = make_market_worker()
    here = send_here(first, worker.worker_id, accept_there(first, worker).assignment_id)
    Assignment.objects.filter(pk=here.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    there = accept_there(second, make_market_worker())
    send_there(there)
    mixed = accept_there(second, make_market_worker())
    send_here(second, "ASTRANGER", mixed.assignment_id)
    send_there(mixed)
    syncing.sync_study(study=posted, platform=api)
    page = get(as_role("owner", posted), "console_reconcile")
    assert "time on the platform is over" in page
    assert f'name="work" value="{here.pk}"' in page
    assert there.assignment_id in page
    assert "Nothing arrived here." in page
    assert "2 submissions are unconfirmed" in page
    editor = as_role("editor", posted).get(url("console_reconcile")).content.decode()
    assert mixed.worker.worker_id in page
    assert mixed.worker.worker_id not in editor
    assert "acts as this worker" not in editor


def test_an_answer_that_cannot_be_fetched_is_explained(posted: Study, api: Mturk) -> None:
    posting = posted.postings.order_by("pk")[0]
    send_there(accept_there(posting, make_market_worker()))
    syncing.sync_study(study=posted, platform=api)
    client = as_role("editor", posted)
    page = post(client, "console_fetch_answer", outside=posting.outside.get().pk)
    assert "is not complete" in page
    assert client.post(url("console_fetch_answer"), {"outside": "x"}).status_code == 404


def test_a_worker_is_compensated_from_the_page(posted: Study) -> None:
    posting = posted.postings.order_by("pk")[0]
    worker = make_market_worker()
    work = send_here(posting, worker.worker_id, accept_there(posting, worker).assignment_id)
    owner = as_role("owner", posted)
    form = {"work": work.pk, "amount": "0.18", "reason": "Your time was up."}
    assert as_role("editor", posted).post(url("console_compensate"), form).status_code == 404
    assert "This amount cannot be paid" in post(owner, "console_compensate", **form | {"amount": "much"})
    assert "can accept a HIT that pays $0.18" in post(owner, "console_compensate", **form)
    assert "compensated before" in post(owner, "console_compensate", **form)
    assert Compensation.objects.count() == 1
    other = make_study(slug="other", items=1)
    assert as_role("owner", other).post(reverse("console_compensate", args=["other"]), form).status_code == 404


@pytest.mark.parametrize("name", [name for name in all_platforms() if name != "link"])
def test_every_platform_has_a_page_with_or_without_a_key(name: str, draft: Study) -> None:
    page = get(as_role("owner", draft), "console_platform", name)
    assert all_platforms()[name].title in page
    assert ("Total" in page) == (name != "panel")  # a panel first needs its name


def test_a_study_by_its_link_shows_the_choices(draft: Study) -> None:
    page = get(as_role("owner", draft), "console_platforms")
    assert "MTurk" in page
    assert publishing.offered_hits(draft) == []
    assert as_role("superuser", draft).get(url("console_platform", "nowhere")).status_code == 404
