from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hitserver.watch import figures

TOKEN = "a-token-of-the-monitor-0123"


@pytest.fixture(autouse=True)
def fresh_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_latest", None)


@pytest.fixture
def metrics_open(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A server whose ``/metrics`` takes ``TOKEN``, and which has counted nothing yet."""
    from hitserver.watch import counting

    settings.METRICS_TOKEN, settings.METRICS_OPEN = TOKEN, True
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    monkeypatch.setattr(counting, "FOLDER", tmp_path)
    counting.take_place(id(tmp_path))
    counting.requests.clear()
    counting.seconds.clear()
    yield
    counting.take_place(0)
