"""A program publishes a study on this server's own marketplace, watches it, changes the offer, and reconciles."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.api import jobs
from annotation.models import (
    ApiJob,
    Assignment,
    AuditEntry,
    Compensation,
    Payment,
    PlatformJob,
    Posting,
    Study,
    StudyBudget,
)
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import deciding_on_platform, job_actions, syncing
from annotation.review.bulk_decisions import run_action
from marketplace.models import Hit as MarketHit
from marketplace.models import Message
from tests.annotation.api.running_helpers import get, post, reasons, send
from tests.annotation.console_helpers import as_role
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here, send_there
from tests.factories import make_study
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
SLUG = "weather"


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    settings.MTURK_CALLS_PER_SECOND = 0
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


@pytest.fixture
def draft() -> Study:
    reward = Decimal("0.18")
    return make_study(items=2, ratings_per_item=10, hits_per_worker=None, live=False, reward=reward, slug=SLUG)


@pytest.fixture
def posted(api: Mturk) -> Study:
    return posted_study(api, items=2, ratings_per_item=2, slug=SLUG)


def ended(client: Client, response: Any) -> dict[str, Any]:
    """The job after a worker process has done it."""
    assert response.status_code == 202, response.content
    row = ApiJob.objects.get(pk=response.json()["id"])
    assert row.platform_job_id is not None
    job_actions.do_job(row.platform_job_id)
    job: dict[str, Any] = get(client, "api_job", row.pk)
    return job


def test_platforms_are_listed_with_their_settings(settings: Any) -> None:
    settings.PROLIFIC_TOKEN = ""
    listed = {row["name"]: row for row in get(as_role("viewer", make_study()), "api_platforms")}
    assert set(listed) == {"mturk", "prolific", "panel"}
    assert (listed["mturk"]["ready"], listed["prolific"]["ready"]) == (True, False)
    assert "HITSERVER_PROLIFIC_TOKEN" in listed["prolific"]["problem"]
    defaults = {setting["name"]: setting["default"] for setting in listed["mturk"]["settings"]}
    assert defaults["lifetime_days"] == 7


def test_a_dry_run_says_what_it_costs_and_posts_nothing(draft: Study) -> None:
    """By hand: 2 items × 10 at $0.18 are $3.60; 20 fees of $0.036, rounded to $0.04 here, are $0.80."""
    client = as_role("owner", draft)
    tried = post(client, "api_publish", SLUG, platform="mturk", dry_run=True)
    assert tried.status_code == 200, tried.content
    cost = tried.json()["cost"]
    assert (cost["rewards"], cost["fees"], cost["total"], cost["assignments"]) == ("3.600", "0.800", "4.400", 20)
    assert (sum(tried.json()["calls"].values()), tried.json()["problems"]) == (8, [])
    draft.refresh_from_db()
    assert (draft.status, Posting.objects.count(), ApiJob.objects.count()) == ("draft", 0, 0)


def test_a_dry_run_lists_what_prevents_publishing(draft: Study) -> None:
    draft.items.all().delete()
    tried = post(as_role("owner", draft), "api_publish", SLUG, platform="mturk", dry_run=True)
    assert "The study has no items. Import items first." in tried.json()["problems"]


def test_publishing_is_a_job_and_happens_once(draft: Study) -> None:
    client = as_role("owner", draft)
    answers = [post(client, "api_publish", SLUG, key="p1", platform="mturk", total="4.40") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    job = ended(client, answers[0])
    assert (job["state"], job["kind"], job["progress"]["unit"]) == ("done", "publish", "postings")
    assert job["progress"]["done"] == job["progress"]["total"] == MarketHit.objects.count() == 4
    draft.refresh_from_db()
    assert draft.status == "live"
    assert AuditEntry.objects.filter(action="publish on a platform").count() == 1
    shown = get(client, "api_study_platform", SLUG)
    assert (shown["platform"], shown["offer"]["posted"], shown["spending"]["committed"]) == ("mturk", 4, "4.400")
    again = ended(client, post(client, "api_publish", SLUG, platform="mturk"))
    assert (again["state"], MarketHit.objects.count()) == ("done", 4)


def test_a_cost_that_has_changed_posts_nothing(draft: Study) -> None:
    response = post(as_role("owner", draft), "api_publish", SLUG, platform="mturk", total="4.00")
    assert reasons(response) == [("total", "It costs $4.40 now.")]
    draft.refresh_from_db()
    assert draft.status == "draft"


def test_without_a_key_the_program_reads_what_to_set(
    draft: Study, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROLIFIC_TOKEN = ""
    response = post(as_role("owner", draft), "api_publish", SLUG, key="p1", platform="prolific")
    assert (response.status_code, "HITSERVER_PROLIFIC_TOKEN" in response.json()["detail"]) == (422, True)
    assert not PlatformJob.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "platform"), ({"platform": "link"}, "platform"), ({"platform": "mturk", "total": "cheap"}, "total")],
)
def test_what_cannot_be_published_is_refused(body: dict[str, Any], field: str, draft: Study) -> None:
    response = post(as_role("owner", draft), "api_publish", SLUG, **body)
    assert (response.status_code, [where for where, _ in reasons(response)]) == (422, [field])


def test_work_that_is_in_progress_is_not_asked_for_again(posted: Study) -> None:
    client = as_role("owner", posted)
    job = post(client, "api_platform_sync", SLUG).json()
    PlatformJob.objects.update(state="running", seen_at="2100-01-01T00:00Z")
    assert get(client, "api_job", job["id"])["state"] == "running"
    response = post(client, "api_platform_sync", SLUG)
    assert reasons(response) == [("job", "“Sync” is already in progress.")]


def test_a_sync_says_what_it_found(posted: Study) -> None:
    client = as_role("editor", posted)
    for posting in Posting.objects.all():
        send_both(posting)
    job = ended(client, post(client, "api_platform_sync", SLUG))
    assert (job["state"], "2 HITs asked for" in job["message"]) == ("done", True)
    assert get(client, "api_study_platform", SLUG)["offer"]["sent"] == {"submitted": 2}


def test_the_result_of_a_job_stays_when_the_work_is_asked_for_again(posted: Study) -> None:
    client = as_role("editor", posted)
    first = ended(client, post(client, "api_platform_sync", SLUG))
    second = post(client, "api_platform_sync", SLUG).json()
    assert get(client, "api_job", first["id"]) == first
    assert get(client, "api_job", second["id"])["state"] == "queued"


def test_approving_pays_on_the_platform_once(posted: Study, api: Mturk) -> None:
    client = as_role("owner", posted)
    sent = send_both(Posting.objects.order_by("pk")[0])
    syncing.sync_study(study=posted, platform=api)
    for _ in range(2):
        response = post(client, "api_approve", SLUG, sent.submission.pk, key="a1")
        bulk = ApiJob.objects.get(pk=response.json()["id"]).bulk
        assert bulk is not None
        run_action(bulk_id=bulk.pk, connect=lambda name, study: api)
    assert get(client, "api_job", response.json()["id"])["state"] == "done"
    assert [str(payment.amount) for payment in Payment.objects.all()] == ["0.180"]
    assert get(client, "api_submission", SLUG, sent.submission.pk)["pay"] == "paid"


def test_a_platform_that_is_away_shows_in_the_job(posted: Study, api: Mturk, monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("owner", posted)
    sent = send_both(Posting.objects.order_by("pk")[0])
    syncing.sync_study(study=posted, platform=api)
    job = post(client, "api_approve", SLUG, sent.submission.pk).json()
    bulk = ApiJob.objects.get(pk=job["id"]).bulk
    assert bulk is not None

    def away(name: str, study: Study) -> Any:
        raise PlatformTrouble("The platform does not answer.", "Wait.", again=True)

    run_action(bulk_id=bulk.pk, connect=away)
    shown = get(client, "api_job", job["id"])
    assert (shown["state"], "does not answer" in shown["message"]) == ("queued", True)
    assert "tries again" in shown["fix"]


def test_what_the_platform_refuses_is_in_the_row(posted: Study, api: Mturk) -> None:
    client = as_role("owner", posted)
    sent = send_both(Posting.objects.order_by("pk")[0])
    syncing.sync_study(study=posted, platform=api)
    job = post(client, "api_approve_many", SLUG, ids=[sent.submission.pk]).json()
    bulk = ApiJob.objects.get(pk=job["id"]).bulk
    assert bulk is not None

    def poor(name: str, study: Study) -> Any:
        raise PlatformTrouble("The account has too little money.", "Add some.", again=False)

    run_action(bulk_id=bulk.pk, connect=poor)
    result = get(client, "api_job", job["id"])["result"]
    assert result["rows"] == [{"submission": sent.submission.pk, "refused": "The account has too little money."}]
    assert (result["done"], result["refused"]) == (0, 1)


def test_the_offer_is_extended_and_ended(posted: Study) -> None:
    client = as_role("owner", posted)
    assert post(client, "api_platform_extend", SLUG, days=3, dry_run=True).json()["postings"] == 2
    assert ended(client, post(client, "api_platform_extend", SLUG, days=3))["state"] == "done"
    assert post(client, "api_platform_end", SLUG, dry_run=True).json()["postings"] == 2
    assert ended(client, post(client, "api_platform_end", SLUG, close=True))["message"].startswith("2 HITs ended")
    posted.refresh_from_db()
    assert posted.status == "closed"
    assert set(Posting.objects.values_list("state", flat=True)) == {"expired"}
    assert post(client, "api_platform_extend", SLUG, days=3).status_code == 409
    assert reasons(post(client, "api_platform_extend", SLUG, days=366))[0][0] == "days"


def test_more_ratings_cost_what_the_dry_run_says(posted: Study) -> None:
    """2 hits × 1 more at $0.18 are $0.36, with two fees of $0.04."""
    client = as_role("owner", posted)
    tried = post(client, "api_add_ratings", SLUG, ratings=3, dry_run=True).json()
    assert tried["cost"]["total"] == "0.440"
    assert reasons(post(client, "api_add_ratings", SLUG, ratings=3, total="0.10"))[0][0] == "total"
    assert ended(client, post(client, "api_add_ratings", SLUG, ratings=3, total="0.44"))["state"] == "done"
    posted.refresh_from_db()
    assert posted.ratings_per_item == 3
    too_few = post(client, "api_add_ratings", SLUG, ratings=3)
    assert reasons(too_few) == [("ratings", "Items already get 3 ratings.")]


def test_the_budget_is_a_limit(posted: Study) -> None:
    client = as_role("owner", posted)
    changed = send(client, "PUT", "api_budget", SLUG, budget="50.00")
    assert (changed.status_code, changed.json()["budget"]) == (200, "50.000")
    StudyBudget.objects.update(amount=Decimal("0.90"))
    refused = post(client, "api_add_ratings", SLUG, ratings=9)
    assert (refused.status_code, reasons(refused)[0][0]) == (422, "budget")
    posted.refresh_from_db()
    assert posted.ratings_per_item == 2


def test_differences_are_listed_and_compensated_once(posted: Study, api: Mturk) -> None:
    client = as_role("owner", posted)
    first, second = Posting.objects.order_by("pk")
    here = send_here(first, make_market_worker().worker_id, "A-UNKNOWN")
    send_there(accept_there(second, make_market_worker()))
    syncing.sync_study(study=posted, platform=api)
    listed = get(client, "api_differences", SLUG)
    assert listed["counts"] == {"here_only": 1, "there_only": 1, "other_worker": 0}
    assert [row["assignment"] for row in listed["here_only"]] == [here.pk]
    refused = post(client, "api_fetch_work", SLUG, outside=listed["there_only"][0]["outside"])
    assert (refused.status_code, bool(reasons(refused))) == (422, True)

    Assignment.objects.update(expires_at="2020-01-01T00:00Z")
    response = post(client, "api_compensate", SLUG, key="c1", assignment=here.pk, amount="0.18", reason="Sorry.")
    assert jobs.do_job(response.json()["id"])
    assert get(client, "api_job", response.json()["id"])["state"] == "done"
    again = post(client, "api_compensate", SLUG, key="c2", assignment=here.pk, amount="0.18", reason="Sorry.")
    jobs.do_job(again.json()["id"])
    assert Compensation.objects.count() == 1
    unknown = post(client, "api_compensate", SLUG, assignment=10**6, amount="0.18", reason="x")
    assert (unknown.status_code, reasons(unknown)) == (422, [("assignment", "This study has no assignment 1000000.")])


def test_a_message_reaches_nobody_twice(posted: Study, api: Mturk) -> None:
    client = as_role("owner", posted)
    posting = Posting.objects.order_by("pk")[0]
    send_both(posting)
    syncing.sync_study(study=posted, platform=api)
    deciding_on_platform.approve(outside=posting.outside.get(), platform=api, actor="test")
    before = Message.objects.count()
    job = post(client, "api_message_workers", SLUG, key="m1", subject="Thanks", text="We are done.").json()
    assert post(client, "api_message_workers", SLUG, key="m1", subject="Thanks", text="We are done.").json() == job
    assert jobs.do_job(job["id"])
    done = get(client, "api_job", job["id"])
    assert (done["state"], done["message"]) == ("done", "Sent to 1 worker.")
    ApiJob.objects.update(state="queued")
    assert jobs.do_job(job["id"])  # a process that was killed after sending, before it could note that
    assert Message.objects.count() == before + 1


def test_a_study_on_no_platform(draft: Study) -> None:
    client = as_role("owner", draft)
    assert get(client, "api_study_platform", SLUG)["offer"] is None
    for name in ("api_platform_sync", "api_platform_end", "api_platform_continue", "api_platform_replace"):
        response = post(client, name, SLUG)
        assert (response.status_code, response.json()["detail"]) == (
            409,
            "This study is on no platform. Publish it first.",
        )
    assert client.get(reverse("api_differences", args=[SLUG])).json()["counts"]["here_only"] == 0
