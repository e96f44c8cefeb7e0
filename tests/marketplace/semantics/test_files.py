"""Files that workers upload: what is taken, what requesters get, what is deleted."""

from __future__ import annotations

import stat
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from marketplace import clock, questions
from marketplace.models import Assignment, Hit, UploadedFile
from marketplace.operations.registry import Call, handlers
from marketplace.services.hits import assignments, posting, uploaded_files
from marketplace.services.qualifications import qualification_types
from marketplace.services.refusals import InvalidParameter, Refusal
from marketplace.tasks import remove_files
from marketplace.wire.errors import RequestError
from tests.marketplace.support import factories
from tests.marketplace.support import question_forms as forms

pytestmark = pytest.mark.django_db

FORM = forms.form(forms.file_upload(10, 1000, identifier="voice note"), forms.free_text(identifier="why"))


def make_assignment(form: str = FORM, **given: Any) -> Assignment:
    hit = factories.make_hit(question=form, **given)
    return factories.make_assignment(hit=hit)


def keep(assignment: Assignment, content: bytes = b"x" * 10, name: str = "me.wav") -> questions.Upload:
    form = assignments.form_of(assignment.hit)
    assert form is not None
    upload = SimpleUploadedFile(name, content)
    question = next(each for each in form.questions if each.kind == "file")
    return uploaded_files.keep(
        assignment=assignment, question=question, upload=upload, most=uploaded_files.largest(form)
    )


def hand_in(assignment: Assignment, upload: questions.Upload) -> Assignment:
    answers = {"voice note": questions.Given(upload=upload)}
    return assignments.submit(assignment_id=assignment.assignment_id, answers=answers)


def ask(assignment: Assignment, question: str = "voice note", requester: object = None) -> str:
    """GetFileUploadURL, by default of the HIT's own requester."""
    parameters = {"AssignmentId": assignment.assignment_id, "QuestionIdentifier": question}
    call = Call(requester=requester or assignment.hit.requester, parameters=parameters, now=clock.now())  # type: ignore[arg-type]
    return str(handlers()["GetFileUploadURL"](call)["FileUploadURL"])


def fetch(url: str):  # type: ignore[no-untyped-def]
    return Client().get(urlsplit(url).path)


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_file_goes_from_the_worker_to_the_requester(own_files_folder: Path, settings: Settings) -> None:
    settings.BASE_URL = "https://market.example"
    assignment = make_assignment()
    upload = keep(assignment, b"\x00\xffRIFF<script>", "Ann Smith.WAV")
    assert upload == questions.Upload(upload.key, 14, "Ann Smith.WAV")
    (path,) = stored(own_files_folder)
    assert path.name == upload.key and "Ann" not in str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    hand_in(assignment, upload)
    url = ask(assignment)
    assert url.startswith("https://market.example/marketplace/files/")
    response = fetch(url)
    assert (response.status_code, b"".join(response.streaming_content)) == (200, b"\x00\xffRIFF<script>")
    assert response["Content-Type"] == "application/octet-stream"
    name = f"{assignment.assignment_id}-voice-note.wav"  # the worker's own name for it may be their own
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"].startswith("default-src 'none'; sandbox")
    assert "no-store" in response["Cache-Control"] and not response.cookies


def test_an_address_is_good_for_a_minute() -> None:
    """60 seconds: the service model's documentation of GetFileUploadURL."""
    assignment = make_assignment()
    hand_in(assignment, keep(assignment))
    url = ask(assignment)
    now = time.time()
    with patch("django.core.signing.time.time", return_value=now + 59):
        assert fetch(url).status_code == 200
    with patch("django.core.signing.time.time", return_value=now + 62):
        assert fetch(url).status_code == 404
    assert fetch(url.replace("/files/", "/files/x")).status_code == 404
    assert Client().post(urlsplit(url).path).status_code == 405


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a\x00b\n.sh", "é" * 300, 'x".html', ".hidden", "plain"])
def test_any_file_name_is_harmless(name: str) -> None:
    assignment = make_assignment()
    if name:
        upload = keep(assignment, name=name)
        assert "/" not in upload.name and upload.name.isprintable() and 0 < len(upload.name) <= 200
    row = UploadedFile(key="k", assignment=assignment, question_identifier="a/../b\r\nX: y", name=name or "..")
    assert set(uploaded_files.name_to_save(row)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"x" * 9, "too small. It must have at least 10 bytes"),
        (b"x" * 1001, "too large. It can have at most 1 kB"),
    ],
)
def test_sizes_are_respected(content: bytes, says: str, own_files_folder: Path) -> None:
    with pytest.raises(Refusal, match=says):
        keep(make_assignment(), content)
    assert not stored(own_files_folder) and not UploadedFile.objects.exists()


def test_the_server_has_a_limit_of_its_own(settings: Settings) -> None:
    settings.MARKETPLACE_MAX_FILE_BYTES = 100
    assignment = make_assignment()
    with pytest.raises(Refusal, match="at most 100 bytes"):
        keep(assignment, b"x" * 101)
    keep(assignment, b"x" * 100)
    with pytest.raises(InvalidParameter, match="files of at most 100 bytes"):
        factories.make_hit(question=forms.form(forms.file_upload(101, 1000)))


def test_all_files_of_a_form_fit_into_one_request(settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 64 * 1024**2
    settings.MARKETPLACE_MAX_FILE_BYTES = 25 * 1024**2
    for number, most in ((1, 25 * 1024**2), (2, 25 * 1024**2), (4, 15 * 1024**2)):  # 60 MiB for four
        parts = [forms.file_upload(identifier=f"q{each}") for each in range(number)]
        form = questions.parse_question(forms.form(*parts)).form
        assert form is not None and uploaded_files.largest(form) == most


def test_the_latest_choice_counts_and_the_others_are_dropped(own_files_folder: Path) -> None:
    assignment = make_assignment()
    first, second = keep(assignment, b"1" * 10), keep(assignment, b"2" * 20)
    assert uploaded_files.kept(assignment) == {"voice note": second}
    assert remove_files() == 0  # nothing is deleted while the work is in progress
    hand_in(assignment, second)
    assert remove_files() == 1
    assert [path.name for path in stored(own_files_folder)] == [second.key] != [first.key]
    assert b"".join(fetch(ask(assignment)).streaming_content) == b"2" * 20


def test_choices_have_an_end() -> None:
    assignment = make_assignment()
    for _ in range(uploaded_files.MOST_CHOICES):
        keep(assignment)
    with pytest.raises(Refusal, match="too often"):
        keep(assignment)


def test_a_choice_can_be_taken_back(own_files_folder: Path) -> None:
    assignment = make_assignment()
    upload = keep(assignment)
    uploaded_files.drop(assignment=assignment, question_identifier="voice note")
    assert uploaded_files.kept(assignment) == {} and not stored(own_files_folder)
    with pytest.raises(Refusal, match="A file is missing"):
        hand_in(assignment, upload)
    assignment.refresh_from_db()
    assert assignment.state == "Accepted"


def test_nobody_hands_in_somebody_elses_file() -> None:
    mine, theirs = make_assignment(), make_assignment()
    upload = keep(theirs)
    with pytest.raises(Refusal, match="A file is missing"):
        hand_in(mine, upload)


def test_files_of_work_that_was_given_up_go(own_files_folder: Path) -> None:
    assignment = make_assignment()
    keep(assignment)
    assignments.return_(assignment_id=assignment.assignment_id, worker=assignment.worker)
    with pytest.raises(Refusal, match="no longer in progress"):
        keep(Assignment.objects.get(pk=assignment.pk))
    assert remove_files() == 1
    assert not stored(own_files_folder) and not UploadedFile.objects.exists()


def test_files_of_disposed_hits_go(own_files_folder: Path) -> None:
    """ "After the HIT is disposed, any uploaded files are deleted, and cannot be retrieved." """
    assignment = make_assignment()
    hand_in(assignment, keep(assignment))
    url = ask(assignment)
    assignments.approve(assignment=assignment)
    posting.delete_hit(hit=Hit.objects.get(pk=assignment.hit_id))
    with pytest.raises(RequestError, match="Disposed"):
        ask(Assignment.objects.get(pk=assignment.pk))
    assert remove_files() == 1
    assert fetch(url).status_code == 404 and not stored(own_files_folder)


def refusal(assignment: Assignment, **given: object) -> str:
    with pytest.raises(RequestError) as refused:
        ask(assignment, **given)  # type: ignore[arg-type]
    return refused.value.code.removeprefix("AWS.MechanicalTurk.")


def test_requests_that_requesters_cannot_make_are_refused() -> None:
    assignment = make_assignment()
    upload = keep(assignment)
    assert refusal(assignment) == "InvalidAssignmentState"
    hand_in(assignment, upload)
    assert refusal(assignment, question="why") == "FileUploadDoesNotExist"
    assert refusal(assignment, question="nothing") == "FileUploadDoesNotExist"
    stranger = factories.make_requester()
    assert refusal(assignment, requester=stranger) == "AssignmentDoesNotExist"
    unanswered = make_assignment()
    assignments.submit(assignment_id=unanswered.assignment_id, answers={"why": "no voice"})
    assert refusal(unanswered) == "FileUploadDoesNotExist"


def test_a_lost_file_is_not_found(own_files_folder: Path) -> None:
    assignment = make_assignment()
    hand_in(assignment, keep(assignment))
    for path in stored(own_files_folder):
        path.unlink()
    assert fetch(ask(assignment)).status_code == 404


def test_a_test_accepts_no_files() -> None:
    terms = qualification_types.Terms(description="x", status="Active", test=FORM, test_duration=60)
    with pytest.raises(InvalidParameter, match="without files"):
        qualification_types.create_type(requester=factories.make_requester(), name="Voices", terms=terms)


def test_answers_that_come_past_the_form_are_checked_too() -> None:
    assignment = make_assignment(forms.form(forms.free_text('<Length minLength="2"/>', identifier="why")))
    for answers in ({"why": "b"}, {"why": "ab", "else": "1"}):
        with pytest.raises(Refusal):
            assignments.submit(assignment_id=assignment.assignment_id, answers=answers)
    assert assignments.submit(assignment_id=assignment.assignment_id, answers={"why": "ab"}).state == "Submitted"
