"""Sound and video on workers' pages: played by keyboard and mouse, recorded, needed to the end, at both widths."""

from __future__ import annotations

import base64
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Draft, Rating, Study
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish
from annotation.studies.recordings import add_file
from annotation.table_files import read_table
from annotation.tokens import participant_token
from tests.annotation.images import photo
from tests.annotation.recordings import CAPTIONS, wav
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.work_helpers import check_looks, tab_to
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCALE = {"kind": "scale", "topic": "mos", "question": "How good does it sound?", "points": 5, "of": "text"}
CONFIG = {
    "texts": ["a", "b"],
    "texts_as": "audio",
    "play_to_end": True,
    "shown": [
        {"field": "scene", "heading": "The scene", "as": "video"},
        {"field": "look", "heading": "The place", "as": "image"},
    ],
    "questions": [SCALE],
}
#: A second of a moving square, recorded by the browser itself: VP8 in WebM.
MAKE_VIDEO = """async () => {
  const canvas = Object.assign(document.createElement('canvas'), {width: 320, height: 180});
  const pen = canvas.getContext('2d'), pieces = [];
  let at = 0;
  const timer = setInterval(() => {
    pen.fillStyle = '#204060'; pen.fillRect(0, 0, 320, 180);
    pen.fillStyle = '#ffd54f'; pen.fillRect(at += 8, 60, 50, 50);
  }, 40);
  const recorder = new MediaRecorder(canvas.captureStream(25), {mimeType: 'video/webm;codecs=vp8'});
  recorder.ondataavailable = event => pieces.push(event.data);
  const stopped = new Promise(resolve => { recorder.onstop = resolve; });
  recorder.start();
  await new Promise(resolve => setTimeout(resolve, 1200));
  recorder.stop();
  await stopped;
  clearInterval(timer);
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ''));
}"""


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_FILES = tmp_path / "media"


def live_study(files: dict[str, bytes], config: dict[str, Any], row: dict[str, str], **values: Any) -> Study:
    clean = {"layout": "beside", "document": "", "pages": "item", "question_order": "fixed", "record_edits": False}
    from annotation.studies.checking import check_settings
    from annotation.task_types.registry import get_type

    checked, problems = check_settings(form=get_type("form").config_form, settings=clean | config, prefix="config.")
    assert problems == []
    study = make_study(task_type="form", config=checked, items=0, live=False, feedback_box=False, **values)
    for name, data in files.items():
        add_file(study=study, name=name, file=io.BytesIO(data), size=len(data), alt="A wall of stone.", actor="ann")
    cells = {"sample_id": "s1"} | row
    table = read_table(io.BytesIO(f"{','.join(cells)}\n{','.join(cells.values())}\n".encode()), name="items.csv")
    import_items(study=study, table=table, actor="ann")
    publish(study=study, actor="ann")
    study.refresh_from_db()
    return study


def open_work(page: Page, live_server: Any, study: Study) -> None:
    page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))


def scenes(new_page: NewPage) -> Study:
    video = base64.b64decode(new_page().evaluate(MAKE_VIDEO))
    captions = CAPTIONS.encode()
    files = {"a.wav": wav(1.5), "b.wav": wav(1, frequency=330), "scene.webm": video, "scene.vtt": captions}
    row = {"scene": "scene.webm", "scene_captions": "scene.vtt", "look": "wall.jpg", "a": "a.wav", "b": "b.wav"}
    row |= {"a_transcript": "The owl waited."}
    return live_study(files | {"wall.jpg": photo(1600, 900)}, CONFIG, row)


def shot(page: Page, name: str) -> None:
    if folder := os.environ.get("MEDIA_SHOTS"):
        for width, viewport in (("390", NARROW), ("1280", WIDE)):
            page.set_viewport_size(viewport)  # type: ignore[arg-type]
            page.screenshot(path=f"{folder}/{name}-{width}.png", full_page=True)


def until(page: Page, expression: str) -> None:
    """Waits for an expression to be true. `wait_for_function` would need eval, which the page's policy refuses."""
    deadline = time.monotonic() + 30
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(50)


def play(page: Page, key: str) -> None:
    """With the keyboard: the focus is on the player, and Space plays it."""
    tab_to(page, f"#f-playing-{key}")
    page.keyboard.press("Space")
    until(page, f"document.getElementById('f-playing-{key}').ended")


def test_sound_and_video_are_played_to_the_end_with_the_keyboard_alone(
    new_page: NewPage, live_server: Any, axe_core: Path
) -> None:
    study = scenes(new_page)
    page = new_page(viewport=WIDE)
    open_work(page, live_server, study)
    page.wait_for_load_state("networkidle")
    check_looks(page, axe_core, "a form with media")
    shot(page, "media")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    # Two recordings are side by side, and nothing is wider than the page.
    boxes = [page.locator("audio").nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0] and boxes[1] and boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
    for number in (0, 1):
        page.locator("[data-question^=mos]").nth(number).get_by_role("radio", name="4").check()
    page.locator(".send button").click()
    summary = page.locator("#summary")
    expect(summary.get_by_text("Please play this to the end")).to_have_count(3)
    summary.get_by_role("link").first.focus()
    page.keyboard.press("Enter")  # leads to the player
    assert page.evaluate("document.activeElement.id") == "f-playing-scene"
    check_looks(page, axe_core, "what is missing")
    shot(page, "missing")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    page.keyboard.press("Space")
    until(page, "document.getElementById('f-playing-scene').ended")
    first, second = (page.locator("audio").nth(number).get_attribute("id") for number in (0, 1))
    for name in (first, second):
        play(page, str(name).removeprefix("f-playing-"))
    expect(page.locator("[data-progress]").first).to_have_text("You have played this to the end.")
    expect(page.locator(".playing .error")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    rows = {row.target: json.loads(row.text) for row in Rating.objects.filter(question="playing")}
    assert set(rows) == {"scene", "a", "b"}
    assert rows["a"]["length"] == pytest.approx(1.5, abs=0.05)
    assert rows["a"]["covered"] == pytest.approx(1.5, abs=0.2)
    assert all((record["starts"], record["ends"]) == (1, 1) for record in rows.values())


def test_what_is_skipped_does_not_count_and_what_was_played_outlives_the_page(
    new_page: NewPage, live_server: Any
) -> None:
    config = {"texts": ["clip"], "texts_as": "audio", "play_to_end": True, "questions": [SCALE]}
    study = live_study({"clip.wav": wav(4)}, config, {"clip": "clip.wav"})
    page = new_page(viewport=NARROW)
    open_work(page, live_server, study)
    until(page, "document.querySelector('audio').readyState >= 1")
    audio = "document.querySelector('audio')"
    page.evaluate(f"{audio}.currentTime = 3")  # forward, without playing
    page.evaluate(f"{audio}.play()")
    until(page, f"{audio}.ended")
    expect(page.locator("[data-progress]")).to_have_text("3 seconds left to play. What you skip does not count.")
    page.locator("[data-question=mos]").get_by_role("radio", name="3").check()
    page.locator(".send button").click()
    expect(page.locator("#summary")).to_contain_text("3 seconds were not played")
    page.wait_for_timeout(1500)  # the draft
    assert Draft.objects.exists()
    page.reload()
    expect(page.locator("[data-progress]")).to_have_text("3 seconds left to play. What you skip does not count.")
    page.evaluate(f"{audio}.play()")
    until(page, f"{audio}.currentTime >= 3.3")
    page.evaluate(f"{audio}.pause()")
    expect(page.locator("[data-progress]")).to_have_text("You have played this to the end.")
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    record = json.loads(Rating.objects.get(question="playing").text)
    assert (record["starts"], record["ends"]) == (2, 1)
    assert record["seconds"] == pytest.approx(4.3, abs=0.5)


def test_without_javascript_the_page_says_what_to_do(new_page: NewPage, live_server: Any) -> None:
    config = {"texts": ["clip"], "texts_as": "audio", "play_to_end": True, "questions": [SCALE]}
    study = live_study({"clip.wav": wav(1)}, config, {"clip": "clip.wav"})
    page = new_page(viewport=NARROW, java_script_enabled=False)
    open_work(page, live_server, study)
    # Playwright's Chromium keeps this element from being drawn, which people's browsers do not.
    assert "Turn on JavaScript and reload the page, or give the task back." in page.content()
    page.get_by_role("radio", name="3").check()
    page.locator(".send button").click()
    expect(page.locator("#summary")).to_contain_text("turn on JavaScript, reload the page and play it again")


def test_a_recording_that_the_browser_cannot_play_says_so(new_page: NewPage, live_server: Any) -> None:
    config = {"texts": ["clip"], "texts_as": "audio", "play_to_end": True, "questions": [SCALE]}
    damaged = wav(1)[:20] + b"\x99\x99" + wav(1)[22:]  # a coding that nobody knows
    study = live_study({"clip.wav": damaged}, config, {"clip": "clip.wav"})
    page = new_page(viewport=NARROW)
    open_work(page, live_server, study)
    expect(page.locator("[data-progress]")).to_contain_text("This cannot be played in your browser.")


def test_an_image_opens_at_full_size_with_the_keyboard(new_page: NewPage, live_server: Any) -> None:
    config = {"texts": ["look"], "texts_as": "image", "questions": [SCALE]}
    study = live_study({"wall.jpg": photo(2000, 1000)}, config, {"look": "wall.jpg"})
    page = new_page(viewport=NARROW)
    open_work(page, live_server, study)
    box = page.locator(".picture img").bounding_box()
    assert box and box["width"] <= 358
    tab_to(page, ".picture a")
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("document.images[0].naturalWidth") == 2000
