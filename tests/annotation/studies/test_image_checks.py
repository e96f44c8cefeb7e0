"""Uploaded images: which are refused and why, and what is left of the accepted ones."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.conf import LazySettings
from django.conf import settings as server
from PIL import Image, ImageCms

from annotation.studies import image_checks
from annotation.studies.image_checks import BadPicture, read_picture
from tests.annotation.images import HTML, RED, SVG, animated, bomb, image_file, rotated_photo, text_bomb

PNG, JPEG, WEBP = (image_file(format) for format in ("PNG", "JPEG", "WEBP"))

#: Large files are made when their test runs, and not by every process that collects the tests.
REFUSED: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "nothing": (b"", "empty"),
    "a script": (b"#!/bin/sh\nrm -rf /\n", "not a PNG, JPEG or WebP"),
    "a web page": (HTML, "not a PNG, JPEG or WebP"),
    "a web page that begins like a GIF": (b"GIF89a/*" + HTML, "not a PNG, JPEG or WebP"),
    "a GIF": (image_file("GIF", mode="P"), "not a PNG, JPEG or WebP"),
    "a TIFF": (image_file("TIFF"), "not a PNG, JPEG or WebP"),
    "an SVG": (SVG, "SVG files are not accepted"),
    "an SVG behind a comment": (b"<!-- hello --> <svg><script/></svg>", "SVG files are not accepted"),
    "100 megapixels in 12 kB": (bomb, "more than 25 megapixels (10,000 × 10,000)"),
    "900 megapixels": (partial(bomb, 30_000, 30_000), "more than 25 megapixels"),
    "a comment of 100 MB": (text_bomb, "damaged or incomplete"),
    "an animated PNG": (animated("PNG"), "animated"),
    "an animated WebP": (animated("WEBP"), "animated"),
    "CMYK": (image_file("JPEG", mode="CMYK"), "colour mode is CMYK"),
    "16 bits": (image_file("PNG", mode="I;16"), "colour mode is I;16"),
    "half a PNG": (image_file("PNG", size=(400, 400))[:200], "damaged or incomplete"),
    "half a JPEG": (image_file("JPEG", size=(400, 400))[:900], "damaged or incomplete"),
    "half a WebP": (image_file("WEBP", size=(400, 400), lossless=True)[:-20], "damaged or incomplete"),
    "a PNG with a web page behind it": (PNG + HTML, "other data after the image"),
    "a JPEG with a zip file behind it": (JPEG + b"PK\x03\x04 and so on", "other data after the image"),
    "a WebP with a script behind it": (WEBP + b"alert(1)", "other data after the image"),
    "a header without pixels": (PNG[:33], "damaged or incomplete"),
    "damaged pixels": (PNG[:60] + bytes([PNG[60] ^ 0xFF]) + PNG[61:], "damaged"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_the_reason(case: str) -> None:
    data, reason = REFUSED[case]
    with pytest.raises(BadPicture) as refused:
        read_picture(data() if callable(data) else data)
    assert reason in refused.value.what
    assert refused.value.fix
    assert "Traceback" not in str(refused.value)


def test_a_file_that_is_too_large_is_not_even_opened(settings: LazySettings) -> None:
    settings.MEDIA_MAX_BYTES = 100
    with pytest.raises(BadPicture, match="larger than"):
        read_picture(PNG + bytes(100))


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize(("format", "extension"), [("PNG", "png"), ("JPEG", "jpg"), ("WEBP", "webp")])
def test_it_keeps_format_and_size_and_is_named_by_its_content(format: str, extension: str) -> None:
    picture = read_picture(image_file(format))
    assert picture.key == f"{hashlib.sha256(picture.data).hexdigest()}.{extension}"
    found = opened(picture.data)
    assert (found.format, found.size) == (format, (40, 30))
    assert (picture.format, picture.width, picture.height, picture.size) == (format, 40, 30, len(picture.data))
    red, green, blue = found.convert("RGB").getpixel((20, 15))  # type: ignore[misc]
    assert (abs(red - RED[0]), abs(green - RED[1]), abs(blue - RED[2])) < (4, 4, 4)


def test_a_photo_is_upright_and_says_nothing_of_place_and_camera() -> None:
    data = rotated_photo()
    assert b"SecretCamera" in data
    assert b"secret comment" in data
    picture = read_picture(data)
    found = opened(picture.data)
    assert found.size == (20, 40)
    # EXIF 2.3, tag 0x0112: with 6, the first row of the data is the right-hand side. So its left half is above.
    red, _, blue = found.convert("RGB").getpixel((10, 5))  # type: ignore[misc]
    assert red > 150 > blue
    assert not found.getexif()
    assert b"SecretCamera" not in picture.data
    assert b"secret" not in picture.data
    assert "comment" not in found.info


def test_a_transparent_image_stays_transparent() -> None:
    found = opened(read_picture(image_file("PNG", mode="RGBA")).data)
    assert found.mode == "RGBA"
    assert found.getpixel((5, 5)) == (*RED, 128)


def test_the_colour_profile_is_dropped_and_srgb_stays_as_it_is() -> None:
    """From sRGB to sRGB no colour may change, and a profile that cannot be read says nothing."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    found = opened(read_picture(image_file("PNG", icc_profile=profile)).data)
    assert "icc_profile" not in found.info
    assert found.getpixel((5, 5)) == RED
    assert "icc_profile" not in opened(read_picture(image_file("PNG", icc_profile=b"nonsense")).data).info


def test_the_same_file_gives_the_same_name() -> None:
    assert read_picture(PNG).key == read_picture(PNG).key
    assert read_picture(PNG).key != read_picture(image_file("PNG", size=(41, 30))).key


def test_images_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight large ones at once would take 1.5 GB."""
    plain, together, most = image_checks._plain, [], []

    def slow(image: Image.Image) -> Image.Image:
        together.append(image)
        most.append(len(together))
        time.sleep(0.02)
        together.pop()
        return plain(image)

    monkeypatch.setattr(image_checks, "_plain", slow)
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(read_picture, [image_file("PNG")] * 8))) == 8
    assert most == [1] * 8


def test_other_processes_wait_as_well() -> None:
    with image_checks._one_at_a_time():
        code = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        command = [sys.executable, "-c", code, str(server.VAR / "decoding.lock")]
        assert b"BlockingIOError" in subprocess.run(command, capture_output=True, check=False).stderr
