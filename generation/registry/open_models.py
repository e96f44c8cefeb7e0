"""The models that this process keeps open: loading one takes seconds to minutes, using it again takes no time.

Used where models run. At most ``HITSERVER_MODELS_HELD`` stay open; the one that has been unused longest is closed to
make room.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from django.conf import settings

from generation.backends import embedded_source, open_backend
from generation.backends.base import Backend, ModelSpec, NoMemory
from generation.models import LanguageModel

#: A placeholder for the path of the packaged model, which differs from machine to machine.
EMBEDDED_SOURCE = "embedded"
BackendOf = Callable[[LanguageModel], Backend]

_open: OrderedDict[str, Backend] = OrderedDict()
_lock = threading.RLock()


def backend_of(model: LanguageModel) -> Backend:
    """The open backend of a model, opened now if it is not. Raises BackendError.

    If too many models are open, another one is closed first; if there is too little memory, as many as needed. Do not
    use a backend after opening another one, unless the limit allows both.
    """
    return open_once(spec_of(model))


def spec_of(model: LanguageModel) -> ModelSpec:
    """How a backend opens the model. Raises BackendError if this is the embedded model and it is not installed."""
    return ModelSpec(
        backend=model.backend,
        source=embedded_source() if model.source == EMBEDDED_SOURCE else model.source,
        revision=model.revision,
        dtype=model.dtype,
        device=model.device,
        base_url=model.base_url,
        key_variable=model.key_variable,
        chat=model.chat,
        options=tuple(sorted(model.options.items())),
    )


def open_once(spec: ModelSpec) -> Backend:
    """Like ``backend_of``, but by how the model is loaded: two names for one model share a backend."""
    name = repr(spec)
    with _lock:
        if name in _open:
            _open.move_to_end(name)
            return _open[name]
        while len(_open) >= max(1, int(settings.MODELS_HELD)):
            _close_oldest()
        while name not in _open:
            try:
                _open[name] = open_backend(spec)
            except NoMemory:
                if not _open:
                    raise
                _close_oldest()
        return _open[name]


def forget(backend: Backend) -> None:
    """Close a backend whose engine has died; whoever needs the model next opens it again."""
    with _lock:
        for name in [name for name, held in _open.items() if held is backend]:
            del _open[name]
    backend.close()


def close_all() -> None:
    """Close every backend, for example before a process ends."""
    with _lock:
        while _open:
            _close_oldest()


def _close_oldest() -> None:
    _, backend = _open.popitem(last=False)
    backend.close()
