"""pytest plugin of ``python -m tests.run --measure``: lists long unit tests in ``tests/long_in_fast.txt``.

Only processor time counts, and the mean of a test's cases. On a busy machine it is up to a quarter longer. A fixture
that several tests share counts for none of them. Tests that were not run keep their lines.
"""

from __future__ import annotations

import importlib
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from statistics import fmean

import pytest
from django.urls import resolve

from tests.fast import LONG

#: Seconds of processor time. Of the unit tests one in twenty takes longer, and they need more than half of the time.
LIMIT = 0.2
PROPERTY = "processor_seconds"
#: Whichever test comes first would pay for them.
LIBRARIES = ("boto3", "matplotlib.pyplot", "pandas", "scipy.stats", "statsmodels.api")


class ProcessorTime:
    def __init__(self) -> None:
        self._began = self._shared = 0.0
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_collection_finish(self) -> None:
        for library in LIBRARIES:
            importlib.import_module(library)
        resolve("/")

    def pytest_runtest_logstart(self) -> None:
        self._began, self._shared = time.process_time(), 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        began, shared = time.process_time(), self._shared
        result = yield
        if fixturedef.scope != "function":
            self._shared = shared + time.process_time() - began
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = time.process_time()
        report.user_properties.append((PROPERTY, now - self._began - self._shared))
        self._began, self._shared = now, 0.0
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += float(str(dict(report.user_properties).get(PROPERTY, 0)))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            write_long(self._seconds)


def write_long(seconds: dict[str, float], file: Path = LONG) -> None:
    """Adds the tests that took long to the list, and removes those that did not."""
    cases = defaultdict(list)
    for test, of_case in seconds.items():
        cases[test.partition("[")[0]].append(of_case)
    names = {name for name in file.read_text(encoding="utf-8").splitlines() if name not in cases}
    names |= {name for name, times in cases.items() if fmean(times) >= LIMIT}
    file.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime())
