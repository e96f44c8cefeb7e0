"""Services that run again when PostgreSQL ends their transaction because of a deadlock."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection

P = ParamSpec("P")
T = TypeVar("T")
TRIES = 5


def is_deadlock(error: OperationalError) -> bool:
    """Whether PostgreSQL ended this transaction because it and another waited for each other. Trying again is safe."""
    return getattr(error.__cause__, "pgcode", None) == "40P01"


def again_after_deadlock(service: Callable[P, T]) -> Callable[P, T]:
    """A decorator that runs a service again if PostgreSQL ended its transaction because of a deadlock.

    A transaction that takes back abandoned hits and then a free hit may lock hits in a different order than others. If
    a service runs in its caller's transaction, the caller has to try again.
    """

    @wraps(service)
    def tried(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(TRIES - 1):
            try:
                return service(*args, **kwargs)
            except OperationalError as error:
                if connection.in_atomic_block or not is_deadlock(error):
                    raise
        return service(*args, **kwargs)

    return tried
