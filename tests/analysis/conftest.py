"""Fixtures of the tests of the analysis, which need no Django:

pytest -p no:django --confcutdir tests/analysis -o addopts= tests/analysis
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the released data sets. They are not part of the project, so a test without them is skipped."""
    folder = Path(os.environ.get("HITSERVER_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the released data sets are not beside the checkout")
    return folder
