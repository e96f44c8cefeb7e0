from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from generation.backends import requirements
from generation.registry import open_models, presence
from tests.generation.support.toy_runs import Toy

start_presence, stop_presence = presence.Presence.start, presence.Presence.stop


@pytest.fixture
def presence_threads(monkeypatch: pytest.MonkeyPatch, no_threads_of_presence: None) -> None:
    """As in a worker; for tests that commit what they write."""
    monkeypatch.setattr(presence.Presence, "start", start_presence)
    monkeypatch.setattr(presence.Presence, "stop", stop_presence)


@pytest.fixture(autouse=True)
def no_threads_of_presence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread that writes while a test's transaction is open would wait for it, and leave rows behind."""
    monkeypatch.setattr(presence.Presence, "start", lambda self: None)
    monkeypatch.setattr(presence.Presence, "stop", lambda self: None)
    yield
    presence.leave()


@pytest.fixture
def everything_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine with the requirements of every backend."""
    for backend in requirements.NEEDS:
        monkeypatch.setitem(requirements.NEEDS, backend, ())
    requirements.runnable.cache_clear()
    yield
    requirements.runnable.cache_clear()


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a web machine: no backend's library is there."""
    for backend in requirements.NEEDS:
        monkeypatch.setitem(requirements.NEEDS, backend, ("no_such_library",))
    requirements.runnable.cache_clear()
    yield
    requirements.runnable.cache_clear()


@pytest.fixture
def use_toy(monkeypatch: pytest.MonkeyPatch, everything_installed: None) -> Callable[[Toy], Toy]:
    """Makes a toy the backend of every model."""

    def use(toy: Toy) -> Toy:
        monkeypatch.setattr(open_models, "backend_of", toy.backend_of)
        return toy

    return use


@pytest.fixture
def toy(use_toy: Callable[[Toy], Toy]) -> Toy:
    return use_toy(Toy())
