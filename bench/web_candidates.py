"""One web server with this application, as a process: ``python -m bench.web_candidates NAME SOCKET_FD PORT``.

All get the same processes, threads and preloaded code. Waitress has no processes of its own, so they are forked here.
Granian binds its own sockets, one for each process. The others use the open socket.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing import set_start_method
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import connections

from hitserver.preloading import load_for_requests
from hitserver.processes import allow_open_files, die_with_parent
from hitserver.wsgi import application as site

#: More for each process than there are slow clients: neither of the two makes room when it is full.
CONNECTIONS = 3000


class Application(WSGIHandler):
    """The site. A query ``wait=SECONDS`` delays the response."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        query = environ["QUERY_STRING"]
        if query.startswith("wait="):
            time.sleep(float(query.removeprefix("wait=")))
        return site(environ, start_response)


application = Application()


def gunicorn(socket_fd: int, *options: str) -> None:
    command = [sys.executable, "-m", "gunicorn", "--config", "python:hitserver.gunicorn_conf", *options]
    os.execv(sys.executable, [*command, "--bind", f"fd://{socket_fd}", "bench.web_candidates:application"])  # noqa: S606 - a fixed command


def waitress(socket_fd: int) -> None:
    from waitress import serve

    load_for_requests(application)
    gc.freeze()
    pids = []
    for _ in range(settings.WEB_WORKERS):
        pid = os.fork()
        if not pid:
            die_with_parent()
            connections.close_all()
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
            serve(
                application,
                sockets=[socket.socket(fileno=socket_fd)],
                threads=settings.WEB_THREADS,
                connection_limit=CONNECTIONS,
                max_request_body_size=settings.MAX_UPLOAD_BYTES + 1,
                channel_timeout=settings.REQUEST_SECONDS,
                cleanup_interval=1,
                asyncore_use_poll=True,
            )
            os._exit(0)
        pids.append(pid)

    def stop(number: int, frame: object) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    os.close(socket_fd)
    for pid in pids:
        os.waitpid(pid, 0)


def granian(port: int) -> None:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.server import Server

    load_for_requests(application)
    gc.freeze()
    set_start_method("fork")
    server = Server(
        "bench.web_candidates:application",
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        workers=settings.WEB_WORKERS,
        blocking_threads=settings.WEB_THREADS,
        backlog=2048,
        backpressure=CONNECTIONS,
        http1_settings=HTTP1Settings(header_read_timeout=settings.REQUEST_SECONDS * 1000),
        workers_kill_timeout=8,
        log_enabled=False,
    )
    server.serve(target_loader=lambda *arguments: application)


def main() -> None:
    name, socket_fd, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    die_with_parent()
    allow_open_files(CONNECTIONS + 300)
    start: dict[str, Callable[[], None]] = {
        "ours": lambda: gunicorn(socket_fd),
        "gthread": lambda: gunicorn(socket_fd, "--worker-class", "gthread"),
        "waitress": lambda: waitress(socket_fd),
        "granian": lambda: granian(port),
    }
    start[name]()


if __name__ == "__main__":
    main()
