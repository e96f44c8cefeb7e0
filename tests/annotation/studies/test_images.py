"""Images of studies: from the console, the command line and items files to workers' pages, exports and bundles."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Item, Media, Study
from annotation.results.exports import export
from annotation.studies.duplicating import duplicate_study
from annotation.studies.image_files import file_of
from annotation.studies.images import add_media, delete_media
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish
from annotation.studies.storing import Frozen
from annotation.table_files import TableProblems, read_table
from common.problems import Invalid
from hitserver import retention
from tests.annotation.console_helpers import as_role
from tests.annotation.images import HTML, animated, bomb, image_file, rotated_photo
from tests.annotation.pages import WorkerBrowser
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_FILES = tmp_path / "media"
    return tmp_path / "media"


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def draft(**values: Any) -> Study:
    return make_study(items=0, live=False, **values)


def add(study: Study, name: str = "door.png", data: bytes | None = None, alt: str = "A closed door.") -> Media:
    return add_media(study=study, name=name, data=data or image_file(), alt=alt, actor="ann")


def with_images(study: Study, *rows: tuple[str, str, str]) -> None:
    """Imports likert items, each with id, image and image_alt."""
    lines = ["sample_id,text,image,image_alt", *(f"{name},A text.,{image},{alt}" for name, image, alt in rows)]
    table = read_table(io.BytesIO("\n".join(lines).encode()), name="items.csv")
    import_items(study=study, table=table, actor="ann")


# --- uploads ---


def test_an_image_is_stored_under_its_hash_for_the_server_alone(media_folder: Path) -> None:
    media = add(draft())
    file = file_of(media.key)
    assert stored(media_folder) == [file]
    assert file.parent.parent == media_folder
    assert file.stat().st_mode & 0o777 == 0o600
    assert (media.width, media.height, media.format, media.size) == (40, 30, "PNG", file.stat().st_size)


@pytest.mark.parametrize("data", [HTML, bomb, animated(), image_file("JPEG", mode="CMYK"), image_file() + HTML])
def test_nothing_of_a_refused_image_is_stored(data: bytes | Callable[[], bytes], media_folder: Path) -> None:
    with pytest.raises(Invalid):
        add(draft(), data=data() if callable(data) else data)
    assert not stored(media_folder)
    assert not Media.objects.exists()


@pytest.mark.parametrize("alt", ["", "  \n ", "x" * 501])
def test_an_alternative_text_is_needed(alt: str, media_folder: Path) -> None:
    with pytest.raises(Invalid, match="alternative text"):
        add(draft(), alt=alt)
    assert not stored(media_folder)


@pytest.mark.parametrize("name", ["../door.png", "/etc/door.png", "a\\b.png", "a\x00.png", "", "x" * 201])
def test_a_name_never_leads_elsewhere(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be the name"):
        add(draft(), name=name)


def test_two_images_of_a_study_have_different_names_and_share_a_file(media_folder: Path) -> None:
    study = draft()
    add(study)
    add(study, name="again.png")
    with pytest.raises(Invalid, match=r"already has an image called door\.png"):
        add(study)
    assert len(stored(media_folder)) == 1


def test_images_are_locked_after_the_launch() -> None:
    study = draft(task_type="likert")
    unused = add(study, name="unused.png")
    add(study)
    with_images(study, ("t1", "door.png", ""))
    publish(study=study, actor="ann")
    with pytest.raises(Frozen):
        add(study, name="late.png")
    with pytest.raises(Frozen):
        delete_media(media=unused, actor="ann")


def test_the_console_shows_stores_and_deletes() -> None:
    study = draft(task_type="likert")
    client, url = as_role("editor", study), reverse("console_images", args=[study.slug])
    file = SimpleUploadedFile("photo.jpg", rotated_photo(), "image/jpeg")
    assert client.post(url, {"file": file, "alt": "A half red photo."}).status_code == 302
    page = client.get(url).content.decode()
    assert 'alt="A half red photo."' in page
    assert "20 × 40 pixels" in page
    media = Media.objects.get()
    assert media.uploaded_by is not None
    with_images(study, ("t1", "photo.jpg", ""))
    delete = reverse("console_delete_image", args=[study.slug, media.pk])
    assert "1 item of this study uses it" in client.post(delete, follow=True).content.decode()
    with_images(study, ("t1", "", ""))
    assert "photo.jpg is deleted." in client.post(delete, follow=True).content.decode()
    assert not Media.objects.exists()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"alt": "x"}, "Choose an image or a recording."),
        ({"file": SimpleUploadedFile("a.png", HTML, "image/png"), "alt": "x"}, "This is not a PNG, JPEG or WebP"),
        ({"file": SimpleUploadedFile("a.png", image_file()), "alt": " "}, "Describe what the image shows"),
    ],
)
def test_the_console_says_what_is_wrong_beside_the_field(sent: dict[str, Any], said: str) -> None:
    study = draft()
    response = as_role("editor", study).post(reverse("console_images", args=[study.slug]), sent)
    assert response.status_code == 422
    assert said in response.content.decode()


def test_viewers_see_images_and_cannot_change_them() -> None:
    study = draft()
    media = add(study)
    client = as_role("viewer", study)
    page = client.get(reverse("console_images", args=[study.slug])).content.decode()
    assert "A closed door." in page
    assert 'type="file"' not in page
    assert client.post(reverse("console_delete_image", args=[study.slug, media.pk])).status_code == 404


def test_the_command_stores_an_image(tmp_path: Path) -> None:
    study, out = draft(), StringIO()
    (tmp_path / "door.png").write_bytes(image_file())
    call_command("study", "add-image", study.slug, str(tmp_path / "door.png"), "--alt", "A door.", stdout=out)
    assert "door.png, 40 × 30 pixels" in out.getvalue()
    assert Media.objects.get().alt == "A door."
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("study", "add-image", study.slug, str(tmp_path / "none.png"), "--alt", "A door.")


# --- items ---


def test_an_item_shows_an_image_by_name_or_by_hash_with_its_own_description() -> None:
    study = draft(task_type="likert")
    media = add(study)
    with_images(study, ("t1", "door.png", ""), ("t2", media.key, "The door of t2."), ("t3", "", ""))
    first, second, third = (item.payload for item in study.items.all())
    assert (first["image"], first["image_alt"], first["image_size"]) == (media.key, "A closed door.", [40, 30])
    assert (second["image"], second["image_alt"]) == (media.key, "The door of t2.")
    assert "image_size" not in third


def test_all_problems_with_images_are_listed_with_their_rows() -> None:
    study = draft(task_type="likert")
    with pytest.raises(TableProblems) as refused:
        add(study)
        rows = (("t1", "none.png", "x"), ("t2", "../secret.png", "x"), ("t3", "", ""), ("t4", "door.png", "x" * 501))
        with_images(study, *rows)
    found = [(each.row, each.column) for each in refused.value.problems]
    assert found == [(1, "image"), (2, "image"), (4, "image_alt")]
    assert "This study has no image called “none.png”" in refused.value.problems[0].what
    assert not Item.objects.exists()


def test_the_image_of_another_study_is_not_found() -> None:
    media = add(draft())
    with pytest.raises(TableProblems):
        with_images(draft(task_type="likert"), ("t1", media.key, "x"))


STUDY_FILE = "slug: seen\ntitle: Seen\ntask_type: likert\nitems: items.csv\n"


def study_file(folder: Path, rows: str, **images: bytes) -> str:
    (folder / "pictures").mkdir(exist_ok=True)
    for name, data in images.items():
        (folder / "pictures" / f"{name}.png").write_bytes(data)
    (folder / "items.csv").write_text(f"sample_id,text,image,image_alt\n{rows}")
    (folder / "study.yaml").write_text(STUDY_FILE)
    return str(folder / "study.yaml")


def apply(file: str, *options: str) -> str:
    out = StringIO()
    call_command("study", "apply", file, *options, stdout=out, stderr=out)
    return out.getvalue()


def test_a_study_file_brings_the_images_beside_its_items(tmp_path: Path, media_folder: Path) -> None:
    rows = "t1,One.,pictures/door.png,A door.\nt2,Two.,pictures/door.png,The same.\n"
    file = study_file(tmp_path, rows, door=image_file())
    apply(file, "--dry-run")
    assert not stored(media_folder)
    assert not Media.objects.exists()
    apply(file)
    media = Media.objects.get()
    assert (media.name, media.alt) == ("pictures/door.png", "A door.")
    assert [item.payload["image_alt"] for item in Item.objects.all()] == ["A door.", "The same."]
    assert stored(media_folder) == [file_of(media.key)]
    assert "seen: nothing to change." in apply(file)
    publish(study=Study.objects.get(), actor="ann")
    apply(file)  # nothing differs, so nothing is refused
    study_file(tmp_path, "t1,One.,pictures/door.png,A door.\n", door=image_file(size=(10, 10)))
    with pytest.raises(CommandError, match="locked"):
        apply(file)


def test_an_image_that_was_changed_replaces_the_one_of_the_draft(tmp_path: Path) -> None:
    file = study_file(tmp_path, "t1,One.,pictures/door.png,A door.\n", door=image_file())
    apply(file)
    before = Media.objects.get().key
    apply(study_file(tmp_path, "t1,One.,pictures/door.png,A red door.\n", door=image_file(size=(10, 10))))
    media = Media.objects.get()
    assert media.key != before
    assert media.alt == "A red door."
    assert Item.objects.get().payload["image"] == media.key


def test_a_study_file_lists_bad_images_and_stores_nothing(tmp_path: Path, media_folder: Path, capsys: Any) -> None:
    rows = "t1,One.,pictures/door.png,A door.\nt2,Two.,pictures/bad.png,Bad.\nt3,Three.,pictures/door.png,\n"
    with pytest.raises(CommandError, match="2 problems"):
        call_command("study", "apply", study_file(tmp_path, rows, door=image_file(), bad=HTML))
    said = capsys.readouterr().err
    assert "not a PNG, JPEG or WebP" in said
    assert "no alternative text" in said
    assert not stored(media_folder)
    assert not Study.objects.exists()


# --- pages ---


def live_with_image(task_type: str = "likert", name: str = "door.png") -> Study:
    study = draft(task_type=task_type)
    add(study, name=name)
    with_images(study, ("t1", name, ""))
    publish(study=study, actor="ann")
    study.refresh_from_db()
    return study


def test_workers_see_the_image_above_the_task_and_in_the_preview() -> None:
    study = live_with_image()
    key = Media.objects.get().key
    image = f'<img src="/media/{key}" width="40" height="30" alt="A closed door."'
    assert image in WorkerBrowser(make_participant(study=study)).get().content.decode()
    assert image in Client().get(reverse("study_preview", args=[study.slug])).content.decode()
    client = as_role("viewer", study)
    assert image in client.get(reverse("console_preview_page", args=[study.slug]) + "?step=1").content.decode()
    assert image in client.get(reverse("console_item", args=[study.slug, study.items.get().pk])).content.decode()


def test_a_set_of_responses_shows_its_image() -> None:
    study = draft(task_type="abs_hds")
    add(study)
    line = "sample_id,context,resp_0,resp_1,image\ns1,A context.,One.,Two.,door.png\n"
    import_items(study=study, table=read_table(io.BytesIO(line.encode()), name="sets.csv"), actor="ann")
    publish(study=study, actor="ann")
    study.refresh_from_db()
    assert WorkerBrowser(make_participant(study=study)).get().content.decode().count("<img ") == 1


def test_the_first_line_of_a_story_has_an_image_prompt() -> None:
    study = draft(task_type="cyoa")
    add(study)
    table = read_table(io.BytesIO(b"prompt_id,prompt,image\np1,,door.png\n"), name="prompts.csv")
    import_items(study=study, table=table, actor="ann")
    page = as_role("viewer", study).get(reverse("console_preview_page", args=[study.slug]) + "?step=1")
    assert page.content.decode().count("<img ") == 1
    assert "<summary>The picture</summary>" not in page.content.decode()
    page = as_role("editor", study).get(reverse("console_preview_page", args=[study.slug]) + "?step=3")
    assert "<summary>The picture</summary>" in page.content.decode()


def test_an_image_is_served_for_good_without_cookies_and_never_as_a_page() -> None:
    media = add(draft())
    client = Client()
    response = client.get(reverse("media_file", args=[media.key]))
    assert response.content == file_of(media.key).read_bytes()
    headers = response.headers
    assert headers["Content-Type"] == "image/png"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "sandbox" in headers["Content-Security-Policy"]
    assert not response.cookies
    assert "Cookie" not in headers.get("Vary", "")
    again = client.get(reverse("media_file", args=[media.key]), headers={"If-None-Match": headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["door.png", "0" * 64 + ".png", "0" * 64 + ".svg", "..", "%2e%2e%2fsecret_key"])
def test_a_name_that_is_not_an_image_is_not_found(name: str) -> None:
    add(draft())
    assert Client().get(f"/media/{name}").status_code == 404


# --- what happens to images later ---


def rows_of(study: Study, kind: str) -> str:
    out = io.BytesIO()
    export(study, kind=kind, out=out)
    return out.getvalue().decode()


def test_exports_have_the_name_and_bundles_the_file() -> None:
    study = live_with_image(name="pictures/door.png")
    assert "pictures/door.png" in rows_of(study, "wide")
    out = io.BytesIO()
    export(study, kind="bundle", out=out)
    with zipfile.ZipFile(out) as archive:
        assert archive.read("pictures/door.png") == file_of(Media.objects.get().key).read_bytes()
        assert "pictures/door.png" in archive.read("items.csv").decode()
        assert "pictures/door.png" not in json.loads(archive.read("study.json"))["files"]


def test_a_duplicate_has_the_images() -> None:
    study = live_with_image()
    made = duplicate_study(study=study, slug="copy", title="Copy", with_items=True, actor="ann", owner=None)
    assert made.media.get().key == study.media.get().key
    assert made.items.get().payload == study.items.get().payload


def test_retention_removes_images_that_nothing_shows(settings: Any, media_folder: Path) -> None:
    study = live_with_image()
    spare = add(draft(), name="spare.png", data=image_file(size=(9, 9)))
    young = add(draft(), name="young.png", data=image_file(size=(8, 8)))
    old = timezone.now() - timedelta(days=31)
    Media.objects.exclude(pk=young.pk).update(uploaded_at=old)
    for path in stored(media_folder):
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)
    [found] = [each for each in retention.find() if each.rule.model == "annotation.Media"]
    assert found.count == 1
    retention.delete()
    assert {path.name for path in stored(media_folder)} == {study.media.get().key, young.key}
    assert not Media.objects.filter(pk=spare.pk).exists()
