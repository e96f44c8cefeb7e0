"""The packaged model for live suggestions: which way of running it is used."""

from __future__ import annotations

import pytest

from generation.models import LanguageModel
from generation.registry import live_model
from generation.registry.live_model import fastest_way, register_ways

pytestmark = pytest.mark.django_db

CHECK = LanguageModel.Check


@pytest.fixture(autouse=True)
def all_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_model, "missing", lambda backend: [])


def checked(name: str, speed: float, state: str = CHECK.PASSED) -> None:
    LanguageModel.objects.filter(name=name).update(check_state=state, tokens_per_second=speed)


def test_the_fastest_that_works_is_used() -> None:
    register_ways()
    assert fastest_way() is None
    checked("smollm2-135m-live-int8", 45.0)
    checked("smollm2-135m-live", 24.0)
    checked("smollm2-135m-live-llama", 90.0, CHECK.FAILED)
    way = fastest_way()
    assert way is not None
    assert way.name == "smollm2-135m-live-int8"
    checked("smollm2-135m-live", 60.0)  # as on a processor with instructions for 16 bits
    assert getattr(fastest_way(), "name", "") == "smollm2-135m-live"


@pytest.mark.parametrize(("cores", "threads"), [({0}, 1), ({0, 1}, 1), ({0, 1, 2, 3}, 3)])
def test_a_core_is_left_for_pages(cores: set[int], threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: cores)
    assert {way.options["threads"] for way in register_ways()} == {threads}


def test_a_way_that_exists_stays_as_it_is_on_a_machine_with_more_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    first = [way.options for way in register_ways()]
    monkeypatch.setattr(live_model, "live_threads", lambda: 31)
    assert [way.options for way in register_ways()] == first


def test_ways_without_their_library_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_model, "missing", lambda backend: ["llama_cpp"] if backend == "llama_cpp" else [])
    assert {way.backend for way in register_ways()} == {"transformers"}
