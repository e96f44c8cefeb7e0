"""Gunicorn's configuration. The supervisor adds the socket, which it binds before anything else starts."""

import gc
from pathlib import Path
from typing import Any

from django.conf import settings

from hitserver.processes import allow_open_files, die_with_parent, limit_memory

wsgi_app = "hitserver.wsgi:application"
worker_class = "hitserver.web_worker.Worker"
# Each connection is an open file. Some systems allow 1,024 unless a process asks for more.
worker_connections = max(100, min(1000, allow_open_files(4096) - 300))
workers = settings.WEB_WORKERS
threads = settings.WEB_THREADS
# The application is loaded once for all workers, so they start immediately and share its memory.
preload_app = True
keepalive = 15
timeout = 60
graceful_timeout = 8
# The heartbeat is a file that changes all the time, so it belongs in memory, not on a disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - Gunicorn makes a file of its own there
# The proxies that we trust to report that a request came over https.
forwarded_allow_ips = ",".join(settings.PROXY_IPS)
# All servers of a user would share one control socket in the home folder.
control_socket_disable = True
logger_class = "hitserver.logs.NoAccessLog"
logconfig_dict = settings.LOGGING


def when_ready(server: Any) -> None:
    """Runs before the processes that answer requests start."""
    from hitserver.preloading import load_for_requests

    load_for_requests(server.app.wsgi())
    if settings.METRICS_OPEN:  # counts of the last time, and of loading, are not those of this server
        from hitserver.watch.counting import forget_earlier_counts

        forget_earlier_counts()
    gc.freeze()


def pre_fork(server: Any, worker: Any) -> None:
    """Two processes must not share a connection that was opened during loading."""
    from django.db import connections

    connections.close_all()
    if settings.METRICS_OPEN:
        from hitserver.watch.counting import free_place

        worker.place = free_place(server.WORKERS.values())


def post_fork(server: Any, worker: Any) -> None:
    die_with_parent()
    limit_memory(settings.WEB_MEMORY_BYTES)
    if settings.METRICS_OPEN:
        from hitserver.watch.counting import take_place

        take_place(worker.place)


def post_worker_init(worker: Any) -> None:
    from hitserver.watch import reporting, signs

    signs.begin(signs.Kind.WEB)
    reporting.begin()
