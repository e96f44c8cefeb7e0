"""QuestionForms with their formats, files and layouts in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from marketplace.models import Requester, UploadedFile
from marketplace.questions.answers_xml import read_answers
from marketplace.services.hits import layouts, uploaded_files
from marketplace.services.qualifications import qualification_requests
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.test_marketplace_work import problems_of, sign_in
from tests.marketplace.support import question_forms as forms
from tests.marketplace.support.work_site import (
    PASSWORD,
    make_assignment,
    make_hit,
    make_requester,
    make_type,
    make_worker,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: AWS's examples of AnswerFormatRegex, and what JavaScript alone understands or refuses.
NONE = "Invalid input supplied."
TWO_OR_NONE = forms.pattern(r"(^$|\S{2,})", error="At least two characters, or none.")
PHONE = forms.pattern(r"^(1[- ]?)?(\([2-9]\d{2}\)\s*|[2-9]\d{2}-?)[2-9]\d{2}-?\d{4}$")
ANY_CASE = forms.pattern("regex", flags="i", error="Write regex.")
BOTH = forms.pattern("a", error="No a.") + forms.pattern("b", error="No b.")
TWO_UNITS = forms.pattern("^..$")
FORMATS = [
    (TWO_OR_NONE, {"": "", "ab": "", "a": "At least two characters, or none."}),
    (PHONE, {"1-555-555-1234": "", "555-555-1234": "", "555-1234": NONE, "": NONE}),
    (ANY_CASE, {"regex": "", "RegEx": "", "my RegExes": "", "expression": "Write regex."}),
    (BOTH, {"ab": "", "a": "No b.", "c": "No a."}),
    (TWO_UNITS, {"🎉": "", "🎉🎉": NONE}),
    (forms.pattern("[a-"), {"b": ""}),  # no expression at all: nothing to check
]


def test_formats_are_checked_before_anything_is_sent(live_server: LiveServer, new_page: NewPage) -> None:
    worker = make_worker("robin")
    parts = [forms.free_text(xml, identifier=f"q{number}") for number, (xml, _) in enumerate(FORMATS, start=1)]
    lines = forms.free_text(forms.pattern("^a$"), identifier="lines", lines=3)
    other = forms.selections(other=f"<Constraints>{forms.pattern('^a$')}</Constraints>", identifier="other")
    assignment = make_assignment(worker, question=forms.form(*parts, lines, other))
    page = new_page(viewport=NARROW)
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
    cases = [
        (f"q{number}", text, message)
        for number, (_, texts) in enumerate(FORMATS, start=1)
        for text, message in texts.items()
    ]
    cases += [("q7", "b", NONE), ("q7", "a", ""), ("q8-other", "b", NONE), ("q8-other", " ", "")]
    page.get_by_label("Something else").fill("b")  # one answer is always wrong, so nothing is sent
    for name, text, message in cases:
        field = page.locator(f"#{name}")
        field.fill(text)
        page.locator("#q7").fill(text if name == "q7" else "b")
        page.get_by_role("button", name="Submit").click()
        problem = page.locator(f"#{name}-format")
        if message:
            expect(problem, text).to_have_text(message)
            expect(field).to_have_accessible_description(re.compile(re.escape(message)))
        else:
            expect(problem, text).to_be_hidden()
    assignment.refresh_from_db()
    assert assignment.state == "Accepted"


def test_without_scripts_the_browser_checks_a_format(live_server: LiveServer, new_page: NewPage) -> None:
    worker = make_worker("robin")
    title = forms.free_text(forms.pattern("^[A-Z]", error="Begin with a capital."), name="Title")
    assignment = make_assignment(worker, question=forms.form(title))
    page = new_page(viewport=NARROW, java_script_enabled=False)
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
    page.get_by_label("Title").fill("small")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_label("Title")).to_be_focused()
    assert page.locator("input:invalid").get_attribute("title") == "Begin with a capital."
    page.get_by_label("Title").fill("Capital")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {"q": ["Capital"]}


def test_a_file_goes_from_a_phone_to_the_requester(
    live_server: LiveServer, new_page: NewPage, settings: Settings, tmp_path: Path
) -> None:
    settings.MARKETPLACE_FILES, settings.BASE_URL = tmp_path / "files", live_server.url
    worker = make_worker("robin")
    parts = (
        forms.file_upload(10, 1000, identifier="voice", name="Your voice", required=True),
        forms.free_text(
            forms.pattern("^[A-Z]", error="Begin with a capital.") + '<Length minLength="6"/>',
            identifier="name",
            name="Title",
        ),
    )
    assignment = make_assignment(worker, question=forms.form(*parts))
    page = new_page(viewport=NARROW)
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
    voice = page.get_by_label("Your voice")

    voice.set_input_files({"name": "long.wav", "mimeType": "audio/wav", "buffer": b"x" * 1001})
    expect(page.get_by_role("alert")).to_contain_text("“long.wav” has 2 kB. A file can have at most 1 kB.")
    assert voice.input_value() == ""

    voice.set_input_files({"name": "short.wav", "mimeType": "audio/wav", "buffer": b"RIFF 10 bytes and more"})
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_label("Title").fill("small")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Begin with a capital.")).to_be_visible()
    expect(page.get_by_label("Title")).to_be_focused()
    page.get_by_label("Title").fill("Small")
    page.get_by_role("button", name="Submit").click()
    problems = page.get_by_role("alert")
    expect(problems).to_be_focused()
    expect(problems).to_contain_text("Title: At least 6 characters.")
    expect(page.get_by_text("short.wav (22 bytes) is saved.")).to_be_visible()

    problems.get_by_role("link", name="Title").click()
    page.get_by_label("Title").fill("Smaller")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {"voice": ["a file of 22 bytes"], "name": ["Smaller"]}
    url = uploaded_files.temporary_url(uploaded_files.submitted_file(assignment, "voice"))
    with page.expect_download() as download, pytest.raises(Exception, match="Download is starting"):
        page.goto(url)
    assert download.value.path().read_bytes() == b"RIFF 10 bytes and more"
    assert urlsplit(url).netloc == urlsplit(live_server.url).netloc


def test_a_layout_is_made_on_the_page_and_copied(live_server: LiveServer, new_page: NewPage) -> None:
    requester = requester_with_pages()
    page = new_page()
    sign_in_as_requester(page, live_server)
    page.get_by_role("link", name="Layouts").click()
    page.get_by_role("link", name="New layout").click()
    page.get_by_label("Name").fill("Tags")
    page.get_by_role("button", name="Create layout").click()
    expect(page.get_by_text("Type the page or choose a file.")).to_be_visible()
    html = b"<form><img src='${image_url}'><input name='tag'></form>"
    page.get_by_label("Or a file").set_input_files({"name": "tag.html", "mimeType": "text/html", "buffer": html})
    page.get_by_role("button", name="Create layout").click()
    expect(page.get_by_role("heading", name="Tags")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="image_url")).to_be_visible()
    first = requester.layouts.get()
    page.get_by_role("link", name="New layout like this").click()
    assert page.get_by_label("Page", exact=False).first.input_value() == html.decode()
    page.get_by_label("Name").fill("Tags again")
    page.get_by_role("button", name="Create layout").click()
    expect(page.get_by_role("heading", name="Tags again")).to_be_visible()
    assert requester.layouts.exclude(pk=first.pk).get().html == first.html == html.decode()


def requester_with_pages() -> Requester:
    requester = make_requester("Reading Lab")
    requester.user = User.objects.create_user("sue", password=PASSWORD)
    requester.save()
    return requester


def sign_in_as_requester(page: Page, live_server: LiveServer) -> None:
    page.goto(live_server.url + reverse("operate_login"))
    page.get_by_label("Username").fill("sue")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def form_pages() -> list[str]:
    """Addresses of a preview, a task, the same task with a file kept, and a test, of everything a form can have."""
    worker = make_worker("robin")
    question = forms.everything()
    preview = make_hit(question=question)
    assignment = make_assignment(worker, question=question)
    client = Client()
    assert worker.user is not None
    client.force_login(worker.user)
    kept = make_assignment(worker, question=question)
    client.post(
        reverse("market_task", args=[kept.assignment_id]), {"q9": SimpleUploadedFile("my voice.wav", b"x" * 1500)}
    )
    assert UploadedFile.objects.count() == 1
    test = question.replace("FileUploadAnswer", "FreeTextAnswer")
    test = test.replace("<MaxFileSizeInBytes>3000000</MaxFileSizeInBytes>", "")
    test = test.replace("<MinFileSizeInBytes>10</MinFileSizeInBytes>", "")
    wanted = make_type(make_requester(), "Games", test=test, test_duration=900)
    qualification_requests.request(type=wanted, worker=worker)
    return [
        reverse("market_group", args=[preview.hit_type.type_id]),
        reverse("market_task", args=[assignment.assignment_id]),
        reverse("market_task", args=[kept.assignment_id]),
        reverse("market_test", args=[wanted.type_id]),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["390", "1280"])
def test_forms_and_layouts_are_accessible_and_fit(
    live_server: LiveServer,
    new_page: NewPage,
    axe_core: Path,
    settings: Settings,
    tmp_path: Path,
    size: dict[str, int],
    scheme: str,
) -> None:
    settings.MARKETPLACE_FILES = tmp_path / "files"
    page = new_page(viewport=size, color_scheme=scheme)
    urls = form_pages()
    sign_in(page, live_server, "robin")
    problems = []
    for url in urls:
        page.goto(live_server.url + url)
        problems += problems_of(page, axe_core, url)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_selector("#q1-format")
    problems += problems_of(page, axe_core, "a test with a wrong format")
    page.get_by_label("Year").fill("1999")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_selector("[role=alert]")
    problems += problems_of(page, axe_core, "a test with mistakes")

    requester = requester_with_pages()
    html = "<form>\n  <p>${text}</p>\n</form>\n" * 30
    layout = layouts.create_layout(requester=requester, name="Two summaries", html=html)
    make_hit(requester, question=layouts.filled(layout, {"text": "A"}))
    other = new_page(viewport=size, color_scheme=scheme)
    sign_in_as_requester(other, live_server)
    for name, arguments in (("s", []), ("", [layout.layout_id])):
        other.goto(live_server.url + reverse(f"operate_my_layout{name}", args=arguments))
        problems += problems_of(other, axe_core, name or "one layout")
    other.goto(live_server.url + reverse("operate_my_new_layout"))
    other.get_by_role("button", name="Create layout").click()
    problems += problems_of(other, axe_core, "a new layout with mistakes")
    assert not problems
