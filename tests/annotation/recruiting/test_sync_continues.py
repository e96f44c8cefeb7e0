"""A sync that was interrupted continues where it stopped."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F

from annotation.models import PlatformJob, Posting, Study
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import job_actions, job_requests
from tests.annotation.recruiting.faults import Killed
from tests.annotation.recruiting.helpers import posted_study, send_both

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(Mturk, "connected", classmethod(lambda cls, account=None: api))
    return posted_study(api, items=4, ratings_per_item=1)


@pytest.fixture
def polled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The HITs that were polled, in order. The process is killed at the third."""
    whole, hits = Mturk.call, []

    def call(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        if operation == "list_assignments_for_hit":
            hits.append(params["HITId"])
            if len(hits) == 3:
                raise Killed
        return whole(self, operation, **params)

    monkeypatch.setattr(Mturk, "call", call)
    return hits


def names(study: Study) -> list[str]:
    return list(study.postings.order_by("pk").values_list("external_id", flat=True))


def sync(study: Study) -> str:
    out = io.StringIO()
    call_command("study", "sync", study.slug, stdout=out, stderr=out)
    return out.getvalue()


def test_the_command_continues_at_the_hit_at_which_it_was_killed(study: Study, polled: list[str]) -> None:
    first, second, third, fourth = names(study)
    with pytest.raises(Killed):
        sync(study)
    assert "2 HITs asked for" in sync(study)
    assert polled == [first, second, third, third, fourth]
    polled.clear()
    polled += ["-"] * 3  # nothing is killed any more
    assert "4 HITs asked for" in sync(study)


def test_work_that_was_sent_since_it_was_interrupted_is_found(study: Study, polled: list[str]) -> None:
    first, second, third, fourth = names(study)
    with pytest.raises(Killed):
        sync(study)
    send_both(study.postings.get(external_id=second))
    said = sync(study)
    assert "This continues the sync that began" in said
    assert "Here only" not in said
    assert polled == [first, second, third, second, third, fourth]
    polled.clear()
    polled += ["-"] * 3
    assert "This continues" not in sync(study)


def test_a_sync_that_was_interrupted_long_ago_begins_again(study: Study, polled: list[str]) -> None:
    with pytest.raises(Killed):
        sync(study)
    PlatformJob.objects.update(asked_at=F("asked_at") - timedelta(hours=2))
    Posting.objects.exclude(synced_at=None).update(synced_at=F("synced_at") - timedelta(hours=2))
    assert "4 HITs asked for" in sync(study)


def test_a_background_sync_continues_too(study: Study, polled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_requests, "send", lambda job_id: True)
    job = job_requests.request_job(study=study, kind=PlatformJob.Kind.SYNC, platform="mturk", actor="ada")
    with pytest.raises(Killed):
        job_actions.do_job(job.pk)
    PlatformJob.objects.update(seen_at=F("seen_at") - job_requests.LEASE)
    assert job_actions.do_job(job.pk)
    first, second, third, fourth = names(study)
    assert polled == [first, second, third, third, fourth]


def test_an_older_process_of_the_same_command_stops_when_another_continues(study: Study) -> None:
    begun = job_requests.begin_here(study=study, kind=PlatformJob.Kind.POLL, platform="mturk", actor="a")
    job_requests.begin_here(study=study, kind=PlatformJob.Kind.POLL, platform="mturk", actor="b")
    with pytest.raises(job_requests.LockLost):
        begun.step(1, 1)
