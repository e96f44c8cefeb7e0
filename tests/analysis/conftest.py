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
    """Reports without real PNGs, which take most of the time of making one; ``real_pictures`` asks for them."""
    if "real_pictures" not in request.fixturenames:
        monkeypatch.setattr("analysis.report.build.png", lambda svg: b"a picture")


@pytest.fixture
def real_pictures() -> None:
    """Nothing is put in the place of pictures."""


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the released data sets. They are no part of the project, so their absence is never a failure."""
    folder = Path(os.environ.get("HITSERVER_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the released data sets are not beside the checkout")
    return folder
