"""Which copy of an image a browser loads, how many bytes that are, and how wide the image is shown."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Response

from annotation.models import Media, Study
from annotation.studies.images import add_media
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish
from annotation.table_files import read_table
from annotation.tokens import participant_token
from tests.annotation.images import image_file, photo
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_FILES = tmp_path / "media"


@pytest.fixture(scope="module")
def large_photo() -> bytes:
    return photo(4000, 3000)


def study_with(picture: bytes, name: str) -> Study:
    study = make_study(task_type="likert", items=0, live=False)
    add_media(study=study, name=name, data=picture, alt="What it shows.", actor="ann")
    table = read_table(io.BytesIO(f"sample_id,text,image\nt1,A text.,{name}\n".encode()), name="items.csv")
    import_items(study=study, table=table, actor="ann")
    publish(study=study, actor="ann")
    study.refresh_from_db()
    return study


def loaded(page: Page, live_server: Any, study: Study) -> tuple[str, int, float]:
    """The last part of the image's address that the browser chose, its bytes, and how wide the image is shown."""
    sent: list[Response] = []
    page.on("response", lambda response: sent.append(response) if "/media/" in response.url else None)
    page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))
    page.wait_for_load_state("networkidle")
    [response] = sent
    box = page.locator(".picture img").bounding_box()
    assert response.status == 200 and box is not None
    return response.url.rpartition("/")[2], len(response.body()), box["width"]


@pytest.mark.parametrize(
    ("viewport", "scale", "copy"), [(NARROW, 1, "480"), (NARROW, 2, "960"), (NARROW, 3, "1600"), (WIDE, 1, "960")]
)
def test_a_screen_loads_a_photo_in_the_size_that_it_needs(
    viewport: dict[str, int], scale: int, copy: str, large_photo: bytes, new_page: NewPage, live_server: Any
) -> None:
    study = study_with(large_photo, "photo.jpg")
    page = new_page(viewport=viewport, device_scale_factor=scale)
    name, size, width = loaded(page, live_server, study)
    print(f"{viewport['width']} pixels at {scale}: {size:,} of {Media.objects.get().size:,} bytes")
    assert name == copy
    assert size < Media.objects.get().size / 4
    assert width == pytest.approx(358 if viewport is NARROW else 736, abs=1)


def test_without_a_smaller_copy_the_image_itself_is_loaded(new_page: NewPage, live_server: Any) -> None:
    study = study_with(image_file(size=(470, 300)), "picture.png")
    name, size, _ = loaded(new_page(viewport=NARROW), live_server, study)
    assert (name, size) == (Media.objects.get().key, Media.objects.get().size)


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["390", "1280"])
@pytest.mark.parametrize("width", [200, 600])
def test_no_image_is_shown_wider_than_it_is(
    width: int, viewport: dict[str, int], new_page: NewPage, live_server: Any
) -> None:
    study = study_with(image_file(size=(width, 100)), "picture.png")
    _, _, shown = loaded(new_page(viewport=viewport), live_server, study)
    assert shown == pytest.approx(min(width + 2, viewport["width"] - 32), abs=1)  # 2 for the border
