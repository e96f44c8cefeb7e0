"""Whether this server works, for load balancers, monitoring and the supervisor. `docs/operating.md` describes it.

Nothing here waits long: a check that hangs would itself look like an outage.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

PLAIN = "text/plain; charset=utf-8"
OK = "ok"
#: Below this, the page says so while everything still works.
LITTLE_SPACE_BYTES = 500 * 1024 * 1024
#: How long an answer about the broker is used again. Every visit would open a connection to it otherwise.
BROKER_SECONDS = 5.0
_broker_lock = threading.Lock()
_broker_seen: tuple[float, str] | None = None


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """200 whenever this process can answer at all. Looks at nothing else."""
    return HttpResponse("ok\n", content_type=PLAIN)


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when pages work, that is the database and the disk; else 503. The text also tells about the broker."""
    database, (disk, space), broker = database_state(), disk_state(), broker_state()
    works = database == disk == OK
    word = (OK if broker == space == OK else "degraded") if works else "failed"
    lines = [word, f"database: {database}", f"disk: {disk if disk != OK else space}", f"broker: {broker}"]
    return HttpResponse("\n".join([*lines, ""]), status=200 if works else 503, content_type=PLAIN)


def database_state() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        connection.close()  # the next request opens a new one
        return "does not answer"
    return OK


def disk_state() -> tuple[str, str]:
    """Whether the server's folder takes data, and whether there is space left."""
    try:
        with tempfile.TemporaryFile(dir=settings.VAR) as file:
            file.write(bytes(4096))
            file.flush()
        free = shutil.disk_usage(settings.VAR).free
    except OSError as error:
        return f"cannot be written to ({error.strerror or type(error).__name__})", OK
    return OK, OK if free >= LITTLE_SPACE_BYTES else f"almost full: {free // 1024**2} MB left"


def broker_state() -> str:
    """Whether the task queue takes tasks, as it was at most ``BROKER_SECONDS`` ago."""
    global _broker_seen
    with _broker_lock:
        now = time.monotonic()
        if _broker_seen is None or now - _broker_seen[0] > BROKER_SECONDS:
            state = OK
            try:
                with current_app.connection_for_write() as broker:
                    broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0, interval_max=0)
                    broker.channel().close()
            except Exception:  # each transport has its own errors; none may hide what the rest of the page tells
                state = "does not answer; pages work, background tasks wait"
            _broker_seen = (now, state)
        return _broker_seen[1]
