"""Faults on demand, to test how a client handles them. Off unless MARKETPLACE_TEST_CONTROLS is on.

A plan is a list of faults. Each applies to a number of requests for one operation (or for any):

    {"kind": "latency", "operation": "GetHIT", "times": 2, "seconds": 1.5}
    {"kind": "throttle"}  {"kind": "error"}  {"kind": "lost_response", "operation": "CreateHIT"}
    {"kind": "duplicate_notification"}

`error` answers ServiceFault before anything is done; `lost_response` does everything and then breaks the connection.
A `share` below 1 leaves out some of the requests: {"kind": "throttle", "times": 1000, "share": 0.05} refuses about one
request in twenty. Which ones follows from their number alone, so a test that repeats its requests repeats its faults.
The plan is a file that all processes on a machine share. Tests set it through ``wire.test_controls``.
"""

import fcntl
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from marketplace import clock

KINDS = ("latency", "throttle", "error", "lost_response", "duplicate_notification")


@dataclass(slots=True)
class Fault:
    kind: str
    operation: str = ""
    times: int = 1
    seconds: float = 0.0
    share: float = 1.0
    seen: int = 0

    def strikes(self) -> bool:
        """Whether it applies to this request. Call it once for each request that it could apply to."""
        if self.share >= 1:
            return True
        self.seen += 1
        return random.Random(f"{self.kind}/{self.operation}/{self.seen}").random() < self.share  # noqa: S311 - a test


def response_is_lost(operation: str) -> bool:
    return take("lost_response", operation) is not None


def notification_is_doubled() -> bool:
    return take("duplicate_notification", "") is not None


def take(kind: str, operation: str) -> Fault | None:
    """The first fault of this kind that is due for the operation. This uses up one of its times."""
    if not clock.controls_are_on() or not _path().exists():
        return None
    with _plan() as faults:
        for fault in faults:
            due = fault.kind == kind and fault.times > 0 and fault.operation in ("", operation)
            if due and fault.strikes():
                fault.times -= 1
                return fault
    return None


def set_faults(faults: list[Fault]) -> None:
    """Replaces the plan."""
    with _plan() as planned:
        planned[:] = faults


def _path() -> Path:
    return Path(settings.VAR) / "marketplace-faults.json"


@contextmanager
def _plan() -> Iterator[list[Fault]]:
    """The plan, locked so that no other process can use it, and written back if it changed."""
    with _path().open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        faults = [Fault(**fields) for fields in json.loads(text or "[]")]
        yield faults
        changed = json.dumps([asdict(fault) for fault in faults if fault.times > 0])
        if changed != text:
            file.truncate(0)
            file.write(changed)
            file.flush()
