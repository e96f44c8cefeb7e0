"""Which background tasks the scheduler sends, and how often, by the parts of HITServer that run on this server."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from celery.schedules import crontab

#: Names in ``annotation.tasks``, and every how many seconds the scheduler sends them.
STUDIES = {
    "sync_due": 60,
    "listen": 30,
    "look_for_objections": 900,
    "continue_bulk": 60,
    "grant_qualifications": 60,
    "continue_api_jobs": 60,
    "announce_progress": 60,
    "deliver_webhooks": 60,
    "reclaim_expired": 30,
    "follow_feeds": 60,
    "wake_judges": 60,
    "tell_of_complete_studies": 60,
    "stop_early": 60,
    "count_work": 15,
}
#: The hour and the minute of what the scheduler sends once a night.
NIGHTLY = {"annotation.tasks.check_due_quality": ("3", "20"), "annotation.tasks.check_totals": ("4", "40")}
MARKETPLACE = {
    "marketplace.tasks.upkeep": 30,
    "marketplace.services.deliveries.deliver_due": 30,
    "marketplace.tasks.remove_files": 600,
}
#: What the server does whatever its parts are.
WATCH = {"hitserver.tasks.watch": 300}
ROOMS = ("results", "recruiting", "review", "api", "webhooks", "judging")
STUDY_MODULES = tuple(f"annotation.{room}.tasks" for room in ROOMS)
MARKETPLACE_MODULES = (
    "marketplace.services.messages.notification_delivery",
    "marketplace.services.accounts.sign_in_links",
)


def beat_schedule(parts: Sequence[str], *, sync_seconds: int, wake_seconds: int) -> dict[str, dict[str, Any]]:
    """What Celery's scheduler sends. A task that nobody took until its next turn is dropped."""
    every = dict(WATCH)
    schedule: dict[str, dict[str, Any]] = {
        "hitserver.tasks.try_backup": {
            "task": "hitserver.tasks.try_backup",
            "schedule": crontab(hour="4", minute="40"),
            "options": {"expires": 6 * 3600},
        }
    }
    if "studies" in parts:
        every |= {f"annotation.tasks.{name}": seconds for name, seconds in STUDIES.items()}
        every["annotation.tasks.sync_due"] = min(STUDIES["sync_due"], sync_seconds)
        every["generation.tasks.wake"] = wake_seconds
        for name, (hour, minute) in NIGHTLY.items():
            schedule[name] = {
                "task": name,
                "schedule": crontab(hour=hour, minute=minute),
                "options": {"expires": 6 * 3600},
            }
    if "marketplace" in parts:
        every |= MARKETPLACE
    for name, seconds in every.items():
        schedule[name] = {"task": name, "schedule": timedelta(seconds=seconds), "options": {"expires": seconds}}
    return schedule


def task_modules(parts: Sequence[str]) -> list[str]:
    """Modules with tasks outside an app's own module ``tasks``."""
    return [
        *(STUDY_MODULES if "studies" in parts else ()),
        *(MARKETPLACE_MODULES if "marketplace" in parts else ()),
    ]
