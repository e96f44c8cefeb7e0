"""Checks an uploaded image and encodes its pixels again, so that nothing else in the file is ever served.

Accepts PNG, JPEG and WebP with one frame in RGB or grey. Rotates the image by its EXIF orientation, converts its
colours to sRGB, and drops all metadata: place, camera, comments, thumbnails, and whatever was hidden between or after
the data. Also makes the smaller copies of what it has encoded.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.files import locks
from PIL import Image, ImageCms, ImageOps

#: Formats that are accepted, with the extension of the stored file.
FORMATS = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp"}
_ENCODING: dict[str, dict[str, int]] = {
    "PNG": {"compress_level": 4},
    "JPEG": {"quality": 92},
    "WEBP": {"quality": 92, "method": 4},
}
_ENCODING_COPIES: dict[str, dict[str, int]] = {
    "PNG": {"compress_level": 6},
    "JPEG": {"quality": 85},
    "WEBP": {"quality": 85, "method": 4},
}
#: Modes of 8 bits or less per channel. The others (CMYK, 16 bits, Lab) would change their colours unnoticed.
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX")
#: The first bytes of a file in each format.
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF")
_SAVE_AGAIN = "Open it in an image editor and save a copy as PNG, JPEG or WebP."


class BadPicture(ValueError):
    """An image that cannot be used. ``what`` is the reason, ``fix`` what to do."""

    def __init__(self, what: str, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(f"{what} {fix}")


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as it is stored. ``key`` is its file name; ``source`` is the SHA-256 of the uploaded file.

    ``size`` is in bytes, ``width`` and ``height`` are in pixels.
    """

    key: str
    source: str
    data: bytes
    size: int
    format: str
    width: int
    height: int


def refuse_too_large(size: int) -> None:
    """Raises BadPicture if a file of ``size`` bytes is larger than images may be."""
    if size > settings.MEDIA_MAX_BYTES:
        most = settings.MEDIA_MAX_BYTES / 1024**2
        raise BadPicture(f"The image is larger than {most:,.4g} MB.", "Make it smaller, or save it as JPEG.")


def source_of(data: bytes) -> str:
    """The SHA-256 of an uploaded file, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_picture(data: bytes) -> Picture:
    """The image in an uploaded file, encoded again. Raises BadPicture."""
    image = _opened(data)
    form = str(image.format)
    with _one_at_a_time():
        try:
            image.load()
            pixels = _plain(image)
        except Exception as error:  # decoders raise nearly anything on damaged data
            reason = (str(error) or type(error).__name__).splitlines()[0][:100]
            raise BadPicture(f"The image is damaged or incomplete ({reason}).", _SAVE_AGAIN) from None
        out = io.BytesIO()
        pixels.save(out, form, **_ENCODING[form])
        size = pixels.size
        image.close()
        pixels.close()
    encoded = out.getvalue()
    key = f"{hashlib.sha256(encoded).hexdigest()}.{FORMATS[form]}"
    return Picture(key, source_of(data), encoded, len(encoded), form, *size)


def scaled(data: bytes, widths: Iterable[int], *, wait: bool = True) -> dict[int, bytes] | None:
    """Copies of a stored image, by their width: those of ``widths`` that are smaller than its own, in its format.

    None if another image is being decoded and the caller does not want to ``wait``.
    """
    with _one_at_a_time(wait=wait) as is_free:
        if not is_free:
            return None
        image = Image.open(io.BytesIO(data), formats=tuple(FORMATS))
        form, (own_width, own_height) = str(image.format), image.size
        smaller = [width for width in widths if width < own_width]
        if not smaller:
            return {}
        # A JPEG can be decoded at a half, a quarter or an eighth of its size, which takes as much less memory.
        image.draft(None, (max(smaller), max(1, own_height * max(smaller) // own_width)))
        copies = {}
        for width in smaller:
            size = (width, max(1, round(own_height * width / own_width)))
            out = io.BytesIO()
            image.resize(size, Image.Resampling.LANCZOS).save(out, form, **_ENCODING_COPIES[form])
            copies[width] = out.getvalue()
        image.close()
        return copies


@contextmanager
def _one_at_a_time(*, wait: bool = True) -> Iterator[bool]:
    """All processes of this machine decode one image after the other: 25 megapixels take about 200 MB.

    Yields whether it is this caller's turn, which is always so after waiting.
    """
    with (Path(settings.VAR) / "decoding.lock").open("ab") as lock:
        is_free = locks.lock(lock, locks.LOCK_EX if wait else locks.LOCK_EX | locks.LOCK_NB)
        yield wait or is_free


def _opened(data: bytes) -> Image.Image:
    """The image with only its header read, and no pixels yet. Raises BadPicture for what the header shows."""
    if not data:
        raise BadPicture("The file is empty.", "Choose another file.")
    refuse_too_large(len(data))
    start = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not data.startswith(_MAGIC) and (b"<svg" in start or start.startswith((b"<?xml", b"<!doctype svg"))):
        raise BadPicture("SVG files are not accepted, because they can contain scripts.", "Export it as PNG.")
    try:
        image = Image.open(io.BytesIO(data), formats=tuple(FORMATS))
    except Image.DecompressionBombError:
        raise _too_many_pixels() from None
    except Exception:  # as above
        if data.startswith(_MAGIC):
            raise BadPicture("The image is damaged or incomplete.", _SAVE_AGAIN) from None
        raise BadPicture("This is not a PNG, JPEG or WebP image.", _SAVE_AGAIN) from None
    if image.width * image.height > settings.MEDIA_MAX_PIXELS:
        raise _too_many_pixels(image)
    if getattr(image, "n_frames", 1) > 1:
        raise BadPicture("The file contains several pictures or is animated.", "Save one picture in a separate file.")
    if image.mode not in _MODES:
        raise BadPicture(f"The image's colour mode is {image.mode}.", "Save it in RGB with 8 bits per channel.")
    if data[_end_of(data, str(image.format)) :].strip(b"\x00\r\n\t "):
        what = "The file contains other data after the image, such as the video of a live photo or a hidden file."
        raise BadPicture(what, _SAVE_AGAIN)
    return image


def _too_many_pixels(image: Image.Image | None = None) -> BadPicture:
    most = settings.MEDIA_MAX_PIXELS / 1e6
    size = f" ({image.width:,} × {image.height:,})" if image else ""
    return BadPicture(f"The image has more than {most:,.4g} megapixels{size}.", "Scale it down.")


def _plain(image: Image.Image) -> Image.Image:
    """Upright, in sRGB, without metadata."""
    profile = image.info.get("icc_profile")
    upright = ImageOps.exif_transpose(image)
    has_alpha = "A" in upright.mode or "transparency" in upright.info
    mode = "RGBA" if has_alpha else "L" if upright.mode in ("1", "L") else "RGB"
    plain = upright.convert(mode)
    if profile and mode != "L":
        # A broken profile is ignored, as browsers do.
        with suppress(ImageCms.PyCMSError, OSError, ValueError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            srgb = ImageCms.createProfile("sRGB")
            plain = ImageCms.profileToProfile(plain, source, srgb, outputMode=mode) or plain
    plain.info.clear()
    return plain


def _end_of(data: bytes, form: str) -> int:
    """Where the image ends in the file. The end of the file if the image is incomplete."""
    if form == "PNG":
        # After the chunk IEND (PNG specification, 5.3: length, type, data and checksum).
        offset, kind = 8, b""
        while kind != b"IEND" and offset + 12 <= len(data):
            kind, offset = data[offset + 4 : offset + 8], offset + 12 + int.from_bytes(data[offset : offset + 4], "big")
        return min(offset, len(data)) if kind == b"IEND" else len(data)
    if form == "WEBP":
        return min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    # After the marker EOI (ITU T.81, annex B): segments have a length; scans have FF before 0 or RSTn.
    offset = 2
    while 0 <= offset < len(data) - 1:
        if data[offset] != 0xFF:
            offset = data.find(b"\xff", offset)
            continue
        marker = data[offset + 1]
        if marker == 0xD9:
            return offset + 2
        if marker == 0xFF:
            offset += 1
        elif marker in (0x00, 0x01) or 0xD0 <= marker <= 0xD7:
            offset += 2
        else:
            offset += 2 + int.from_bytes(data[offset + 2 : offset + 4], "big")
    return len(data)
