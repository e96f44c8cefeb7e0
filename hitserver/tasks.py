"""The server's own background tasks. Each may run twice."""

from __future__ import annotations

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded

from hitserver.backup import drill
from hitserver.watch import alarms, signs


@shared_task(name="hitserver.tasks.watch")  # type: ignore[untyped-decorator]  # Celery has no types
def watch() -> int:
    """Look for what needs a person, and mail about it. Returns how many things do."""
    signs.forget_old()
    return alarms.check()


@shared_task(name="hitserver.tasks.try_backup")  # type: ignore[untyped-decorator]
def try_backup() -> bool:
    """Try the newest backup by restoring it, if that is due. True if it was tried and works."""
    if not drill.is_due():
        return False
    try:
        note = drill.try_newest()
    except SoftTimeLimitExceeded:
        drill.note_time_up()
        return False
    return bool(note and note.works)
