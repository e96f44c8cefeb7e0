"""How Gunicorn serves; the supervisor adds the socket, bound before anything else started."""

import gc
from pathlib import Path
from typing import Any

from django.conf import settings

from hitserver.processes import die_with_parent

wsgi_app = "hitserver.wsgi:application"
worker_class = "gthread"
workers = settings.WEB_WORKERS
threads = settings.WEB_THREADS
# The application is loaded once and shared by the workers: they start at once and share its memory.
preload_app = True
keepalive = 15
timeout = 60
graceful_timeout = 8
# A heartbeat is a file that changes all the time: better in memory than on a disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - Gunicorn makes a file of its own there
# Whose word is taken for a request having come over https.
forwarded_allow_ips = ",".join(settings.PROXY_IPS)
# It would listen at one place in the home folder for all servers of a user.
control_socket_disable = True
logger_class = "hitserver.logs.NoAccessLog"
logconfig_dict = settings.LOGGING


def when_ready(server: Any) -> None:
    """Loads the views too, which Django would leave to the first request of each worker."""
    from django.urls import get_resolver

    get_resolver().check()
    gc.freeze()


def pre_fork(server: Any, worker: Any) -> None:
    """A connection opened while loading must not be shared by two processes."""
    from django.db import connections

    connections.close_all()


def post_fork(server: Any, worker: Any) -> None:
    die_with_parent()
