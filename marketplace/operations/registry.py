"""Which function answers which operation of the service model.

    @operation("GetHIT")
    def get_hit(call: Call) -> dict[str, Any]: …

`handlers` imports every module of this package to find the handlers. An unknown operation name, or a second handler
for one operation, raises an error at import. A test compares the registry with the model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from marketplace.wire import service

if TYPE_CHECKING:
    from marketplace.models import Requester


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request. `parameters` have been checked against the model; timestamps are aware datetimes."""

    requester: "Requester"
    parameters: dict[str, Any]
    now: datetime
    operation: str = ""
    access_key: str = ""  # the ID of the key that signed the request


Handler = Callable[[Call], dict[str, Any]]
_handlers: dict[str, Handler] = {}


def operation(name: str) -> Callable[[Handler], Handler]:
    """Registers a handler, which returns the members of the operation's output without `ResponseMetadata`."""
    if name not in service.operations():
        raise LookupError(f"The service model has no operation {name!r}.")

    def register(handler: Handler) -> Handler:
        if name in _handlers:
            raise LookupError(f"{name} has two handlers: {_handlers[name].__qualname__} and {handler.__qualname__}.")
        _handlers[name] = handler
        return handler

    return register


@cache
def handlers() -> dict[str, Handler]:
    """All handlers, by the name of their operation."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    return _handlers
