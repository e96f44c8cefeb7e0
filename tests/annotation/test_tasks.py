"""What runs in the background."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from annotation.models import Assignment
from annotation.tasks import follow_feeds, reclaim_expired
from hitserver import celery_app
from tests.factories import make_assignment

pytestmark = pytest.mark.django_db


def test_places_of_work_whose_time_is_up_are_freed_and_doing_it_twice_is_safe() -> None:
    late, busy = make_assignment(), make_assignment()
    Assignment.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert [reclaim_expired(), reclaim_expired()] == [1, 0]
    late.refresh_from_db()
    busy.refresh_from_db()
    assert (late.state, busy.state) == ("abandoned", "accepted")
    late.hit.refresh_from_db()
    assert late.hit.n_live == 0


def test_following_other_studies_without_any_to_follow_does_nothing() -> None:
    assert follow_feeds() == 0


def test_every_scheduled_task_exists() -> None:
    celery_app.loader.import_default_modules()
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(celery_app.tasks)
