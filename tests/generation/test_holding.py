"""Models that a process keeps open: once each, so many at most, fewer where memory lacks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from generation.backends.base import BackendError, ModelSpec, NoMemory
from generation.services import holding


class FakeBackend:
    opened: list[str] = []

    def __init__(self, given: ModelSpec) -> None:
        self.spec, self.closed = given, False
        FakeBackend.opened.append(given.source)

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    FakeBackend.opened = []
    monkeypatch.setattr(holding, "open_backend", FakeBackend)
    monkeypatch.setattr(holding.settings, "MODELS_HELD", 2, raising=False)
    yield
    holding.release_all()


def spec(source: str, dtype: str = "auto") -> ModelSpec:
    return ModelSpec("transformers", source, dtype=dtype)


def opens_when(has_room: Callable[[], bool]) -> Callable[[ModelSpec], FakeBackend]:
    def open_one(given: ModelSpec) -> FakeBackend:
        if not has_room():
            raise NoMemory("no room")
        return FakeBackend(given)

    return open_one


def names() -> list[str]:
    return [each.source for each in holding.held()]


def test_a_model_is_opened_once() -> None:
    first = holding.hold(spec("a"))
    assert holding.hold(spec("a")) is first
    assert FakeBackend.opened == ["a"]


def test_one_file_loaded_in_two_ways_is_two_models() -> None:
    whole, small = holding.hold(spec("a", "float32")), holding.hold(spec("a", "int8"))
    assert (whole.spec.dtype, small.spec.dtype) == ("float32", "int8")
    assert FakeBackend.opened == ["a", "a"]


def test_threads_that_want_the_same_model_at_once_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(given: ModelSpec) -> FakeBackend:
        time.sleep(0.2)
        return FakeBackend(given)

    monkeypatch.setattr(holding, "open_backend", slow)
    threads = [threading.Thread(target=holding.hold, args=(spec("a"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert FakeBackend.opened == ["a"]


def test_the_longest_unused_makes_room() -> None:
    a, b = (holding.hold(spec(name)) for name in "ab")
    holding.hold(spec("a"))
    holding.hold(spec("c"))
    assert (a.closed, b.closed) == (False, True)
    assert names() == ["a", "c"]


@pytest.mark.parametrize("most", [0, 1])
def test_there_is_always_a_place_for_one(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding.settings, "MODELS_HELD", most)
    a = holding.hold(spec("a"))
    holding.hold(spec("b"))
    assert a.closed and names() == ["b"]


def test_what_is_released_is_closed() -> None:
    both = [holding.hold(spec(name)) for name in "ab"]
    holding.release_all()
    assert [each.closed for each in both] == [True, True]
    assert names() == []
    assert holding.hold(spec("a")) is not both[0]


def test_models_are_closed_until_there_is_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (holding.hold(spec(name)) for name in "ab")
    monkeypatch.setattr(holding.settings, "MODELS_HELD", 9)
    monkeypatch.setattr(holding, "open_backend", opens_when(lambda: a.closed and b.closed))
    assert holding.hold(spec("large")).spec.source == "large"
    assert names() == ["large"]


def test_no_more_are_closed_than_memory_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding.settings, "MODELS_HELD", 9)
    a, b = (holding.hold(spec(name)) for name in "ab")
    monkeypatch.setattr(holding, "open_backend", opens_when(lambda: a.closed))
    holding.hold(spec("large"))
    assert not b.closed and names() == ["b", "large"]


def test_a_model_too_large_for_an_empty_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "open_backend", opens_when(lambda: False))
    with pytest.raises(NoMemory):
        holding.hold(spec("large"))


def test_a_model_that_cannot_be_loaded_closes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    a = holding.hold(spec("a"))

    def damaged(given: ModelSpec) -> FakeBackend:
        raise BackendError("It may be cut short or damaged.")

    monkeypatch.setattr(holding, "open_backend", damaged)
    with pytest.raises(BackendError, match="damaged"):
        holding.hold(spec("b"))
    assert not a.closed and names() == ["a"]
    monkeypatch.setattr(holding, "open_backend", FakeBackend)
    assert holding.hold(spec("b")).spec.source == "b"  # once it is mended
