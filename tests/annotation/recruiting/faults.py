"""Faults of the connection to MTurk, on demand: lost replies, cuts, and processes that die in the middle of a call."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Payment
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.platform import Mturk
from marketplace.models import LedgerEntry

#: What can go wrong with a call. ``repeated``: the reply is lost, and botocore sends the same request again by itself.
KINDS = ("cut", "lost", "repeated", "killed before", "killed after")


class Killed(BaseException):
    """The process ends here, as after SIGKILL: nothing catches this."""


@dataclass
class Faults:
    """Makes the first call of every operation with every set of parameters fail, and counts what failed."""

    kind: str
    spared: Collection[str] = ()
    struck: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = Mturk.call
        faults = self

        def call(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
            if not faults._strikes(operation, params):
                return whole(self, operation, **params)
            if faults.kind == "cut":
                raise PlatformTrouble("The connection was cut.", again=True)
            if faults.kind == "killed before":
                raise Killed
            answer = whole(self, operation, **params)
            if faults.kind == "lost":
                raise PlatformTrouble("The connection was lost.", again=True)
            if faults.kind == "killed after":
                raise Killed
            return whole(self, operation, **params) if faults.kind == "repeated" else answer

        monkeypatch.setattr(Mturk, "call", call)

    def _strikes(self, operation: str, params: dict[str, Any]) -> bool:
        name = f"{operation} {sorted((key, value) for key, value in params.items() if key != 'NextToken')}"
        if operation in self.spared or name in self._seen:
            return False
        self._seen.add(name)
        self.struck[operation] += 1
        return True


def until_done(do: Callable[[], Any], *, most: int = 12) -> Any:
    """Do it again, as a person or the scheduler would, until nothing fails. Returns its result."""
    for _ in range(most):
        try:
            return do()
        except (PlatformTrouble, Killed):
            continue
    raise AssertionError(f"It failed {most} times.")


def paid_there() -> dict[str, Decimal]:
    """What each worker got on the marketplace, by its ledger, in USD."""
    paid: defaultdict[str, Decimal] = defaultdict(Decimal)
    entries = LedgerEntry.objects.filter(account__kind="worker", kind__in=["reward", "bonus"])
    for worker, amount in entries.values_list("account__worker__worker_id", "amount"):
        paid[worker] += amount  # here: SQLite would add in floating point
    return dict(paid)


def paid_here() -> dict[str, Decimal]:
    """What each worker was paid by the payments recorded here, in USD."""
    paid: defaultdict[str, Decimal] = defaultdict(Decimal)
    for worker, amount in Payment.objects.values_list("worker_id", "amount"):
        paid[worker] += amount
    return dict(paid)
