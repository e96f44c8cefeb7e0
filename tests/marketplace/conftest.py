"""What workers upload in a test goes to that test's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings


@pytest.fixture(autouse=True)
def own_files_folder(settings: Settings, tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    settings.MARKETPLACE_FILES = folder
    return folder
