"""Trouble on demand, so that a client's way with it can be tested. Off unless MARKETPLACE_TEST_CONTROLS is on.

A plan is a list of faults, each for so many requests of one operation (or of any):

    {"kind": "latency", "operation": "GetHIT", "times": 2, "seconds": 1.5}
    {"kind": "throttle"}  {"kind": "error"}  {"kind": "lost_response", "operation": "CreateHIT"}
    {"kind": "duplicate_notification"}

`error` answers ServiceFault before anything is done; `lost_response` does everything and then breaks the connection.
The plan is a file that all processes of a machine share. It is ordered, like a move of the clock, by a signed POST to
the endpoint whose X-Amz-Target begins with MarketplaceTestControls.
"""

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from marketplace import clock
from marketplace.wire import service
from marketplace.wire.errors import ProtocolError, ServiceFault, ThrottlingError, bad_parameter

TARGET = "MarketplaceTestControls"
KINDS = ("latency", "throttle", "error", "lost_response", "duplicate_notification")


@dataclass(slots=True)
class Fault:
    kind: str
    operation: str = ""
    times: int = 1
    seconds: float = 0.0


def before(operation: str) -> None:
    """What is planned to go wrong before the operation is carried out."""
    if fault := take("latency", operation):
        time.sleep(fault.seconds)
    if take("throttle", operation):
        raise ThrottlingError
    if take("error", operation):
        raise ServiceFault("This fault was ordered.")


def response_is_lost(operation: str) -> bool:
    return take("lost_response", operation) is not None


def notification_is_doubled() -> bool:
    return take("duplicate_notification", "") is not None


def take(kind: str, operation: str) -> Fault | None:
    """The first fault of this kind that is due for the operation; it is due one time less afterwards."""
    if not clock.controls_are_on() or not _path().exists():
        return None
    with _plan() as faults:
        for fault in faults:
            if fault.kind == kind and fault.times > 0 and fault.operation in ("", operation):
                fault.times -= 1
                return fault
    return None


def control(target: str, body: dict[str, Any]) -> dict[str, Any]:
    """Carries out one order of a test: SetFaults {"Faults": […]}, SetClock {"AheadInSeconds": 3600}, GetClock {}."""
    order = target.partition(".")[2] if clock.controls_are_on() else ""
    if order == "SetFaults":
        set_faults([_fault(each) for each in body.get("Faults", [])])
    elif order == "SetClock":
        ahead = body.get("AheadInSeconds")
        if isinstance(ahead, bool) or not isinstance(ahead, int) or abs(ahead) > 10**9:
            raise bad_parameter("AheadInSeconds", ahead)
        clock.set_offset(timedelta(seconds=ahead))
    elif order != "GetClock":
        raise ProtocolError("UnknownOperationException", f"There is no operation {target[:100]!r}.")
    return {"Now": clock.now().timestamp()}


def set_faults(faults: list[Fault]) -> None:
    """Replaces the plan."""
    with _plan() as planned:
        planned[:] = faults


def _fault(given: Any) -> Fault:
    try:
        fault = Fault(**given)
        right = fault.kind in KINDS and (not fault.operation or fault.operation in service.operations())
        right = right and 0 <= int(fault.times) <= 10**6 and 0 <= float(fault.seconds) <= 600
    except (TypeError, ValueError):
        right = False
    if not right:
        raise bad_parameter("Faults", given, f"A fault has a kind ({', '.join(KINDS)}), operation, times and seconds.")
    return fault


def _path() -> Path:
    return Path(settings.VAR) / "marketplace-faults.json"


@contextmanager
def _plan() -> Iterator[list[Fault]]:
    """The plan, locked against every other process, and written back when it has changed."""
    with _path().open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        faults = [Fault(**each) for each in json.loads(text or "[]")]
        yield faults
        _write(file, json.dumps([asdict(fault) for fault in faults if fault.times > 0]), text)


def _write(file: IO[str], text: str, before: str) -> None:
    if text != before:
        file.truncate(0)
        file.write(text)
        file.flush()
