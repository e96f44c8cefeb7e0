"""A requester's layouts, on the pages and in the terminal; workers' files on the page of their assignment."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from marketplace.models import HITLayout, Requester, UploadedFile
from marketplace.questions import Given
from marketplace.services.hits import assignments, layouts, posting, uploaded_files
from tests.marketplace.support import factories
from tests.marketplace.support import question_forms as forms
from tests.marketplace.support.operate_site import make_operator, make_requester, make_user, signed_in

pytestmark = pytest.mark.django_db

PAGE = "<form><p>${text}</p><input name='a' value='</textarea><script>x()</script>'></form>"


def client_of(requester: Requester) -> Client:
    assert requester.user is not None
    return signed_in(requester.user)


def make(client: Client, **given: object):  # type: ignore[no-untyped-def]
    fields: dict[str, object] = {"name": "Tags", "html": PAGE, "frame_height": "450"}
    return client.post(reverse("operate_my_new_layout"), fields | given)


def test_a_layout_is_made_listed_and_shown() -> None:
    requester = make_requester()
    client = client_of(requester)
    response = make(client)
    layout = HITLayout.objects.get()
    assert (layout.requester, layout.html, layout.frame_height) == (requester, PAGE, 450)
    assert response["Location"] == reverse("operate_my_layout", args=[layout.layout_id])
    shown = client.get(response["Location"]).content.decode()
    assert layout.layout_id in shown and "<code>text</code>" in shown and "450 pixels" in shown
    assert "&lt;script&gt;x()" in shown and "<script>x()" not in shown
    work = posting.Work(question=layouts.filled(layout, {"text": "A"}), layout=layout, lifetime=600)
    hit = posting.create_hit(requester=requester, hit_type=factories.properties(), work=work)
    assert layout.name in client.get(reverse("operate_my_hit", args=[hit.hit_id])).content.decode()
    listed = client.get(reverse("operate_my_layouts")).content.decode()
    assert layout.layout_id in listed and 'data-label="HITs">1<' in listed


def test_a_page_comes_from_a_file() -> None:
    client = client_of(make_requester())
    make(client, html="", file=SimpleUploadedFile("tag.html", b"\xef\xbb\xbf<p>\xc3\xa9 ${a}</p>\r\n"))
    assert HITLayout.objects.get().html == "<p>é ${a}</p>\n"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"html": ""}, "Type the page or choose a file."),
        ({"html": "x" * 70_000}, "This page cannot be a HIT. It has"),
        ({"html": "a\x0bb"}, "This page cannot be a HIT."),
        ({"file": SimpleUploadedFile("a.html", b"<p></p>")}, "Type the page or choose a file, not both."),
        ({"html": "", "file": SimpleUploadedFile("a.html", b"\xff\xfe")}, "This file is not UTF-8 text."),
        ({"html": "", "file": SimpleUploadedFile("a.html", b"x" * 70_000)}, "It can have at most 65,535."),
        ({"frame_height": "-1"}, "greater than or equal to 0"),
        ({"name": ""}, "This field is required."),
    ],
)
def test_errors_are_explained(given: dict[str, object], says: str) -> None:
    for value in given.values():
        if isinstance(value, SimpleUploadedFile):
            value.seek(0)
    response = make(client_of(make_requester()), **given)
    assert response.status_code == 422 and says in response.content.decode()
    assert not HITLayout.objects.exists()


def test_another_begins_with_the_page_of_the_first() -> None:
    requester = make_requester()
    layout = layouts.create_layout(requester=requester, name="First", html=PAGE)
    address = reverse("operate_my_new_layout")
    form = client_of(requester).get(address, {"like": layout.layout_id}).content.decode()
    assert 'value="First"' in form and "${text}" in form and "</textarea><script>" not in form
    other = client_of(make_requester()).get(address, {"like": layout.layout_id}).content.decode()
    assert "First" not in other
    assert client_of(requester).get(address, {"like": "\x00"}).status_code == 200


# --- The terminal -------------------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("marketplace", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_make_layout_prints_the_id_and_the_parameters(tmp_path: Path) -> None:
    make_requester(name="Speech lab")
    page = tmp_path / "tags.html"
    page.write_text("<p>${b} ${a} ${b}</p>")
    said = run("make-layout", "Speech lab", str(page), "--height", "300")
    layout = HITLayout.objects.get()
    assert said == f"HITLayoutId {layout.layout_id}\nParameters  b, a\n"
    assert (layout.name, layout.frame_height) == ("tags.html", 300)


def test_make_layout_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_requester(name="Speech lab")
    with pytest.raises(CommandError, match="cannot be read"):
        run("make-layout", "Speech lab", str(tmp_path / "none.html"))
    with pytest.raises(CommandError, match="There is no requester"):
        monkeypatch.setattr("sys.stdin", io.StringIO("<p></p>"))
        run("make-layout", "Nobody", "-")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CommandError, match="cannot be a HIT"):
        run("make-layout", "Speech lab", "-")


# --- Workers' files -----------------------------------------------------------------------------------------


def test_the_requester_saves_a_workers_file_and_nobody_else() -> None:
    requester = make_requester()
    hit = factories.make_hit(requester=requester, question=forms.form(forms.file_upload(identifier="voice")))
    assignment = factories.make_assignment(hit=hit)
    form = assignments.form_of(hit)
    assert form is not None
    upload = SimpleUploadedFile("Ann.wav", b"x" * 2000)
    kept = uploaded_files.keep(assignment=assignment, question=form.questions[0], upload=upload, most=10_000)
    address = reverse("operate_my_file", args=[kept.key])
    assert client_of(requester).get(address).status_code == 404  # it is not handed in yet
    answers = {"voice": Given(upload=kept)}
    assignments.submit(assignment_id=assignment.assignment_id, answers=answers)
    client = client_of(requester)
    page = client.get(reverse("operate_my_assignment", args=[assignment.assignment_id])).content.decode()
    assert address in page and "2 kB" in page and "Ann.wav" not in page
    response: Any = client.get(address, follow=True)
    assert b"".join(response.streaming_content) == b"x" * 2000
    for other in (make_requester().user, make_operator(), make_user(), assignment.worker.user):
        if other is not None:
            assert signed_in(other).get(address).status_code == 404
    assert "/login/" in Client().get(address)["Location"]
    posting.set_expiration(hit=hit, expires_at=hit.created_at)
    assignments.approve(assignment=assignment)
    posting.delete_hit(hit=hit)
    assert client.get(address).status_code == 404 and UploadedFile.objects.exists()
