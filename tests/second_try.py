"""pytest plugin of ``script/test``: notes which tests failed, if all of them depend on how busy the machine is.

Those are the tests that start processes or servers or drive a browser, and so wait for others. ``tests.run`` runs them
once more, alone, and says so. A failure of any other test is final.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.fast import FIXTURES, MARKERS

WAITS = ("waits for other programs", True)
WAITING_EVENTS = {"subprocess.Popen", "socket.bind"}


class _Failed:
    """What this run has noted so far. With several workers, only the main process gets the reports."""

    current: pytest.Item | None = None
    ids: set[str]
    final: bool = False


_noted = _Failed()
_noted.ids = set()


def _started(event: str, _: object) -> None:
    if event in WAITING_EVENTS and _noted.current is not None:
        _note(_noted.current)


def _note(item: pytest.Item) -> None:
    if WAITS not in item.user_properties:
        item.user_properties.append(WAITS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if FIXTURES & set(getattr(item, "fixturenames", ())) or any(map(item.get_closest_marker, MARKERS)):
        _note(item)
    _noted.current = item
    try:
        return (yield)
    finally:
        _noted.current = None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.failed:
        return
    _noted.ids.add(report.nodeid)
    # A report from another process has its pairs as lists.
    _noted.final |= WAITS not in [tuple(pair) for pair in report.user_properties]


def pytest_sessionfinish(session: pytest.Session) -> None:
    where = os.environ.get("HITSERVER_TEST_FAILED", "")
    if where and not hasattr(session.config, "workerinput") and not _noted.final:
        Path(where).write_text("\n".join(sorted(_noted.ids)), encoding="utf-8")


def pytest_configure() -> None:
    sys.addaudithook(_started)
