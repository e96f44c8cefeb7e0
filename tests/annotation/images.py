"""Image files for tests, good and bad, made byte by byte or with Pillow as an encoder."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

RED = (200, 30, 30)


def image_file(format: str = "PNG", *, size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: Any) -> bytes:
    """A plain image: red, or grey in modes without colours."""
    colour: Any = {"RGB": RED, "RGBA": (*RED, 128), "CMYK": (0, 200, 200, 20)}.get(mode, 100)
    out = io.BytesIO()
    Image.new(mode, size, colour).save(out, format, **options)
    return out.getvalue()


def rotated_photo() -> bytes:
    """A JPEG of 40 × 20 pixels to be rotated by 90° (EXIF orientation 6), with the place and the camera."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "SecretCamera"
    exif.get_ifd(0x8825).update({1: "N", 2: (52.0, 22.0, 4.0), 3: "E", 4: (4.0, 53.0, 4.0)})
    picture = Image.new("RGB", (40, 20), (0, 0, 255))
    picture.paste(RED, (0, 0, 20, 20))  # the left half; the top half once it is upright
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif, comment=b"secret comment", quality=95)
    return out.getvalue()


def animated(format: str = "PNG") -> bytes:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")]
    out = io.BytesIO()
    frames[0].save(out, format, save_all=True, append_images=frames[1:], duration=100)
    return out.getvalue()


def bomb(width: int = 10_000, height: int = 10_000) -> bytes:
    """A PNG of 100 megapixels in about 12 kB: one bit per pixel, all the same (PNG specification, 5.2 and 11.2)."""
    rows = zlib.compress(b"\x00" * ((width // 8 + 1) * height), 9)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, data)
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)),
            (b"IDAT", rows),
            (b"IEND", b""),
        )
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def text_bomb() -> bytes:
    """A PNG whose compressed comment unpacks to 100 MB."""
    whole = image_file()
    text = chunk(b"zTXt", b"Comment\x00\x00" + zlib.compress(b"a" * 100_000_000, 9))
    return whole[:33] + text + whole[33:]  # after IHDR


SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!doctype html><script>alert(1)</script>"


def photo(width: int, height: int) -> bytes:
    """A JPEG with the structure of a photo: soft shapes, finer ones on top, and the grain of a sensor."""
    rng = np.random.default_rng(5)
    layers = [
        np.asarray(
            Image.fromarray(rng.integers(0, 256, (height // cell + 2, width // cell + 2, 3), dtype=np.uint8)).resize(
                (width, height), Image.Resampling.BICUBIC
            ),
            dtype=np.float32,
        )
        * weight
        for cell, weight in ((400, 0.5), (60, 0.3), (12, 0.15))
    ]
    grain = rng.normal(0, 6, (height, width, 1)).astype(np.float32)
    pixels = np.clip(sum(layers) + grain, 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=92)
    return out.getvalue()
