"""Fixtures of the tests of the analysis, which need no Django:

pytest -p no:django --confcutdir tests/analysis -o addopts= tests/analysis
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def quick_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the PNGs out of reports, because drawing them takes most of the time. ``real_pictures`` keeps them."""
    if "real_pictures" not in request.fixturenames:
        monkeypatch.setattr("analysis.report.page.png", lambda svg: b"a picture")


@pytest.fixture
def real_pictures() -> None:
    """Reports with the PNGs."""


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the released data sets. They are not part of the project, so a test without them is skipped."""
    folder = Path(os.environ.get("HITSERVER_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the released data sets are not beside the checkout")
    return folder
