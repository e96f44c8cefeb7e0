"""Sends recordings and captions, or the part of one that a browser asks for (RFC 9110, sections 13 and 14).

A file is read piece by piece, so that its size does not matter for memory. Several parts in one request are answered
with the whole file, as a server may; no browser asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified, StreamingHttpResponse

from annotation.studies.image_files import file_of
from annotation.studies.recording_checks import CONTENT_TYPES

YEAR = 365 * 24 * 3600
PIECE = 64 * 1024
_RANGE = re.compile(r"bytes[ \t]*=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*", re.IGNORECASE)


def send_recording(request: HttpRequest, key: str) -> HttpResponseBase:
    """The stored file ``key``, which the caller has checked: all of it, or the range that the request names."""
    path, tag = file_of(key), f'"{key[:64]}"'
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return _plain(404, "There is no such file.")
    if request.headers.get("If-None-Match") == tag:
        return _with_headers(HttpResponseNotModified(), tag)
    part = None
    # A range is only for GET, and after If-Range only for the same file.
    if request.method == "GET" and request.headers.get("If-Range", tag) == tag:
        part = _part(request.headers.get("Range", ""), size)
    if part == ():
        refused = _plain(416, "The file has no such part.")
        refused.headers["Content-Range"] = f"bytes */{size}"
        return _with_headers(refused, tag)
    first, last = part or (0, size - 1)
    length = last - first + 1
    pieces = iter(()) if request.method == "HEAD" else _pieces(path, first, length)
    response = StreamingHttpResponse(pieces, status=206 if part else 200)
    response.headers["Content-Type"] = CONTENT_TYPES[key.rpartition(".")[2]]
    response.headers["Content-Length"] = str(length)
    if part:
        response.headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return _with_headers(response, tag)


def _part(wanted: str, size: int) -> tuple[int, int] | tuple[()] | None:
    """The first and last byte wanted; None for the whole file, () if the file has none of these bytes."""
    named = _RANGE.fullmatch(wanted)
    if named is None or not any(named.groups()):
        return None
    start, end = named.groups()
    if not start:  # the last bytes
        count = min(int(end), size)
        return (size - count, size - 1) if count else ()
    if end and int(end) < int(start):
        return None
    first, last = int(start), min(int(end), size - 1) if end else size - 1
    return (first, last) if first < size else ()


def _pieces(path: Path, first: int, length: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        while length > 0 and (piece := file.read(min(PIECE, length))):
            length -= len(piece)
            yield piece


def _plain(status: int, text: str) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def _with_headers(response: HttpResponseBase, tag: str) -> HttpResponseBase:
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = tag
    if response.status_code != 416:
        response.headers["Cache-Control"] = f"public, max-age={YEAR}, immutable"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'; sandbox"
    return response
