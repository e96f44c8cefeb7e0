"""Recordings are sent whole or in the parts that a browser asks for (RFC 9110, sections 13 and 14), piece by piece."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.studies.recordings import add_file
from tests.annotation.recordings import mp4, wav
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_FILES = tmp_path / "media"


def stored(name: str = "a.wav", data: bytes | None = None) -> tuple[str, bytes]:
    data = data or wav()
    study, file = make_study(items=0, live=False), io.BytesIO(data)
    media = add_file(study=study, name=name, file=file, size=len(data), alt="", actor="ann")
    return reverse("media_file", args=[media.key]), data


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-99", (0, 99)),
        ("bytes=100-", (100, 8043)),
        ("bytes=-44", (8000, 8043)),
        ("bytes=8000-99999", (8000, 8043)),
    ],
)
def test_a_range_is_sent_as_it_was_asked_for(wanted: str, part: tuple[int, int]) -> None:
    url, data = stored()  # 8,000 samples after a header of 44 bytes
    response = Client().get(url, headers={"Range": wanted})
    assert response.status_code == 206
    assert body(response) == data[part[0] : part[1] + 1]
    assert response.headers["Content-Range"] == f"bytes {part[0]}-{part[1]}/8044"
    assert response.headers["Content-Length"] == str(part[1] - part[0] + 1)


@pytest.mark.parametrize("wanted", ["bytes=8044-", "bytes=9000-9999", "bytes=-0"])
def test_a_range_beyond_the_end_is_not_satisfiable(wanted: str) -> None:
    response = Client().get(stored()[0], headers={"Range": wanted})
    assert response.status_code == 416
    assert response.headers["Content-Range"] == "bytes */8044"


@pytest.mark.parametrize("wanted", ["", "bytes=5-2", "bytes=a-b", "bytes=-", "lines=1-2", "bytes=0-1,5-6"])
def test_anything_else_gets_the_whole_file(wanted: str) -> None:
    url, data = stored()
    response = Client().get(url, headers={"Range": wanted})
    assert response.status_code == 200
    assert body(response) == data
    assert response.headers["Accept-Ranges"] == "bytes"


def test_a_range_of_another_version_gets_the_whole_file() -> None:
    url, data = stored()
    tag = Client().head(url).headers["ETag"]
    same = Client().get(url, headers={"Range": "bytes=0-9", "If-Range": tag})
    other = Client().get(url, headers={"Range": "bytes=0-9", "If-Range": '"other"'})
    assert (same.status_code, other.status_code) == (206, 200)
    assert len(body(other)) == len(data)
    assert Client().get(url, headers={"If-None-Match": tag}).status_code == 304


def test_the_head_alone_has_the_length_and_type_and_never_a_page() -> None:
    url, data = stored("scene.mp4", mp4())
    response = Client().head(url, headers={"Range": "bytes=0-9"})
    assert response.status_code == 200
    assert response.headers["Content-Length"] == str(len(data))
    assert response.headers["Content-Type"] == "video/mp4"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    assert body(response) == b""
    assert Client().get(url + "/960").status_code == 404
    assert Client().get(f"/media/{'0' * 64}.wav").status_code == 404


def test_a_large_file_is_stored_and_sent_piece_by_piece() -> None:
    url, data = stored(data=wav(20 * 1024**2 / 8000))
    tracemalloc.start()
    try:
        size = sum(len(piece) for piece in Client().get(url).streaming_content)  # type: ignore[attr-defined, misc]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size == len(data) > 20 * 1024**2
    assert most < 4 * 1024**2
