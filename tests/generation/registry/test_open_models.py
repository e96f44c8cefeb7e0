"""Models that a process keeps open: each once, up to a limit, and fewer if memory is short."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from generation.backends.base import BackendError, ModelSpec, NoMemory
from generation.registry import open_models


class FakeBackend:
    opened: list[str] = []

    def __init__(self, model_spec: ModelSpec) -> None:
        self.spec, self.closed = model_spec, False
        FakeBackend.opened.append(model_spec.source)

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    FakeBackend.opened = []
    monkeypatch.setattr(open_models, "open_backend", FakeBackend)
    monkeypatch.setattr(settings, "MODELS_HELD", 2, raising=False)
    yield
    open_models.close_all()


def spec(source: str, dtype: str = "auto") -> ModelSpec:
    return ModelSpec("transformers", source, dtype=dtype)


def opens_when(has_room: Callable[[], bool]) -> Callable[[ModelSpec], FakeBackend]:
    def open_one(model_spec: ModelSpec) -> FakeBackend:
        if not has_room():
            raise NoMemory("no room")
        return FakeBackend(model_spec)

    return open_one


def opened(name: str) -> FakeBackend:
    backend = open_models.open_once(spec(name))
    assert isinstance(backend, FakeBackend)
    return backend


def names() -> list[str]:
    return [backend.spec.source for backend in open_models._open.values()]


def test_a_model_is_opened_once() -> None:
    first = open_models.open_once(spec("a"))
    assert open_models.open_once(spec("a")) is first
    assert FakeBackend.opened == ["a"]


def test_one_file_loaded_in_two_ways_is_two_models() -> None:
    full, small = open_models.open_once(spec("a", "float32")), open_models.open_once(spec("a", "int8"))
    assert (full.spec.dtype, small.spec.dtype) == ("float32", "int8")
    assert FakeBackend.opened == ["a", "a"]


def test_threads_that_want_the_same_model_at_once_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(model_spec: ModelSpec) -> FakeBackend:
        time.sleep(0.2)
        return FakeBackend(model_spec)

    monkeypatch.setattr(open_models, "open_backend", slow)
    threads = [threading.Thread(target=open_models.open_once, args=(spec("a"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert FakeBackend.opened == ["a"]


def test_the_one_unused_for_longest_is_closed() -> None:
    a, b = (opened(name) for name in "ab")
    open_models.open_once(spec("a"))
    open_models.open_once(spec("c"))
    assert (a.closed, b.closed) == (False, True)
    assert names() == ["a", "c"]


@pytest.mark.parametrize("most", [0, 1])
def test_there_is_always_a_place_for_one(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MODELS_HELD", most)
    a = opened("a")
    open_models.open_once(spec("b"))
    assert a.closed and names() == ["b"]


def test_what_is_released_is_closed() -> None:
    both = [opened(name) for name in "ab"]
    open_models.close_all()
    assert [backend.closed for backend in both] == [True, True]
    assert names() == []
    assert opened("a") is not both[0]


def test_models_are_closed_until_there_is_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (opened(name) for name in "ab")
    monkeypatch.setattr(settings, "MODELS_HELD", 9)
    monkeypatch.setattr(open_models, "open_backend", opens_when(lambda: a.closed and b.closed))
    assert open_models.open_once(spec("large")).spec.source == "large"
    assert names() == ["large"]


def test_no_more_are_closed_than_memory_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MODELS_HELD", 9)
    a, b = (opened(name) for name in "ab")
    monkeypatch.setattr(open_models, "open_backend", opens_when(lambda: a.closed))
    open_models.open_once(spec("large"))
    assert not b.closed and names() == ["b", "large"]


def test_a_model_too_large_for_an_empty_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "open_backend", opens_when(lambda: False))
    with pytest.raises(NoMemory):
        open_models.open_once(spec("large"))


def test_a_model_that_cannot_be_loaded_closes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    a = opened("a")

    def damaged(model_spec: ModelSpec) -> FakeBackend:
        raise BackendError("It may be cut short or damaged.")

    monkeypatch.setattr(open_models, "open_backend", damaged)
    with pytest.raises(BackendError, match="damaged"):
        open_models.open_once(spec("b"))
    assert not a.closed and names() == ["a"]
    monkeypatch.setattr(open_models, "open_backend", FakeBackend)
    assert open_models.open_once(spec("b")).spec.source == "b"  # once it is fixed
