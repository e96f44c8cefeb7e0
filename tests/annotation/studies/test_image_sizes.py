"""Smaller copies of images: how they look, who gets them, and that they are gone with their image."""

from __future__ import annotations

import io
import os
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from annotation.models import Media, Study
from annotation.studies import image_checks, image_files
from annotation.studies.image_files import WIDTHS, copy_of, file_of, read_copy
from annotation.studies.images import add_media, delete_media
from annotation.studies.launching import publish
from annotation.templatetags.pictures import picture_source
from common.files import replaced
from hitserver import retention
from tests.annotation.images import animated, image_file, photo
from tests.annotation.pages import WorkerBrowser
from tests.annotation.studies.test_images import draft, stored, with_images
from tests.factories import make_participant

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_FILES = tmp_path / "media"
    return tmp_path / "media"


def add(data: bytes, *, study: Study | None = None, name: str = "door.png") -> Media:
    return add_media(study=study or draft(), name=name, data=data, alt="A closed door.", actor="ann")


def get(media: Media, width: int | str) -> Any:
    return Client().get(f"/media/{media.key}/{width}")


def opened(media: Media, width: int) -> Image.Image:
    return Image.open(io.BytesIO(get(media, width).content))


def forget_copies(media: Media) -> None:
    """As of an image that was stored before there were copies."""
    for width in WIDTHS:
        copy_of(media.key, width).unlink(missing_ok=True)


# --- what they look like ---


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_copies_have_the_widths_and_the_format_of_their_image(format: str) -> None:
    media = add(image_file(format, size=(2000, 1000)))
    for width in WIDTHS:
        copy = opened(media, width)
        assert (copy.format, copy.size, copy.mode) == (format, (width, width // 2), "RGB")
        assert copy.convert("RGB").getpixel((width // 2, 10)) == pytest.approx((200, 30, 30), abs=4)


def test_no_copy_is_as_wide_as_its_image_or_wider(media_folder: Path) -> None:
    for width, copies in ((480, []), (481, [480]), (960, [480]), (1601, [480, 960, 1600])):
        media = add(image_file(size=(width, 50)), name=f"{width}.png")
        assert [at for at in WIDTHS if copy_of(media.key, at).exists()] == copies
        assert [at for at in WIDTHS if get(media, at).status_code == 200] == copies


def test_a_very_long_and_a_very_flat_image_have_copies() -> None:
    assert opened(add(image_file(size=(500, 9000))), 480).size == (480, 8640)
    assert opened(add(image_file(size=(9000, 2)), name="flat.png"), 480).size == (480, 1)


def test_what_is_transparent_stays_so() -> None:
    picture = Image.new("RGBA", (1000, 400), (0, 0, 0, 0))
    picture.paste((200, 30, 30, 255), (500, 0, 1000, 400))
    out = io.BytesIO()
    picture.save(out, "PNG")
    copy = opened(add(out.getvalue()), 480)
    assert copy.mode == "RGBA"
    assert [copy.getpixel((100, 90)), copy.getpixel((400, 90))] == [(0, 0, 0, 0), (200, 30, 30, 255)]
    # Half transparent where both meet, and as red as the rest: no dark edge.
    edge = [copy.getpixel((at, 90)) for at in range(236, 245)]
    assert all(pixel[0] >= 195 for pixel in edge if isinstance(pixel, tuple) and pixel[3] > 20)


def test_a_photo_taken_sideways_is_upright_and_says_nothing_of_the_camera() -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "SecretCamera"
    picture = Image.new("RGB", (1200, 600), (0, 0, 255))
    picture.paste((200, 30, 30), (0, 0, 600, 600))  # the left half; the top half once it is upright
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif)
    media = add(out.getvalue(), name="photo.jpg")
    copy = opened(media, 480)
    assert copy.size == (480, 960)
    assert copy.getpixel((240, 100)) == pytest.approx((200, 30, 30), abs=6)
    assert copy.getpixel((240, 860)) == pytest.approx((0, 0, 255), abs=6)
    assert b"SecretCamera" not in get(media, 480).content
    assert not copy.getexif()


def test_a_copy_never_has_more_bytes_than_its_image() -> None:
    """Fine stripes are a few bytes as they are; scaled down, they are greys."""
    picture = Image.new("L", (1100, 600))
    picture.putdata([255 * (at % 7 in (0, 2, 3)) for at in range(1100 * 600)])
    out = io.BytesIO()
    picture.save(out, "PNG")
    media = add(out.getvalue())
    assert all(len(get(media, width).content) <= media.size for width in (480, 960))


def test_nothing_animated_is_stored_so_nothing_of_it_is_scaled(media_folder: Path) -> None:
    for format in ("PNG", "WEBP", "GIF"):
        with pytest.raises(ValueError):
            add(animated(format))
    assert not stored(media_folder)


@pytest.mark.slow
def test_a_phone_loads_a_tenth_of_a_photo() -> None:
    media = add(photo(4000, 3000), name="photo.jpg")
    assert media.size > 10 * len(get(media, 960).content)


# --- when they are made ---


def test_copies_are_made_once_when_the_image_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    data = image_file("JPEG", size=(2000, 1000))
    media = add(data)
    monkeypatch.setattr(image_files, "scaled", None)
    assert [get(media, width).status_code for width in WIDTHS] == [200] * 3
    add(data, study=draft())  # the same image in another study


def test_a_missing_copy_is_made_once_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    media = add(image_file("JPEG", size=(2000, 1000)))
    before = get(media, 960).content
    forget_copies(media)
    assert get(media, 960).content == before
    assert not copy_of(media.key, 480).exists()
    monkeypatch.setattr(image_files, "scaled", None)
    assert get(media, 960).content == before


def test_nobody_waits_while_another_image_is_decoded() -> None:
    media = add(image_file(size=(2000, 1000)))
    forget_copies(media)
    with image_checks._one_at_a_time():
        response = get(media, 480)
    assert response.content == file_of(media.key).read_bytes()
    assert response.headers["Cache-Control"] == "no-store"
    assert "ETag" not in response.headers
    assert opened(media, 480).width == 480


def test_the_image_is_sent_where_no_copy_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    media = add(image_file(size=(2000, 1000)))
    forget_copies(media)
    monkeypatch.setattr(image_files, "write_whole", full)
    assert get(media, 480).content == file_of(media.key).read_bytes()


# --- who gets them ---


def test_a_copy_is_served_as_its_image_is() -> None:
    media = add(image_file(size=(2000, 1000)))
    whole, copy = Client().get(reverse("media_file", args=[media.key])), get(media, 480)
    names = ("Content-Type", "Cache-Control", "X-Content-Type-Options", "Content-Security-Policy")
    assert [whole.headers[name] for name in names] == [copy.headers[name] for name in names]
    assert not copy.cookies
    assert "Cookie" not in copy.headers.get("Vary", "")
    again = Client().get(f"/media/{media.key}/480", headers={"If-None-Match": copy.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert Client().get(f"/media/{media.key}/960", headers={"If-None-Match": copy.headers["ETag"]}).status_code == 200
    assert copy_of(media.key, 480).stat().st_mode & 0o777 == 0o600
    assert copy_of(media.key, 480).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("width", ["0", "1", "479", "481", "4000", "9" * 20, "-480", "480.0", "x", "../480"])
def test_an_unknown_width_is_not_found(width: str, media_folder: Path) -> None:
    media = add(image_file(size=(2000, 20)))
    before = stored(media_folder)
    assert get(media, width).status_code == 404
    assert stored(media_folder) == before


@pytest.mark.parametrize("name", ["door.png", "0" * 64 + ".png", "0" * 64 + ".svg", "copies", "%2e%2e"])
def test_a_copy_of_what_is_not_an_image_is_not_found(name: str) -> None:
    add(image_file(size=(2000, 20)))
    assert Client().get(f"/media/{name}/480").status_code == 404


def test_a_copy_is_not_served_without_its_image() -> None:
    media = add(image_file(size=(2000, 20)))
    file_of(media.key).unlink()
    assert get(media, 480).status_code == 404
    with pytest.raises(FileNotFoundError):
        read_copy(media.key, 480)


# --- when they are deleted ---


def test_copies_are_deleted_with_their_image(media_folder: Path) -> None:
    kept, deleted = (add(image_file(size=(2000, height)), name=f"{height}.png") for height in (900, 800))
    delete_media(media=deleted, actor="ann")
    Media.objects.update(uploaded_at=timezone.now() - timedelta(days=1))
    for path in stored(media_folder):
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)
    retention.delete()
    files = {file_of(kept.key), *(copy_of(kept.key, width) for width in WIDTHS)}
    assert set(stored(media_folder)) == files


def test_a_copy_that_was_made_while_its_image_was_deleted_goes_too(media_folder: Path) -> None:
    media = add(image_file(size=(2000, 900)))
    file_of(media.key).unlink()
    retention.delete()
    assert not stored(media_folder)


def test_a_copy_that_is_being_written_stays_and_what_a_killed_process_left_goes(media_folder: Path) -> None:
    media = add(image_file(size=(2000, 900)))
    copy = copy_of(media.key, 480)
    with replaced(copy) as file:
        file.write(b"new")
        retention.delete()
    assert copy.read_bytes() == b"new"
    left = copy.with_name(f".{copy.name}.1234.abcd")
    left.touch()
    os.utime(left, (time.time() - 2 * 24 * 3600,) * 2)
    retention.delete()
    assert not left.exists() and copy.exists()


# --- pages ---


def test_a_workers_page_offers_the_copies() -> None:
    study = draft(task_type="likert")
    key = add(image_file("JPEG", size=(4000, 3000)), study=study).key
    with_images(study, ("t1", "door.png", ""))
    publish(study=study, actor="ann")
    study.refresh_from_db()
    html = WorkerBrowser(make_participant(study=study)).get().content.decode()
    found = re.search('<img src="([^"]+)" srcset="([^"]+)" sizes="([^"]+)" width="4000" height="3000"', html)
    assert found is not None
    assert found[1] == f"/media/{key}/960"  # for browsers that know no srcset
    whole = f"/media/{key}"
    assert found[2] == f"{whole}/480 480w, {whole}/960 960w, {whole}/1600 1600w, {whole} 4000w"
    assert found[3] == "(max-width: 736px) calc(100vw - 2rem), 736px"
    assert [Client().get(part.split()[0]).status_code for part in found[2].split(", ")] == [200] * 4


def test_a_small_image_has_no_choice_and_one_in_between_is_shown_no_wider_than_it_is() -> None:
    key = "a" * 64 + ".png"
    assert picture_source(key, [480, 300]) == f'src="/media/{key}" width="480" height="300"'
    assert picture_source(key, None) == f'src="/media/{key}"'
    middle = picture_source(key, [600, 300])
    assert f'src="/media/{key}" srcset="/media/{key}/480 480w, /media/{key} 600w"' in middle
    assert 'sizes="(max-width: 600px) calc(100vw - 2rem), 600px"' in middle
