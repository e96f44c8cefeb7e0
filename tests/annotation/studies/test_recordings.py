"""Audio and video of a form: from files and uploads to pages, ranges, records of playing, exports and bundles."""

from __future__ import annotations

import io
import json
import os
import re
import time
import zipfile
from collections.abc import Mapping
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Item, Media, Rating, Study
from annotation.results.exports import export
from annotation.results.worker_pages import worker_pages
from annotation.studies.checking import check_settings
from annotation.studies.image_files import file_of
from annotation.studies.images import delete_media
from annotation.studies.launching import publish
from annotation.studies.recordings import add_file
from annotation.task_types.registry import get_type
from common.problems import Invalid
from hitserver import retention
from tests.annotation.console_helpers import as_role
from tests.annotation.images import HTML, SVG, image_file
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.recordings import CAPTIONS, wav, webm
from tests.annotation.study_file_helpers import run
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db

QUESTION = {"kind": "scale", "topic": "mos", "question": "How good is it?", "points": 5, "of": "text"}
SIDES = {
    "texts": ["a", "b"],
    "texts_as": "audio",
    "play_to_end": True,
    "shown": [
        {"field": "scene", "heading": "The scene", "as": "video"},
        {"field": "look", "heading": "", "as": "image"},
    ],
    "questions": [QUESTION],
}
HEADER = "sample_id,scene,scene_captions,look,look_alt,a,a_transcript,a_system,b,b_captions,b_system\n"
ROW = "s1,scene.webm,scene.vtt,owl.png,An owl.,a.wav,Hello there.,good,b.wav,b.vtt,bad\n"
PLAYED = {"length": 1, "seconds": 1, "starts": 1, "ends": 1, "parts": [[0, 1]]}
TO_THE_END = json.dumps(PLAYED)


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_FILES = tmp_path / "media"
    return tmp_path / "media"


def study_file(folder: Path, rows: str = ROW, *, config: Mapping[str, Any] = SIDES, header: str = HEADER) -> Path:
    """A study file beside its items and their files."""
    files = {
        "a.wav": wav(1.0),
        "b.wav": wav(1.0, frequency=330),
        "scene.webm": webm(),
        "scene.vtt": CAPTIONS.encode(),
        "b.vtt": CAPTIONS.encode(),
        "owl.png": image_file(size=(800, 300)),
        "essay.mp3": b"Not a song.",
        "page.mp3": HTML,
        "drawing.wav": SVG,
        "empty.wav": b"",
        "reversed.vtt": b"WEBVTT\n\n00:02.000 --> 00:01.000\nHi.\n",
        "headless.vtt": b"00:01.000 --> 00:02.000\nHi.\n",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "items.csv").write_text(header + rows)
    document = {"slug": "clips", "task_type": "form", "title": "Clips", "items": "items.csv", "config": dict(config)}
    (folder / "study.yaml").write_text(yaml.safe_dump(document))
    return folder / "study.yaml"


def applied(folder: Path, *, live: bool = True, **changes: Any) -> Study:
    study = run(study_file(folder, **changes)).study
    assert study is not None
    if live:
        publish(study=study, actor="ann")
        study.refresh_from_db()
    return study


def problems_in(folder: Path, capsys: Any, **changes: Any) -> str:
    with pytest.raises(CommandError):
        call_command("study", "apply", study_file(folder, **changes))
    assert not Study.objects.exists()
    return str(capsys.readouterr().err)


# --- what is wrong with files and settings ---


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("essay.mp3", "no recording that browsers play"),
        ("page.mp3", "a web page, not a recording"),
        ("drawing.wav", "they can contain scripts"),
        ("empty.wav", "The file is empty"),
        ("none.wav", "There is no file"),
        ("owl.png", "no recording that browsers play"),
        ("scene.vtt", "is captions in WebVTT, but this column is for audio"),
        ("../secret.wav", "cannot be the name of a file"),
        ("https://example.org/a.wav", "This is an address"),
    ],
)
def test_a_file_that_is_no_recording_is_named_with_its_row_and_column(
    cell: str, what: str, tmp_path: Path, capsys: Any, media_folder: Path
) -> None:
    rows = ROW + ROW.replace("s1", "s2").replace("a.wav", cell)
    said = problems_in(tmp_path, capsys, rows=rows)
    assert what in said
    assert re.findall(r"^ +(\d+) +(\w+) ", said, re.MULTILINE) == [("2", "a")]
    assert not media_folder.exists()


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("reversed.vtt", "in line 3 ends at or before its beginning"),
        ("headless.vtt", "do not begin with the line WEBVTT"),
        ("a.wav", "is audio, but this column is for captions"),
        ('"WEBVTT\n\n00:02.000 --> 00:01.000\nHi."', "in line 3 ends at or before its beginning"),
    ],
)
def test_captions_that_are_wrong_are_named(cell: str, what: str, tmp_path: Path, capsys: Any) -> None:
    said = problems_in(tmp_path, capsys, rows=ROW.replace("scene.vtt", cell))
    assert what in said
    assert re.findall(r"^ +(\d+) +(\w+) ", said, re.MULTILINE) == [("1", "scene_captions")]


def test_a_video_column_needs_a_picture(tmp_path: Path, capsys: Any) -> None:
    assert "“a.wav” is audio, but this column is for a video" in problems_in(
        tmp_path, capsys, rows=ROW.replace("scene.webm", "a.wav")
    )


def test_two_gigabytes_are_refused_by_their_size_alone(tmp_path: Path, capsys: Any) -> None:
    study_file(tmp_path)
    with (tmp_path / "huge.wav").open("wb") as file:
        file.truncate(2 * 1024**3)  # takes no room on the disk
    began = time.process_time()
    said = problems_in(tmp_path, capsys, rows=ROW.replace("a.wav", "huge.wav"))
    assert "The file has 2,048 MB; at most 50 MB are allowed." in said
    assert time.process_time() - began < 10


def test_a_study_has_room_for_so_many_megabytes(tmp_path: Path, capsys: Any, settings: Any) -> None:
    settings.STUDY_MEDIA_MAX_BYTES = 12_000
    assert "The files of this study would have" in problems_in(tmp_path, capsys)


@pytest.mark.parametrize(
    ("changes", "setting", "what"),
    [
        ({"texts_as": "text", "shown": []}, "play_to_end", "Nothing in this study is played"),
        ({"texts_as": "image", "shown": []}, "play_to_end", "Nothing in this study is played"),
        ({"texts_as": "hologram"}, "texts_as", "hologram"),
        ({"shown": [{"field": "scene", "as": "smell"}]}, "shown", "“smell” is not one of"),
        ({"questions": [QUESTION | {"topic": "playing"}]}, "questions", "the page records under “playing”"),
        ({"questions": [{"kind": "spans", "topic": "e", "question": "?", "of": "text"}]}, "questions", "needs texts"),
        ({"questions": [{"kind": "ranking", "topic": "r", "question": "?"}]}, "questions", "needs texts"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], setting: str, what: str) -> None:
    form = get_type("form").config_form
    _, problems = check_settings(form=form, settings=SIDES | changes, prefix="config.")
    assert [problem.where for problem in problems] == [f"config.{setting}"]
    assert what in problems[0].what + problems[0].fix


# --- uploads ---


def add(study: Study, name: str, data: bytes) -> Media:
    return add_file(study=study, name=name, file=io.BytesIO(data), size=len(data), alt="", actor="ann")


def test_a_recording_is_stored_as_it_is_for_the_server_alone(media_folder: Path) -> None:
    media = add(make_study(items=0, live=False), "a.wav", wav())
    path = file_of(media.key)
    assert path.read_bytes() == wav()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file for file in media_folder.rglob("*") if file.is_file()] == [path]
    assert (media.format, media.width, media.size) == ("WAV", 0, len(wav()))


def test_a_text_with_the_name_of_a_song_is_refused_and_not_stored(media_folder: Path) -> None:
    with pytest.raises(Invalid, match=r"essay\.mp3: This is no recording that browsers play"):
        add(make_study(items=0, live=False), "essay.mp3", b"Not a song.")
    assert not Media.objects.exists()
    assert not media_folder.exists()


def test_the_console_stores_recordings_beside_images() -> None:
    study = make_study(items=0, live=False)
    client, url = as_role("editor", study), reverse("console_images", args=[study.slug])
    for name, data in (("a.wav", wav()), ("scene.vtt", CAPTIONS.encode())):
        assert client.post(url, {"file": SimpleUploadedFile(name, data), "alt": ""}).status_code == 302
    page = client.get(url).content.decode()
    assert f'src="/media/{Media.objects.get(name="a.wav").key}"' in page
    bad = client.post(url, {"file": SimpleUploadedFile("essay.mp3", b"Not a song."), "alt": ""})
    assert bad.status_code == 422
    assert "This is no recording that browsers play" in bad.content.decode()


def test_an_upload_of_two_gigabytes_is_refused_unread() -> None:
    study = make_study(items=0, live=False)
    url = reverse("console_images", args=[study.slug])

    class Unread(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise AssertionError("read")

    unread: dict[str, Any] = {"wsgi.input": Unread()}
    response = as_role("editor", study).generic("POST", url, b"", CONTENT_LENGTH=str(2 * 1024**3), **unread)
    assert response.status_code == 413
    assert "64 MB" in response.content.decode()


def test_the_command_stores_a_recording(tmp_path: Path) -> None:
    study, out = make_study(items=0, live=False), StringIO()
    (tmp_path / "a.wav").write_bytes(wav())
    call_command("study", "add-image", study.slug, str(tmp_path / "a.wav"), stdout=out)
    assert f"a.wav, WAV, {len(wav()):,} bytes" in out.getvalue()


# --- pages ---


def test_a_page_shows_video_with_captions_and_recordings_under_names_that_tell_nothing(tmp_path: Path) -> None:
    study = applied(tmp_path)
    page = WorkerBrowser(make_participant(study=study)).get().content.decode()
    keys = dict(Media.objects.values_list("name", "key"))
    assert (
        f'<video id="f-playing-scene" controls playsinline preload="metadata" src="/media/{keys["scene.webm"]}"' in page
    )
    assert f'<track kind="captions" src="/media/{keys["scene.vtt"]}" srclang="en" label="Captions" default>' in page
    assert page.count("<audio ") == 2
    assert page.count("controls") == 3
    assert ">Recording A<" in page and ">Recording B<" in page
    # What is said: from the column, and for the other from its captions, which browsers do not show with sound.
    assert "Hello there." in page
    assert "The owl\nwaited." in page
    assert 'alt="An owl."' in page
    assert f'<a href="/media/{keys["owl.png"]}" target="_blank" rel="noopener">' in page
    assert "a.wav" not in page
    assert "b.wav" not in page
    assert "good" not in page.replace("How good is it?", "")


def test_the_order_of_recordings_is_balanced_and_recorded(tmp_path: Path) -> None:
    study = applied(tmp_path)
    orders = [make_submission(study=study).assignment.order["texts"] for _ in range(2)]
    assert sorted(orders) == [[[0, 1]], [[1, 0]]]


def test_the_preview_and_the_pages_of_a_bundle_show_players(tmp_path: Path) -> None:
    study = applied(tmp_path)
    preview = Client().get(reverse("study_preview", args=[study.slug]))
    assert preview.content.decode().count("<audio ") == 2
    assert "media-src 'self'" in preview.headers["Content-Security-Policy"]
    pages = [page.content.decode() for page in worker_pages(study).values()]
    assert any("<audio " in page for page in pages)
    assert not any("/media/" in page for page in pages)


def test_pages_have_no_player_before_there_are_items() -> None:
    study = make_study(task_type="form", config=dict(SIDES), items=0, live=False)
    page = as_role("editor", study).get(reverse("console_preview_page", args=[study.slug]) + "?step=1")
    assert page.status_code == 200


# --- played to the end ---


def sent(study: Study, **records: str) -> tuple[int, str]:
    browser = WorkerBrowser(make_participant(study=study))
    answers = {"mos-a": "4", "mos-b": "2"} | {f"playing-{name}": record for name, record in records.items()}
    response = browser.post(browser.form(), **answers)
    return response.status_code, fields(response).text if response.status_code != 303 else ""


def test_a_page_is_refused_until_everything_was_played(tmp_path: Path) -> None:
    study = applied(tmp_path)
    status, text = sent(study)
    assert status == 422
    assert "turn on JavaScript" in text
    half = json.dumps(PLAYED | {"parts": [[0, 0.2], [0.9, 1]]})  # skipped from 0.2 to 0.9
    status, text = sent(study, scene=TO_THE_END, a=TO_THE_END, b=half)
    assert status == 422
    assert "1 second was not played. What you skip does not count." in text
    assert sent(study, scene=TO_THE_END, a=TO_THE_END, b=TO_THE_END)[0] == 303


@pytest.mark.parametrize(
    "record",
    [
        "",
        "played",
        "[]",
        "{}",
        json.dumps(PLAYED | {"length": 0}),
        json.dumps(PLAYED | {"length": 0.2, "parts": [[0, 0.2]]}),  # the file says that it has 1 s
        json.dumps(PLAYED | {"parts": [[0, 1e9]]}),
        json.dumps(PLAYED | {"parts": [[1, 0]]}),
        json.dumps(PLAYED | {"parts": [[0, True]]}),
        json.dumps(PLAYED | {"length": -1}),
        '{"length": NaN, "seconds": 1, "starts": 1, "ends": 1, "parts": [[0, 1]]}',
        "9" * 30_000,
        "[" * 10_000,
    ],
)
def test_a_forged_or_broken_record_is_no_playing(record: str, tmp_path: Path) -> None:
    assert sent(applied(tmp_path), scene=TO_THE_END, a=record, b=TO_THE_END)[0] == 422


def test_without_the_option_nothing_is_refused_and_playing_is_recorded(tmp_path: Path) -> None:
    study = applied(tmp_path, config=SIDES | {"play_to_end": False})
    assert sent(study, a=json.dumps(PLAYED | {"seconds": 2.5, "starts": 3}))[0] == 303
    [rating] = Rating.objects.filter(question="playing")
    assert (rating.target, float(rating.value or 0)) == ("a", 2.5)
    assert json.loads(rating.text)["starts"] == 3


def test_records_and_names_are_in_exports_and_bundles(tmp_path: Path) -> None:
    study = applied(tmp_path)
    make_submission(study=study)
    rows = Rating.objects.filter(question="playing")
    assert {row.target for row in rows} == {"scene", "a", "b"}
    assert {float(row.value or 0) for row in rows if row.target != "scene"} == {1.0}
    out = io.BytesIO()
    export(study, kind="long", out=out)
    assert '""starts"": 1' in out.getvalue().decode()
    out = io.BytesIO()
    export(study, kind="bundle", out=out)
    with zipfile.ZipFile(out) as archive:
        assert archive.read("a.wav") == wav(1.0)
        assert {"scene.webm", "scene.vtt", "owl.png"} <= set(archive.namelist())
        assert "a.wav" in archive.read("items.csv").decode()
        assert "playing" in archive.read("ratings.csv").decode()


# --- later ---


def test_recordings_that_items_play_stay_and_others_go(tmp_path: Path) -> None:
    study = applied(tmp_path, live=False)
    played = Media.objects.get(name="a.wav")
    with pytest.raises(Invalid, match="1 item of this study uses it"):
        delete_media(media=played, actor="ann")
    spare = add(study, "spare.wav", wav(0.5))
    Media.objects.update(uploaded_at=timezone.now() - timedelta(days=31))
    for path in (tmp_path / "media").rglob("*.*"):
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)
    retention.delete()
    assert not file_of(spare.key).exists()
    assert file_of(played.key).exists()
    assert set(Media.objects.values_list("name", flat=True)) == {
        *("a.wav", "b.wav", "scene.webm", "scene.vtt", "b.vtt", "owl.png"),
    }


def test_applying_a_study_file_again_changes_nothing(tmp_path: Path) -> None:
    study = applied(tmp_path, live=False)
    assert run(tmp_path / "study.yaml").differences == []
    item = Item.objects.get(study=study)
    # PostgreSQL stores keys in an order of its own.
    assert set(item.payload["media"][0]) == {"scene", "scene_captions", "look", "a", "b", "b_captions"}
