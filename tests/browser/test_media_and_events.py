"""Images and the log of edits in a real browser: uploaded, shown, recorded while somebody types, replayed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from annotation.models import EventBatch, Media, Step, Study, Submission
from annotation.studies.images import add_media
from annotation.studies.launching import publish
from annotation.task_types.questions import clean_text
from annotation.tokens import participant_token
from annotation.work.edit_log import Edit, edits_by_page, final_text
from tests.annotation.console_helpers import PASSWORD, make_user
from tests.annotation.images import image_file
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks, send
from tests.factories import make_participant, make_study
from tests.services import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: Of one, two and several UTF-16 code units; the last ones change how their neighbours look.
PIECES = ["a", "B", " ", "é", "한", "😀", "🇳🇱", "👨\u200d👩\u200d👧", "e\u0301", "\u0301", "\ufe0f", "\n", "the owl "]


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_FILES = tmp_path / "media"


def writing_study(**values: Any) -> Study:
    """Two boxes for responses on the first page, each of which is recorded."""
    config = {"record_edits": True, "responses": 2, "max_words": 200}
    return make_study(task_type="con_test", items=1, ratings_per_item=9, config=config, **values)


def open_work(new_page: NewPage, live_server: Any, study: Study, **options: Any) -> Page:
    page = new_page(**options)
    page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))
    return page


def sign_in(page: Page, live_server: Any) -> None:
    page.goto(live_server.url + reverse("console_login"))
    page.fill("#id_username", "ann")
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console/**")


def log_of(step: int = 0) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for edit in edits_by_page(EventBatch.objects.all()).get(step, []):
        found.setdefault(edit.field, []).append(edit)
    return found


def boxes(page: Page) -> list[str]:
    areas = page.locator("#task textarea[name]").all()
    return [str(area.get_attribute("name")) for area in areas[:2]]


def until(page: Page, condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Waits as `wait_for` does, while the page's own requests are answered."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        page.wait_for_timeout(50)


def matches() -> None:
    """The log of each box results in the text that was sent."""
    step, log = Step.objects.get(number=0), log_of()
    assert log
    for field, edits in log.items():
        if field in step.answers:
            assert clean_text(final_text(edits)) == step.answers[field]


# --- images ---


def test_an_image_is_uploaded_and_shown_to_a_worker(new_page: NewPage, live_server: Any, axe_core: Path) -> None:
    study = make_study(task_type="likert", items=0, live=False, owner=make_user("ann"))
    page = new_page()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_images", args=[study.slug]))
    page.set_input_files("#id_file", {"name": "door.svg", "mimeType": "image/svg+xml", "buffer": b"<svg></svg>"})
    page.fill("#id_alt", "A red door")
    page.get_by_role("button", name="Add file").click()
    expect(page.locator("#id_file_error")).to_contain_text("SVG files are not accepted")
    assert page.input_value("#id_alt") == "A red door"
    picture = image_file("JPEG", size=(1600, 900))
    page.set_input_files("#id_file", {"name": "door.jpg", "mimeType": "image/jpeg", "buffer": picture})
    page.get_by_role("button", name="Add file").click()
    expect(page.locator(".images img")).to_have_attribute("alt", "A red door")
    check_looks(page, axe_core, "images")

    page.goto(live_server.url + reverse("console_upload", args=[study.slug]))
    items = b"sample_id,text,image\nt1,The door was red.,door.jpg\n"
    page.set_input_files("#id_file", {"name": "items.csv", "mimeType": "text/csv", "buffer": items})
    page.locator("form[data-upload] button").click()
    expect(page.get_by_text("1 item imported from items.csv.")).to_be_visible()
    publish(study=study, actor="ann")
    worker = open_work(new_page, live_server, study, viewport=NARROW)
    expect(worker.locator(".picture img")).to_be_visible()
    assert worker.evaluate("document.querySelector('.picture img').naturalWidth") > 0
    check_looks(worker, axe_core, "a task with an image")


# --- recording ---


def test_what_is_typed_pasted_and_deleted_is_recorded_and_replayed(
    new_page: NewPage, live_server: Any, axe_core: Path
) -> None:
    study = writing_study(owner=make_user("ann"))
    worker = open_work(new_page, live_server, study)
    first, second = boxes(worker)
    box = worker.locator(f"#f-{first}")
    box.press_sequentially("I would go hme", delay=10)
    for _ in range(2):
        box.press("Backspace")
    box.press_sequentially("ome 😀 now.")
    wait_for(lambda: EventBatch.objects.exists(), "the first batch")
    worker.fill(f"#f-{second}", "Nobody knows where the bus stops.")
    send(worker, "")
    wait_for(lambda: Step.objects.exists(), "the page")
    matches()
    edits = log_of()[first]
    assert [edit.how for edit in edits][:2] == ["start", "type"]
    deletions = [(edit.position, edit.deleted, edit.inserted) for edit in edits if edit.deleted]
    assert deletions == [(13, 1, ""), (12, 1, "")]
    times = [edit.at for edit in edits]
    assert times == sorted(times)
    assert times[-1] > times[1]

    finish(worker)
    page = new_page()
    sign_in(page, live_server)
    submission = Submission.objects.get()
    page.goto(live_server.url + reverse("console_submission", args=[study.slug, submission.pk]))
    page.get_by_role("link", name="Replay how the texts were written").click()
    film = page.locator("#film")
    expect(film).to_have_text("I would go home 😀 now.")
    expect(page.get_by_text("The replay ends with the text that was sent.")).to_be_visible()
    check_looks(page, axe_core, "the replay")
    by_keyboard(page)


def finish(worker: Page) -> None:
    """The pages after the first one: choose a response, say it in other words."""
    worker.locator("#task input[type=radio]").first.check()
    worker.locator(".send button").click()
    expect(worker.locator("#task textarea").first).to_be_visible()
    for at, name in enumerate(boxes(worker)):
        worker.fill(f"#f-{name}", f"At home I would be by now, number {at}.")
    worker.locator(".send button").click()
    wait_for(lambda: Submission.objects.exists(), "the submission")


def by_keyboard(page: Page) -> None:
    film, line = page.locator("#film"), page.locator("#film-time")
    line.focus()
    page.keyboard.press("Home")
    expect(film).to_have_text("")
    page.locator("#film-forth").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(film).to_have_text("I ")
    page.locator("#film-back").focus()
    page.keyboard.press("Space")
    expect(film).to_have_text("I")
    expect(page.locator("#film-state")).to_contain_text("1 character typed")
    page.select_option("#film-speed", "16")
    page.locator("#film-play").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#film-play")).to_have_text("Pause")
    expect(film).to_have_text("I would go home 😀 now.")
    expect(page.locator("#film-play")).to_have_text("Play")


@pytest.mark.parametrize("seed", range(2))
def test_random_changes_lead_to_the_text_that_was_sent(new_page: NewPage, live_server: Any, seed: int) -> None:
    """Texts in random steps, cut anywhere between UTF-16 code units, as emoji keyboards do."""
    worker = open_work(new_page, live_server, writing_study())
    first, second = boxes(worker)
    worker.evaluate(RANDOM_CHANGES, {"id": f"f-{first}", "pieces": PIECES, "steps": steps(seed)})
    worker.fill(f"#f-{second}", "Nobody knows where the bus stops.")
    send(worker, "")
    wait_for(lambda: Step.objects.exists(), "the page")
    assert len(log_of()[first]) > 100
    matches()


def steps(seed: int) -> list[list[float]]:
    rng = random.Random(seed)
    return [[rng.random(), rng.random() ** 3, rng.random()] for _ in range(400)]


RANDOM_CHANGES = """({id, pieces, steps}) => {
    const box = document.getElementById(id);
    for (const [place, length, piece] of steps) {
        const from = Math.floor(place * (box.value.length + 1));
        const to = Math.min(box.value.length, from + Math.floor(length * 6));
        const inserted = pieces[Math.floor(piece * pieces.length)];
        box.value = box.value.slice(0, from) + inserted + box.value.slice(to);
        box.dispatchEvent(new Event("input", {bubbles: true}));
    }
    box.value = "It ends: " + box.value;
    box.dispatchEvent(new Event("input", {bubbles: true}));
}"""


def test_a_failed_batch_is_sent_again_and_nothing_typed_is_lost(new_page: NewPage, live_server: Any) -> None:
    worker = open_work(new_page, live_server, writing_study())
    first, second = boxes(worker)
    failed: list[str] = []

    def fail(route: Route) -> None:
        failed.append(route.request.url)
        route.fulfill(status=503) if len(failed) % 2 else route.abort()

    worker.route("**/events", fail)
    worker.locator(f"#f-{first}").press_sequentially("I would walk home.")
    until(worker, lambda: failed, "the first try")
    assert not EventBatch.objects.exists()
    worker.unroute("**/events")
    worker.locator(f"#f-{first}").press_sequentially(" Or run.")
    until(worker, EventBatch.objects.exists, "the next try")
    worker.route("**/events", fail)
    worker.locator(f"#f-{first}").press_sequentially(" Or fly.")
    worker.fill(f"#f-{second}", "Nobody knows where the bus stops.")
    send(worker, "")
    wait_for(lambda: Step.objects.exists(), "the page")
    assert Step.objects.get().answers[first] == "I would walk home. Or run. Or fly."
    matches()


def test_a_page_that_is_loaded_again_continues(new_page: NewPage, live_server: Any) -> None:
    worker = open_work(new_page, live_server, writing_study())
    first, second = boxes(worker)
    worker.locator(f"#f-{first}").press_sequentially("I would walk")
    wait_for(lambda: EventBatch.objects.exists(), "the first batch")
    expect(worker.locator("#saved")).to_have_text("Saved")
    worker.reload()
    expect(worker.locator(f"#f-{first}")).to_have_value("I would walk")
    worker.locator(f"#f-{first}").press("End")
    worker.locator(f"#f-{first}").press_sequentially(" home.")
    worker.fill(f"#f-{second}", "Nobody knows where the bus stops.")
    send(worker, "")
    wait_for(lambda: Step.objects.exists(), "the page")
    assert len({edit.view for edit in log_of()[first]}) == 2
    matches()


def test_typing_never_waits(new_page: NewPage, live_server: Any) -> None:
    """A change in a text of 20,000 characters, the most that is accepted, is noted within a frame (16 ms)."""
    worker = open_work(new_page, live_server, writing_study())
    first, _ = boxes(worker)
    milliseconds = worker.evaluate(
        """id => {
            const box = document.getElementById(id), text = "The owl 😀 waited. ".repeat(1000).slice(0, 19000);
            box.value = text;
            box.dispatchEvent(new Event("input"));  // does not bubble: only the box's own listeners run
            const began = performance.now();
            for (let at = 0; at < 200; at += 1) {
                box.value = text.slice(0, 9500) + "x".repeat(at + 1) + text.slice(9500);
                box.dispatchEvent(new Event("input"));
            }
            return (performance.now() - began) / 200;
        }""",
        f"f-{first}",
    )
    assert milliseconds < 16


def test_without_javascript_nothing_is_recorded_and_everything_is_sent(new_page: NewPage, live_server: Any) -> None:
    worker = open_work(new_page, live_server, writing_study(), java_script_enabled=False)
    expect(worker.locator("details.aside")).to_contain_text("This study records how you write", use_inner_text=False)
    for area in worker.locator("#task .question textarea").all():
        area.fill(f"A response, {area.get_attribute('name')}.")
    worker.locator(".send button").click()
    wait_for(lambda: Step.objects.exists(), "the page")
    assert not EventBatch.objects.exists()


def test_it_records_in_a_frame_of_another_site_without_cookies(new_page: NewPage, live_server: Any) -> None:
    page = new_page()
    address = live_server.url + reverse("work", args=[participant_token(make_participant(study=writing_study()).pk)])

    def allowed(route: Route) -> None:
        """The page as a server sends it whose settings name the platform."""
        response = route.fetch()
        policy = response.headers["content-security-policy"].replace("'self'", "'self' http://platform.example")
        route.fulfill(response=response, headers=response.headers | {"content-security-policy": policy})

    page.route(address, allowed)
    around = f'<title>Platform</title><iframe src="{address}" width="900" height="800"></iframe>'
    page.route("http://platform.example/", lambda route: route.fulfill(content_type="text/html", body=around))
    page.goto("http://platform.example/")
    page.frame_locator("iframe").locator("#task textarea").first.press_sequentially("I would walk home.")
    until(page, EventBatch.objects.exists, "a batch")
    assert page.context.cookies() == []


def test_a_picture_of_a_draft_can_be_deleted(new_page: NewPage, live_server: Any) -> None:
    study = make_study(task_type="likert", items=0, live=False, owner=make_user("ann"))
    add_media(study=study, name="spare.png", data=image_file(), alt="A spare picture.", actor="ann")
    page = new_page()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_images", args=[study.slug]))
    page.get_by_role("button", name="Delete spare.png").click()
    expect(page.get_by_text("spare.png is deleted.")).to_be_visible()
    assert not Media.objects.exists()
