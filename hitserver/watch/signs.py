"""Signs of life: each process writes every half minute that it is there, for the page *Server* and for ``/metrics``.

They are in the database, so every machine sees those of all others, and they do not depend on the task queue.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from datetime import datetime, timedelta

from django.db import DatabaseError, connections
from django.utils import timezone

from hitserver.models import ProcessSign
from hitserver.version import version

logger = logging.getLogger(__name__)
Kind = ProcessSign.Kind
EVERY_SECONDS = 30.0
#: Longer than a process may have to wait until it can write.
ALIVE_FOR = timedelta(seconds=100)
FORGOTTEN_AFTER = timedelta(days=1)


def machine() -> str:
    return socket.gethostname()[:60]


def give_sign(kind: str, *, queues: str = "", started_at: datetime | None = None) -> None:
    """Note that this process is alive. A database that is away is only logged."""
    now = timezone.now()
    values = {"kind": kind, "queues": queues[:100], "version": version(), "seen_at": now}
    try:
        ProcessSign.objects.update_or_create(
            machine=machine(),
            pid=os.getpid(),
            defaults=values,
            create_defaults=values | {"started_at": started_at or now},
        )
    except DatabaseError as error:
        logger.warning("This process could not note that it is alive: %s", str(error).strip() or type(error).__name__)


def begin(kind: str, *, queues: str = "") -> None:
    """Give signs in a thread of this process until it ends. Call it after the last fork."""
    started_at = timezone.now()

    def run() -> None:
        while True:
            give_sign(kind, queues=queues, started_at=started_at)
            connections.close_all()  # those of this thread
            time.sleep(EVERY_SECONDS)

    threading.Thread(target=run, name="signs", daemon=True).start()


def forget_old() -> None:
    """Delete the rows of processes that ended long ago."""
    ProcessSign.objects.filter(seen_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()


def forget_this_machine() -> None:
    """When the server starts: delete the rows of the processes that ran here before."""
    ProcessSign.objects.filter(machine=machine()).delete()
