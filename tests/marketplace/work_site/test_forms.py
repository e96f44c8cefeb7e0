"""QuestionForms as pages: what is drawn, what comes back, files."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from marketplace.models import Assignment, UploadedFile, Worker
from marketplace.questions.answers_xml import read_answers
from marketplace.services.hits import uploaded_files
from tests.marketplace.support import question_forms as forms
from tests.marketplace.support.work_site import make_assignment, make_hit, make_worker, signed_in

pytestmark = pytest.mark.django_db


class Page:
    """A worker at one form."""

    def __init__(self, *parts: str, overview: str = "") -> None:
        self.worker: Worker = make_worker()
        self.assignment: Assignment = make_assignment(self.worker, question=forms.form(*parts, overview=overview))
        self.client: Client = signed_in(self.worker)
        self.url = reverse("market_task", args=[self.assignment.assignment_id])

    def get(self) -> str:
        response = self.client.get(self.url)
        assert response.status_code == 200
        return response.content.decode()

    def send(self, **fields: object) -> HttpResponse:
        response = self.client.post(self.url, fields)
        self.assignment.refresh_from_db()
        return response  # type: ignore[return-value]

    def answers(self) -> dict[str, list[str]]:
        assert self.assignment.state == "Submitted"
        return read_answers(self.assignment.answer)


def file(content: bytes = b"x" * 100, name: str = "me.wav") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


# --- What is drawn ------------------------------------------------------------------------------------------

HOSTILE = "&lt;img src=x onerror=steal()&gt;&quot;'"


def test_nothing_of_a_requesters_words_becomes_markup() -> None:
    """Titles, texts, names, identifiers, defaults, messages, alternative texts: each is somebody else's."""
    content = (
        f"<Title>{HOSTILE}</Title><Text>{HOSTILE}</Text><List><ListItem>{HOSTILE}</ListItem></List>"
        "<Binary><MimeType><Type>image</Type></MimeType><DataURL>https://m.example/&quot;onerror=&quot;steal()"
        f"</DataURL><AltText>{HOSTILE}</AltText></Binary>"
    )
    error = '<Length minLength="2"/>' + forms.pattern("^never$", error="X").replace("'X'", f'"{HOSTILE}"')
    page = Page(
        forms.free_text(error, default=HOSTILE, name=HOSTILE, identifier=HOSTILE, content=content),
        forms.selections(HOSTILE, identifier="2", other=f"<DefaultText>{HOSTILE}</DefaultText>"),
        overview=content,
    )
    for html in (page.get(), page.send(q1="x").content.decode()):
        assert "steal()" in html
        assert not re.search(r"<img src=x|<[^>]*\sonerror=[^\s\"]", re.sub(r'"[^"]*"', '""', html))


def test_every_style_is_drawn_and_chosen_from() -> None:
    page = Page(
        forms.selections(identifier="1", style="radiobutton"),
        forms.selections(identifier="2", style="dropdown"),
        forms.selections(identifier="3", style="checkbox"),
        forms.selections(identifier="4", style="list"),
        forms.selections(identifier="5", style="combobox", most=1),
        forms.selections(identifier="6", style="multichooser", most=2),
        forms.selections(identifier="7"),
    )
    html = page.get()
    assert html.count("<select name=") == 2 and html.count('type="checkbox"') == 10
    assert html.count('type="radio"') == 8  # two questions of three options, and none of these
    sent = {"q1": "a", "q2": "b", "q3": ["a", "b", "c"], "q4": "c", "q5": "a", "q6": ["a", "b"], "q7": ""}
    page.send(**sent)
    assert page.answers() == {"1": ["a"], "2": ["b"], "3": ["a", "b", "c"], "4": ["c"], "5": ["a"], "6": ["a", "b"]}


def test_something_else_can_be_typed_beside_the_options() -> None:
    page = Page(forms.selections(required=True, other='<Constraints><Length maxLength="9"/></Constraints>'))
    html = page.get()
    assert "Something else" in html and "Write at most 9 characters." in html
    refused = page.send(**{"q1-other": "much too long"})
    assert refused.status_code == 422 and b"In your own words: At most 9 characters." in refused.content
    assert b'value="much too long"' in refused.content
    page.send(q1="a", **{"q1-other": "mine"})
    assert "<OtherSelectionText>mine</OtherSelectionText>" in page.assignment.answer
    assert page.answers() == {"q": ["a", "mine"]}


def test_defaults_are_filled_in_and_taken_as_answers() -> None:
    """ "It is accepted as the answer if the Worker does not change it": DefaultText in AWS's reference."""
    page = Page(forms.free_text(default="C1", required=True))
    assert 'value="C1"' in page.get()
    page.send(q1="C1")
    assert page.answers() == {"q": ["C1"]}


def formats(html: str) -> list[list[list[str]]]:
    """What each field's script checks."""
    return [json.loads(unescape(found)) for found in re.findall(r'data-formats="([^"]*)"', html)]


def test_a_format_is_the_browsers_to_check() -> None:
    """As on MTurk: what arrives is accepted, also from a browser that checked nothing."""
    year = forms.pattern(r"^\d{4}$", error="A year, please.")
    page = Page(forms.free_text(year, name="Year"))
    html = page.get()
    assert formats(html) == [[[r"^\d{4}$", "", "A year, please."]]]
    assert r'pattern="[\s\S]*(?:^\d{4}$)[\s\S]*" title="A year, please."' in html and "novalidate" not in html
    page.send(q1="next")
    assert page.answers() == {"q": ["next"]}


def test_where_an_html_pattern_cannot_say_the_same_only_a_script_checks() -> None:
    html = Page(
        forms.free_text(forms.pattern("a", error="No a.") + forms.pattern("b"), identifier="several"),
        forms.free_text(forms.pattern("a", flags="i"), identifier="any case"),
        forms.free_text(forms.pattern("a"), identifier="lines", lines=3),
        forms.selections(other=f"<Constraints>{forms.pattern('a')}</Constraints>", identifier="other"),
    ).get()
    other = ["a", "", "Invalid input supplied."]
    assert formats(html) == [[["a", "", "No a."], ["b", "", other[2]]], [["a", "i", other[2]]], [other], [other]]
    assert html.count("pattern=") == 1


def test_the_script_has_no_syntax_newer_than_2017() -> None:
    """A browser that cannot read one line of a script runs none of it."""
    script = finders.find("marketplace.js")
    assert script is not None
    newer = re.compile(r"\?\.[a-zA-Z(\[]|\?\?|catch \{|\{ ?\.\.\.|\.\.\.\w+ \}|\bfor await\b|#\w+ =|[0-9]_[0-9]")
    assert not newer.findall(Path(script).read_text("utf-8"))


def test_workers_read_that_an_application_does_not_run() -> None:
    flash = "<Flash><FlashMovieURL>http://a.example/x.swf</FlashMovieURL><Width>1</Width><Height>1</Height></Flash>"
    html = Page(forms.free_text(), overview=f"<Application>{flash}</Application>").get()
    assert "A Flash film belongs here" in html and "x.swf" not in html


def test_a_form_loads_pictures_only_from_their_own_addresses() -> None:
    picture = "<FormattedContent><![CDATA[<img src='https://p.example/a.png' alt=''/>]]></FormattedContent>"
    page = Page(forms.free_text(content=picture))
    policy = page.client.get(page.url)["Content-Security-Policy"]
    assert "img-src 'self' data: https://p.example;" in policy and "script-src 'self';" in policy


# --- Files --------------------------------------------------------------------------------------------------


def test_a_file_is_sent_with_the_answers() -> None:
    page = Page(forms.file_upload(50, 2000, identifier="voice", required=True), forms.free_text(identifier="why"))
    html = page.get()
    assert 'enctype="multipart/form-data"' in html and 'type="file"' in html
    assert "A file of at least 50 bytes and at most 2 kB. Required." in html
    assert 'data-most-bytes="2000"' in html
    page.send(q1=file(), q2="so")
    row = UploadedFile.objects.get()
    assert row.submitted
    assert (
        f"<UploadedFileSizeInBytes>100</UploadedFileSizeInBytes><UploadedFileKey>{row.key}<" in page.assignment.answer
    )
    assert page.answers() == {"voice": ["a file of 100 bytes"], "why": ["so"]}


def test_a_file_is_kept_when_another_answer_is_wrong() -> None:
    page = Page(forms.file_upload(required=True), forms.free_text(identifier="why", required=True))
    refused = page.send(q1=file(name="take <one>.wav"), q2="").content.decode()
    assert "take &lt;one&gt;.wav" in refused and "is saved" in refused
    assert "is saved" in page.get()
    page.send(q2="so")
    assert page.answers() == {"q": ["a file of 100 bytes"], "why": ["so"]}


def test_a_wrong_file_is_refused_and_the_one_before_stays() -> None:
    page = Page(forms.file_upload(50, 2000, required=True), forms.free_text(identifier="why", required=True))
    page.send(q1=file(), q2="")
    refused = page.send(q1=file(b"x" * 2001), q2="so")
    assert refused.status_code == 422 and b"too large. It can have at most 2 kB." in refused.content
    assert page.assignment.state == "Accepted"
    page.send(q2="so")
    assert page.answers()["q"] == ["a file of 100 bytes"]


def test_a_file_for_a_hidden_question_can_be_removed(own_files_folder: Path) -> None:
    page = Page(forms.file_upload(), forms.free_text(identifier="why", required=True))
    page.send(q1=file(), q2="")
    assert "q1-remove" in page.get()
    page.send(q2="so", **{"q1-remove": "1"})
    assert page.answers() == {"why": ["so"]}
    assert not UploadedFile.objects.exists() and not [path for path in own_files_folder.rglob("*") if path.is_file()]


def test_a_preview_takes_no_place(settings: Settings) -> None:
    hit = make_hit(question=forms.form(forms.file_upload(1, 5_000_000, required=True)))
    settings.MARKETPLACE_MAX_FILE_BYTES = 3_000_000
    html = signed_in(make_worker()).get(reverse("market_group", args=[hit.hit_type.type_id])).content.decode()
    assert "A file of at most 3 MB. Required." in html and "<fieldset disabled" in html
    assert "enctype" in html and "csrfmiddlewaretoken" not in html.partition("task-frame")[2]


def test_a_file_for_finished_work_is_refused() -> None:
    page = Page(forms.file_upload(required=True))
    page.send(q1=file())
    page.client.post(page.url, {"q1": file(b"y" * 30)})
    assert UploadedFile.objects.count() == 1


def test_somebody_elses_task_accepts_no_file() -> None:
    page = Page(forms.file_upload(required=True))
    stranger = signed_in(make_worker())
    assert stranger.post(page.url, {"q1": file()}).status_code == 404
    assert not UploadedFile.objects.exists()


def test_a_worker_sees_the_name_of_their_file_and_a_requester_does_not() -> None:
    page = Page(forms.file_upload(required=True))
    page.send(q1=file(name="Ann Smith.wav"))
    mine = page.client.get(reverse("market_assignment", args=[page.assignment.assignment_id])).content.decode()
    assert "Ann Smith.wav" in mine
    served = Client().get(uploaded_files.temporary_path(UploadedFile.objects.get()))
    assert "Ann" not in str(served.headers)
