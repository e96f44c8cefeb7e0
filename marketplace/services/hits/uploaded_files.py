"""Files that workers upload: saved while they work, part of the answer when they submit it, fetched by requesters.

The content is in MARKETPLACE_FILES under a random key. No web server may serve that folder: content is only sent as a
file to save, to anybody with an address that was signed recently.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core import signing
from django.core.files import File
from django.core.files.storage import FileSystemStorage
from django.urls import reverse

from common.languages import gettext as _
from common.languages import ngettext
from marketplace import clock, links
from marketplace.ids import new_id
from marketplace.models import Assignment, Hit, UploadedFile
from marketplace.questions import Form, FormQuestion, Given, Upload
from marketplace.questions.answers_xml import Answers, uploaded_key
from marketplace.services.refusals import Refusal, WrongState

State = Assignment.State
#: How many seconds an address from GetFileUploadURL works, as in the service model.
URL_SECONDS = 60
#: How many times a worker can choose another file for one question: each is stored until the work has ended.
MOST_CHOICES = 10
ROOM_FOR_TEXTS = 4 * 1024 * 1024
NAME_LENGTH = 200
_SALT = "marketplace.file"
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}")


def largest(form: Form) -> int:
    """The largest size in bytes that a file of this form can have: all its files together must fit into one request."""
    number = sum(question.kind == "file" for question in form.questions)
    room = max(settings.MAX_UPLOAD_BYTES - ROOM_FOR_TEXTS, 1024**2) // max(number, 1)
    return min(settings.MARKETPLACE_MAX_FILE_BYTES, room)


def unanswerable(form: Form) -> str:
    """Why no file could answer a question of this form here; empty if each can be answered."""
    most = largest(form)
    for question in form.questions:
        if question.kind == "file" and question.least is not None and question.least > most:
            return f"Question {question.identifier}: this marketplace accepts files of at most {most:,} bytes."
    return ""


def keep(
    *, assignment: Assignment, question: FormQuestion, upload: File[bytes], most: int, now: datetime | None = None
) -> Upload:
    """Save a file of work in progress. ``most`` is what `largest` returns. Raises Refusal."""
    size = upload.size
    name = "".join(sign for sign in upload.name or "" if sign.isprintable())[-NAME_LENGTH:] or "a file"
    if not size:
        raise Refusal(_("The file is empty."))
    if question.least is not None and size < question.least:
        raise Refusal(_("The file is too small. It must have at least %(size)s.") % {"size": in_words(question.least)})
    most = min(most, question.most or most)
    if size > most:
        raise Refusal(_("The file is too large. It can have at most %(size)s.") % {"size": in_words(most)})
    chosen = UploadedFile.objects.filter(assignment=assignment, question_identifier=question.identifier)
    if chosen.count() >= MOST_CHOICES:
        raise Refusal(_("You have changed this file too often. The last one is kept."))
    if not Assignment.objects.filter(pk=assignment.pk, state=State.ACCEPTED).exists():
        raise Refusal(_("This task is no longer in progress."), code="InvalidAssignmentState")
    key = new_id()
    _storage().save(_place(key), upload)
    try:
        _make_durable(key)
        UploadedFile.objects.create(
            key=key,
            assignment=assignment,
            question_identifier=question.identifier,
            name=name,
            size=size,
            uploaded_at=now or clock.now(),
        )
    except BaseException:
        _storage().delete(_place(key))
        raise
    return Upload(key, size, name)


def in_words(size: int) -> str:
    """A number of bytes for people to read: 1500 as 1.5 kB, rounded to three digits."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return ngettext("%(count)s byte", "%(count)s bytes", size) % {"count": size}


def kept(assignment: Assignment) -> dict[str, Upload]:
    """The files that the worker has chosen, the latest of each question."""
    rows = UploadedFile.objects.filter(assignment=assignment).order_by("pk")
    return {row.question_identifier: Upload(row.key, row.size, row.name) for row in rows}


def drop(*, assignment: Assignment, question_identifier: str) -> None:
    """Remove the file for this question, unless it was submitted."""
    chosen = assignment.files.filter(question_identifier=question_identifier, submitted=False)
    _remove(chosen)


def mark_submitted(*, assignment: Assignment, answers: Answers) -> None:
    """Mark the files among these answers as submitted, in the caller's transaction. Raises Refusal if one is gone."""
    keys = {answer.upload.key for answer in answers.values() if isinstance(answer, Given) and answer.upload}
    if not keys:
        return
    if UploadedFile.objects.filter(assignment=assignment, key__in=keys).update(submitted=True) != len(keys):
        raise Refusal(_("A file is missing. Choose it again."), code="FileUploadDoesNotExist")


# --- For requesters -----------------------------------------------------------------------------------------


def submitted_file(assignment: Assignment, question_identifier: str) -> UploadedFile:
    """The file that answers this question of submitted work. Raises Refusal."""
    if assignment.hit.state == Hit.State.DISPOSED:
        allowed = "Assignable, Unassignable, Reviewable, Reviewing"
        raise WrongState("HIT", assignment.hit.hit_id, state=assignment.hit.state, allowed=allowed)
    if assignment.state not in (State.SUBMITTED, State.APPROVED, State.REJECTED):
        allowed = "Submitted, Approved, Rejected"
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, allowed=allowed)
    key = uploaded_key(assignment.answer, question_identifier)
    file = UploadedFile.objects.filter(assignment=assignment, key=key, submitted=True).first() if key else None
    if file is None:
        raise Refusal(
            f"No file was uploaded for the question “{question_identifier[:100]}” of assignment "
            f"{assignment.assignment_id}.",
            code="FileUploadDoesNotExist",
        )
    return file


def temporary_url(file: UploadedFile) -> str:
    """An address where anybody can fetch the file, for `URL_SECONDS`."""
    return links.absolute(temporary_path(file))


def temporary_path(file: UploadedFile) -> str:
    return reverse("market_file", args=[signing.dumps(file.pk, salt=_SALT)])


def file_of_token(token: str) -> UploadedFile | None:
    """The file at this address; None if the address is too old or was changed, or the file is gone."""
    try:
        pk = signing.loads(token, salt=_SALT, max_age=URL_SECONDS)
    except signing.BadSignature:
        return None
    return UploadedFile.objects.select_related("assignment").filter(pk=pk).first()


def open_content(file: UploadedFile) -> IO[bytes] | None:
    """The file's bytes; None if they are gone."""
    try:
        return (_folder() / _place(file.key)).open("rb")
    except FileNotFoundError:
        return None


def name_to_save(file: UploadedFile) -> str:
    """The file name of a requester's copy. The worker's own name for the file could show who they are."""
    question = re.sub(r"[^A-Za-z0-9_-]+", "-", file.question_identifier)[:40].strip("-") or "file"
    extension = Path(file.name).suffix
    safe = extension.lower() if _EXTENSION.fullmatch(extension) else ""
    return f"{file.assignment.assignment_id}-{question}{safe}"


# --- Upkeep -------------------------------------------------------------------------------------------------


def remove_unneeded() -> int:
    """Delete the files of disposed HITs, of abandoned work, and those never submitted; returns how many."""
    left_over = UploadedFile.objects.filter(submitted=False).exclude(assignment__state=State.ACCEPTED)
    disposed = UploadedFile.objects.filter(submitted=True, assignment__hit__state=Hit.State.DISPOSED)
    return _remove(left_over) + _remove(disposed)


def _remove(files: Iterable[UploadedFile]) -> int:
    number = 0
    for file in list(files):
        # Delete the content first: a row without content can be found again, but content without a row cannot.
        _storage().delete(_place(file.key))
        file.delete()
        number += 1
    return number


def _folder() -> Path:
    return Path(settings.MARKETPLACE_FILES)


def _storage() -> FileSystemStorage:
    return FileSystemStorage(location=_folder(), file_permissions_mode=0o600, directory_permissions_mode=0o700)


def _place(key: str) -> str:
    return f"{key[-2:]}/{key}"


def _make_durable(key: str) -> None:
    """Wait until the file is on the disk, because the page then shows the worker that it is saved."""
    descriptor = os.open(_folder() / _place(key), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
