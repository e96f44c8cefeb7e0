"""Counts this machine's requests, for ``/metrics``. Imported only where that address is open.

Each web process counts in files under HITSERVER_VAR, which the process that answers ``/metrics`` adds up. A process
has the number of its place among the web processes, not its process id: when one ends, the next one in its place
continues its files, so counts never fall and there are never more files than places.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from prometheus_client import values

from hitserver.watch.current_work import route_of

FOLDER = Path(settings.VAR) / "metrics"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: Seconds. Most pages take between 5 and 50 milliseconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_place = "main"

FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(FOLDER)
# Metrics take this class when they are made, so it is set before the first one.
values.ValueClass = values.MultiProcessValue(lambda: _place)  # type: ignore[no-untyped-call]

from prometheus_client import Counter, Histogram  # noqa: E402 - see above

requests = Counter(
    "hitserver_requests",
    "Requests that this machine has answered.",
    ["route", "method", "status"],
    registry=None,
)
seconds = Histogram(
    "hitserver_request_seconds",
    "Seconds from the arrival of a whole request to its answer.",
    ["route"],
    buckets=BUCKETS,
    registry=None,
)


def count(request: HttpRequest, status: int, duration: float) -> None:
    route = route_of(request)
    method = request.method if request.method in METHODS else "other"
    requests.labels(route, method, status).inc()
    seconds.labels(route).observe(duration)


def forget_earlier_counts() -> None:
    """When the server starts: deletes the files of the last time."""
    for file in FOLDER.glob("*.db"):
        file.unlink(missing_ok=True)


def free_place(web_processes: Iterable[Any]) -> int:
    """The lowest place that none of these processes has."""
    taken = {getattr(process, "place", None) for process in web_processes}
    return next(number for number in range(len(taken) + 1) if number not in taken)


def take_place(number: int) -> None:
    """In a new web process: counts from now on in the files of this place."""
    global _place
    _place = str(number)
