"""Commands from a client's tests: plan faults, move the clock. They arrive as signed POST requests to the endpoint.

Their X-Amz-Target begins with MarketplaceTestControls. All of this is off unless MARKETPLACE_TEST_CONTROLS is on.
"""

import time
from datetime import timedelta
from typing import Any

from marketplace import clock
from marketplace.faults import KINDS, Fault, set_faults, take
from marketplace.wire import service
from marketplace.wire.errors import ProtocolError, ServiceFault, ThrottlingError, bad_parameter

TARGET = "MarketplaceTestControls"


def control(target: str, body: dict[str, Any]) -> dict[str, Any]:
    """Carries out one command: SetFaults {"Faults": […]}, SetClock {"AheadInSeconds": 3600} or GetClock {}."""
    order = target.partition(".")[2] if clock.controls_are_on() else ""
    if order == "SetFaults":
        set_faults([_fault(planned_fault) for planned_fault in body.get("Faults", [])])
    elif order == "SetClock":
        ahead = body.get("AheadInSeconds")
        if isinstance(ahead, bool) or not isinstance(ahead, int) or abs(ahead) > 10**9:
            raise bad_parameter("AheadInSeconds", ahead)
        clock.set_offset(timedelta(seconds=ahead))
    elif order != "GetClock":
        raise ProtocolError("UnknownOperationException", f"There is no operation {target[:100]!r}.")
    return {"Now": clock.now().timestamp()}


def _fault(fields: Any) -> Fault:
    try:
        fault = Fault(**fields)
        right = fault.kind in KINDS and (not fault.operation or fault.operation in service.operations())
        right = right and 0 <= int(fault.times) <= 10**6 and 0 <= float(fault.seconds) <= 600
        right = right and 0 <= float(fault.share) <= 1
    except (TypeError, ValueError):
        right = False
    if not right:
        rule = f"A fault has a kind ({', '.join(KINDS)}), operation, times, seconds and share."
        raise bad_parameter("Faults", fields, rule)
    return fault


def apply_faults(operation: str) -> None:
    """Apply the faults that are planned to happen before the operation."""
    if fault := take("latency", operation):
        time.sleep(fault.seconds)
    if take("throttle", operation):
        raise ThrottlingError
    if take("error", operation):
        raise ServiceFault("This fault was planned.")
