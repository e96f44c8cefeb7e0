"""pytest plugin of ``script/test --fast``: leaves out whatever is slow, without the need for a marker.

A test counts as slow by what it uses: a fixture that starts a server, a service or a browser; another process; a
library that runs models or drives a browser. Tests that took long when measured (``tests/processor_time.py``) are left
out, too. Tests that are slow for other reasons are marked ``slow``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from unittest.mock import patch

import pytest

#: Names of test functions, written by ``python -m tests.run --measure``.
LONG = Path(__file__).with_name("long_in_fast.txt")
FIXTURES = {
    *("live_processes", "live_server", "chromium", "axe_core"),
    *("postgres_server", "postgres_url", "redis_url", "amqp_url"),
}
MARKERS = ("slow", "browser", "postgres", "redis")
LIBRARIES = ("torch", "transformers", "llama_cpp", "playwright", "moto")


def _leave_out(what: str) -> NoReturn:
    pytest.skip(f"--fast: {what}", allow_module_level=True)


class _Refusing(Loader):
    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> NoReturn:
        _leave_out(f"imports {module.__name__}")


class _HeavyLibraries(MetaPathFinder):
    """Finds these libraries, so that code may ask whether they are installed, and skips the test that imports one."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LIBRARIES or PathFinder.find_spec(name, path) is None:
            return None
        return ModuleSpec(name, _Refusing())


class _NoProcess(subprocess.Popen[Any]):
    def __init__(self, *_: Any, **__: Any) -> None:
        _leave_out("starts a process")

    def __del__(self, *_: Any) -> None:
        """The real one looks after a process, and here none was started."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    with patch.object(subprocess, "Popen", _NoProcess), patch.object(BaseProcess, "start", _NoProcess):
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    measures = config.pluginmanager.hasplugin("tests.processor_time")
    long = set() if measures else set(LONG.read_text(encoding="utf-8").splitlines())
    left_out = [item for item in items if _is_slow(item) or item.nodeid.partition("[")[0] in long]
    config.hook.pytest_deselected(items=left_out)
    chosen = set(left_out)
    items[:] = [item for item in items if item not in chosen]


def _is_slow(item: pytest.Item) -> bool:
    return bool(FIXTURES & set(getattr(item, "fixturenames", ()))) or any(map(item.get_closest_marker, MARKERS))


def pytest_configure() -> None:
    sys.meta_path.insert(0, _HeavyLibraries())
