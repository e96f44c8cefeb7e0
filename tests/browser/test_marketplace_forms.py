"""QuestionForms, files and layouts in a real browser; AnswerFormatRegex against a real JavaScript."""

from __future__ import annotations

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
from marketplace.questions import patterns
from marketplace.questions.answers_xml import read_answers
from marketplace.services import files, layouts, qualifications
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

EXPRESSIONS = [
    # AWS's examples
    *(r"\S", r"(^$|\S{2,})", r"^(1[- ]?)?(\([2-9]\d{2}\)\s*|[2-9]\d{2}-?)[2-9]\d{2}-?\d{4}$", "regex"),
    r"^[12][0-9]{3}-[01]?\d-[0-3]?\d$",
    # where JavaScript and Python differ
    *(r"^.$", r"^..$", "a$", r"a$\n", r"^$", r"^\d$", r"^\w+$", r"^\s$", r"\bfoo\b", r"\Bo", r"\W", r"\D", r"^\S+$"),
    *(r"a{e}", r"a{,3}", r"a{2}", r"a{0}", r"a{1", "a}", "{", "}", "]", r"x{2,1}", "a**", "a++", "a+?", "a{2}+", "*a"),
    *(r"[]", r"[^]", r"^[^]$", r"[a\-z]", r"[-a]", r"[a-]", r"[\w-z]", r"[z-\w]", r"[\]]", "[[]", "[a&&b]", "[a--b]"),
    *(r"[\D]", r"[\S]", r"[^\s]", r"[^\d\s]", r"[\b]", "[^^]", "[b-a]", "[à-ü]", "[🎉]", "🎉", "é", r"^.{2}$", "["),
    *(r"(a)|b\1", r"(a)|b\1$", r"(a)\1", r"(?<x>a)\k<x>", "(?=a)b?", "(?!a)^", "(?<=a)b", "(?<!a)b", r"(a", "a)", "()"),
    *(
        r"\u0041",
        r"\x41",
        r"\cJ",
        r"\c",
        r"\p{L}",
        r"\z",
        r"\Z",
        r"\A",
        r"\/",
        r"\-",
        r"\0",
        r"\t",
        "\\",
        r"\ua",
        r"\xg",
    ),
    *("(?i)a", "(?#x)", "(?P<n>a)", "#", "a b", "~", "&", r"\_", "(?:a|ab)(?:c|bcd)(?:d*)$", r"(z)((a+)?(b+)?(c))*"),
    *(r"^(?:\+|-)?\d+(\.\d+)?$", r"^[\w.+-]+@[\w-]+\.[\w.]+$"),
]
TEXTS = [
    *("", "a", "aa", "b", "ab", "ba", "abc", "abcd", "A", "Z", "z", "x", "c", "u", "ua", "xg", "j", "foo", "a foo b"),
    *(
        "foobar",
        " ",
        "\n",
        "a\n",
        "\t",
        "\u00a0",
        "\u2028",
        "\u1680",
        "\ufeff",
        "\r\n",
        "\x0b",
        "\b",
        "\0",
        "é",
        "É",
        "ü",
    ),
    *(
        "🎉",
        "🎉🎉",
        "🎉 ",
        "1",
        "12",
        "123",
        "٣",
        "-",
        "_",
        "~",
        "&",
        "#",
        "|",
        "[",
        "]",
        "^",
        "{",
        "}",
        "\\",
        "\\c",
        "/",
    ),
    *("a{e}", "a{,3}", "a{1", "p{L}", "a b", "+3.5", "3.", "a.b@c.de", "zaacbbbcac", "RegEx", "REGEXES", "2026-01-05"),
    *("1-555-555-1234", "555-555-1234", "5555551234", "(555) 555-1234", "555-1234"),
]


def test_expressions_mean_here_what_they_mean_in_javascript(new_page: NewPage) -> None:
    cases = [(each, flags) for each in EXPRESSIONS for flags in ("", "i")]
    script = """([cases, texts]) => cases.map(([pattern, flags]) => {
        try { const found = new RegExp(pattern, flags); return texts.map((text) => found.test(text)); }
        catch { return null; }
    })"""
    wanted = new_page().evaluate(script, [cases, TEXTS])
    different = []
    for (pattern, flags), expected in zip(cases, wanted, strict=True):
        try:
            got = [patterns.found_in(text, pattern, flags) for text in TEXTS]
        except patterns.BadPattern:
            got = None
        if got != expected:
            different.append((pattern, flags))
    assert not different


def test_a_file_goes_from_a_phone_to_the_requester(
    live_server: LiveServer, new_page: NewPage, settings: Settings, tmp_path: Path
) -> None:
    settings.MARKETPLACE_FILES, settings.BASE_URL = tmp_path / "files", live_server.url
    worker = make_worker("robin")
    parts = (
        forms.file_upload(10, 1000, identifier="voice", name="Your voice", required=True),
        forms.free_text(forms.pattern("^[A-Z]", error="Begin with a capital."), identifier="name", name="Title"),
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
    problems = page.get_by_role("alert")
    expect(problems).to_be_focused()
    expect(problems).to_contain_text("Title: Begin with a capital.")
    expect(page.get_by_text("short.wav (22 bytes) is saved.")).to_be_visible()

    problems.get_by_role("link", name="Title").click()
    page.get_by_label("Title").fill("Small")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {"voice": ["a file of 22 bytes"], "name": ["Small"]}
    url = files.temporary_url(files.submitted_file(assignment, "voice"))
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
    qualifications.request(type=wanted, worker=worker)
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
