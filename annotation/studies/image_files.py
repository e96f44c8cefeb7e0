"""The files of images in MEDIA_FILES, and smaller copies of them for small screens.

An image is stored under the hash of its content. Its copies are made when it is stored. They are in a folder of their
own, are sent only while the image itself exists, and are deleted with it. Backups leave them out: a copy that is
missing is made when a browser first asks for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from logging import getLogger
from pathlib import Path

from django.conf import settings

from annotation.studies.image_checks import Picture, scaled
from common.files import write_whole

log = getLogger(__name__)
#: Widths of the copies in pixels. Phones of 360 to 430 CSS pixels need 480 at a scale of 1, 960 at 2 and 1600 at 3.
WIDTHS = (480, 960, 1600)
#: The folder with the copies, in MEDIA_FILES.
COPIES = "copies"
#: The folder with files that wait to be imported, in MEDIA_FILES. Backups leave both folders out.
UPLOADS = "uploads"
#: Writing a copy never takes as long as this.
WRITING_SECONDS = 3600
_PICTURES = ("png", "jpg", "webp")
_KEY = re.compile(r"[0-9a-f]{64}\.(png|jpg|webp|wav|mp3|ogg|flac|m4a|mp4|webm|vtt)")


def is_key(name: str) -> bool:
    """Whether ``name`` can be the name of a stored file: a SHA-256 in hexadecimal, and a known extension."""
    return _KEY.fullmatch(name) is not None


def is_picture(key: str) -> bool:
    """Whether the stored file is an image, and no recording or captions."""
    return key.rpartition(".")[2] in _PICTURES


def file_of(key: str) -> Path:
    """The path of a stored image. The caller has checked ``key`` (``is_key``)."""
    return Path(settings.MEDIA_FILES) / key[:2] / key


def copy_of(key: str, width: int) -> Path:
    """The path of an image's copy of this width."""
    stem, _, extension = key.rpartition(".")
    return Path(settings.MEDIA_FILES) / COPIES / key[:2] / f"{stem}-{width}.{extension}"


def widths_below(width: int) -> list[int]:
    """The widths of the copies of an image with this width. Copies are never wider than the image, or as wide."""
    return [smaller for smaller in WIDTHS if smaller < width]


def store_picture(picture: Picture) -> None:
    """Store an image and its copies."""
    path = file_of(picture.key)
    if path.is_file() and path.stat().st_size == len(picture.data):
        path.touch()  # retention leaves it alone for a while
    else:
        _write(path, picture.data)
    widths = widths_below(picture.width)
    if not all(copy_of(picture.key, width).is_file() for width in widths):
        _write_copies(picture.key, picture.data, scaled(picture.data, widths) or {})


def read_copy(key: str, width: int) -> bytes | None:
    """An image's copy of this width. None if it must be made first, and another image is being decoded or that fails.

    Raises FileNotFoundError if there is no such image, or if it has no copy of this width.
    """
    image = file_of(key)
    if width not in WIDTHS or not is_picture(key) or not image.is_file():
        raise FileNotFoundError(key)
    with suppress(FileNotFoundError):
        return copy_of(key, width).read_bytes()
    data = image.read_bytes()
    try:
        copies = scaled(data, [width], wait=False)
        if copies is None:
            return None
        _write_copies(key, data, copies)
    except OSError:
        log.exception("A copy of %s, %s pixels wide, cannot be made. The image itself is sent.", key, width)
        return None
    return copy_of(key, width).read_bytes()


def remove_files(paths: Iterable[Path]) -> int:
    """Delete images with their copies, or copies without an image. Returns how many files were named."""
    number = 0
    for path in paths:
        path.unlink(missing_ok=True)
        if is_key(path.name):
            for width in WIDTHS:
                copy_of(path.name, width).unlink(missing_ok=True)
        number += 1
    return number


def stored_images() -> Iterable[Path]:
    """The files of all images, without their copies."""
    return Path(settings.MEDIA_FILES).glob("??/*")


def copies_without_image() -> list[Path]:
    """Copies that were being made while their image was deleted, and what a process left that died while it wrote one.

    A file that another process is writing now has such a name too, so only old ones count.
    """
    before, orphans = time.time() - WRITING_SECONDS, []
    for path in Path(settings.MEDIA_FILES).glob(f"{COPIES}/??/*-*.*"):
        if path.name.startswith("."):
            with suppress(FileNotFoundError):
                orphans += [path] if path.stat().st_mtime < before else []
        elif not file_of(path.stem.rpartition("-")[0] + path.suffix).is_file():
            orphans.append(path)
    return orphans


def _write_copies(key: str, data: bytes, copies: dict[int, bytes]) -> None:
    for width, copy in copies.items():
        # Flat drawings can take more bytes when they are smaller, because edges become gradients.
        _write(copy_of(key, width), min(copy, data, key=len))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(path, data)
    path.chmod(0o600)
