"""The backends that this process holds open: loading a model takes seconds to minutes, using it again nothing.

Used by model workers only. At most ``HITSERVER_MODELS_HELD`` stay open; the one unused for the longest makes room.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from django.conf import settings

from generation.backends import open_backend
from generation.backends.base import Backend, ModelSpec, NoMemory
from generation.models import LanguageModel

_held: OrderedDict[str, Backend] = OrderedDict()
_lock = threading.RLock()


def backend_of(model: LanguageModel) -> Backend:
    """The open backend of a model, opened now if it is not. Raises BackendError.

    Another model is closed first when too many are held, and as many as needed when memory for this one lacks. Who
    was given a backend must not use it after asking for another, unless the limit allows both.
    """
    from generation.services.models import spec_of

    return hold(spec_of(model))


def hold(spec: ModelSpec) -> Backend:
    """As ``backend_of``, by how the model is loaded: two names of one model share it."""
    name = repr(spec)
    with _lock:
        if name in _held:
            _held.move_to_end(name)
            return _held[name]
        while len(_held) >= max(1, int(getattr(settings, "MODELS_HELD", 2))):
            _close_oldest()
        _held[name] = _open(spec)
        return _held[name]


def release_all() -> None:
    """Close every backend, for instance before a process ends."""
    with _lock:
        while _held:
            _close_oldest()


def held() -> list[ModelSpec]:
    """What is open, the longest unused first."""
    with _lock:
        return [backend.spec for backend in _held.values()]


def _open(spec: ModelSpec) -> Backend:
    while True:
        try:
            return open_backend(spec)
        except NoMemory:
            if not _held:
                raise
            _close_oldest()


def _close_oldest() -> None:
    _, backend = _held.popitem(last=False)
    backend.close()
