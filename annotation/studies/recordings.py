"""Audio, video and captions of studies: uploads, the files that items name, and their storage.

They are rows of Media like images, without a width and a height. A file is copied piece by piece, so that its size does
not matter for memory, and is stored as it is under the hash of its content.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from annotation.audit import record
from annotation.models import Media, Study
from annotation.studies.image_checks import BadPicture
from annotation.studies.image_files import UPLOADS, file_of
from annotation.studies.images import Images, add_media, checked_name, refuse_unless_draft
from annotation.studies.recording_checks import (
    AUDIO,
    CAPTIONS,
    VIDEO,
    BadRecording,
    Recording,
    check_recording,
    is_recording,
    words_of_captions,
)
from annotation.task_types.items import Column, ItemData, Json, Row, RowProblem
from annotation.task_types.questions import one_line
from common.problems import Invalid, invalid

RECORDING = "recording"
PIECE = 1024**2
MOST_TRANSCRIPT = 20_000
#: What a column must lead to, in words.
NAMES = {AUDIO: "audio", VIDEO: "a video", CAPTIONS: "captions in WebVTT", "image": "an image"}


# --- one recording ---


def add_file(
    *, study: Study, name: str, file: IO[bytes], size: int, alt: str, actor: str, user: User | None = None
) -> Media:
    """Store an uploaded image, audio, video or captions of a draft. Raises Invalid, or Frozen if it is no draft."""
    names: dict[str, Any] = {"study": study, "name": name, "alt": alt, "actor": actor, "user": user}
    if is_recording(name, file.read(16)):
        return add_recording(file=file, size=size, **names)
    file.seek(0)
    return add_media(data=file.read(settings.MEDIA_MAX_BYTES + 1), **names)


def add_recording(
    *, study: Study, name: str, file: IO[bytes], size: int, actor: str, alt: str = "", user: User | None = None
) -> Media:
    """Store uploaded audio, video or captions of a draft. Raises Invalid, or Frozen if it is no longer a draft.

    ``alt`` describes it for the researchers; its name if empty.
    """
    name = checked_name(name)
    try:
        checked = check_recording(file, size)
    except BadPicture as bad:
        raise invalid(RECORDING, f"{name}: {bad.what}", bad.fix) from None
    refuse_full_study(study, size)
    key = store_stream(file, checked.extension)
    with transaction.atomic():
        now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        refuse_unless_draft(now)
        if Media.objects.filter(study=now, name=name).exists():
            fix = "Delete that one first, or give the new one another name."
            raise invalid(RECORDING, f"This study already has a file called {name}.", fix)
        media = _row(now, name, key, size, alt, user)
        media.save()
        record(study=now, actor=actor, action="add recording", name=name)
    return media


def refuse_full_study(study: Study | None, more: int) -> None:
    """Raises Invalid if the files of the study would be larger than all files of one study may be."""
    used = 0
    if study is not None and study.pk:
        used = Media.objects.filter(study=study).aggregate(total=Sum("size"))["total"] or 0
    if used + more > settings.STUDY_MEDIA_MAX_BYTES:
        most, total = settings.STUDY_MEDIA_MAX_BYTES / 1024**2, (used + more) / 1024**2
        what = f"The files of this study would have {total:,.0f} MB; at most {most:,.4g} MB are allowed."
        raise invalid(RECORDING, what, "Compress the recordings, or split the study.")


def store_stream(file: IO[bytes], extension: str) -> str:
    """Copy the file into MEDIA_FILES piece by piece. Returns the name of the stored file."""
    # Among files that wait to be imported: what a process leaves that dies here is removed with them.
    folder = Path(settings.MEDIA_FILES) / UPLOADS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256()
    handle, temporary = tempfile.mkstemp(prefix=".recording-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as copy:
            file.seek(0)
            while piece := file.read(PIECE):
                digest.update(piece)
                copy.write(piece)
            copy.flush()
            os.fsync(copy.fileno())
        key = f"{digest.hexdigest()}.{extension}"
        path = file_of(key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    return key


def _row(study: Study, name: str, key: str, size: int, alt: str, user: User | None) -> Media:
    digest, _, extension = key.partition(".")
    alt = one_line(alt)[:500] or name
    return Media(
        study=study,
        name=name,
        key=key,
        source=digest,
        format=extension.upper(),
        width=0,
        height=0,
        size=size,
        alt=alt,
        uploaded_by=user,
        uploaded_at=timezone.now(),
    )


# --- the recordings that an items file names ---


@dataclass(frozen=True, slots=True)
class Named:
    """A stored or new file that a cell leads to."""

    name: str
    key: str
    checked: Recording


@dataclass(slots=True)
class Recordings:
    """Where the names in columns with recordings lead: first to files below ``folder``, then to files of ``study``."""

    study: Study | None = None
    folder: Path | None = None
    user: User | None = None
    _named: dict[str, Named | BadPicture] = field(default_factory=dict)
    _new: dict[str, tuple[Path | bytes, str, int]] = field(default_factory=dict)

    def find(self, cell: str, kind: str) -> Named:
        """The file that a cell of a column for this ``kind`` names. Raises BadRecording."""
        if cell not in self._named:
            try:
                self._named[cell] = self._look(cell)
            except BadPicture as bad:
                self._named[cell] = bad
        named = self._named[cell]
        if isinstance(named, BadPicture):
            raise named
        if kind == AUDIO and named.checked.kind == VIDEO:
            return named  # its sound
        if named.checked.kind != kind:
            what = f"“{named.name[:60]}” is {NAMES[named.checked.kind]}, but this column is for {NAMES[kind]}."
            raise BadRecording(what, "Name another file, or change how the study shows the column.")
        return named

    def _look(self, cell: str) -> Named:
        if cell.lstrip("\ufeff").startswith("WEBVTT"):
            data = cell.encode()  # the cell itself contains the captions
            key = f"{hashlib.sha256(data).hexdigest()}.vtt"
            name = f"captions-{key[:12]}.vtt"
            self._new[name] = (data, key, len(data))
            return Named(name, key, Recording(CAPTIONS, "vtt", words=words_of_captions(cell)))
        if cell.lower().startswith(("http:", "https:", "//", "data:")):
            what = "This is an address. Recordings come from this server, so that nobody else sees who plays them."
            raise BadRecording(what, "Download the file, upload it, and write its name.")
        try:
            name = checked_name(cell)
        except Invalid:
            what = f"“{cell[:60]}” cannot be the name of a file."
            raise BadRecording(what, "Use the name of a file beside the items file.") from None
        file = self.folder / name if self.folder else None
        if file is None or not file.is_file():
            return self._stored(name, file)
        try:
            size = file.stat().st_size
            with file.open("rb") as content:
                checked = check_recording(content, size)
                content.seek(0)
                key = f"{hashlib.file_digest(content, 'sha256').hexdigest()}.{checked.extension}"
        except OSError as error:
            raise BadRecording(f"The file cannot be read: {error.strerror}.", "Check who may read it.") from None
        rows = Media.objects.filter(study=self.study, name=name, key=key) if self.study and self.study.pk else None
        if rows is None or not rows.exists():
            self._new[name] = (file, key, size)
        return Named(name, key, checked)

    def _stored(self, name: str, file: Path | None) -> Named:
        rows = Media.objects.filter(study=self.study, name=name) if self.study and self.study.pk else None
        media = rows.first() if rows else None
        if media is None or not file_of(media.key).is_file():
            where = f"There is no file {file}" if file else f"This study has no file called “{name[:60]}”"
            fix = "Check the path." if file else "Upload it under Images and recordings first, or correct the name."
            raise BadRecording(f"{where}.", fix)
        if media.width:
            raise BadRecording(f"“{name[:60]}” is an image.", "Name a recording, or show the column as an image.")
        with file_of(media.key).open("rb") as content:
            return Named(media.name, media.key, check_recording(content, media.size))

    def refuse_too_many(self) -> None:
        """Raises Invalid if the study would have more bytes of files than allowed."""
        refuse_full_study(self.study, sum(size for _, _, size in self._new.values()))

    def write_files(self) -> None:
        """Store the content of new files. Call it before the transaction, to keep that short. Raises Invalid."""
        self.refuse_too_many()
        for name, (content, key, _) in self._new.items():
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
                if store_stream(file, key.rpartition(".")[2]) != key:
                    raise invalid("items", f"{name} was changed during the import.", "Run the command again.")

    def write_rows(self, study: Study) -> None:
        """Store the rows of new files, in the caller's transaction. A new file replaces one with the same name."""
        for name, (content, key, size) in self._new.items():
            if isinstance(content, bytes) and not file_of(key).is_file():
                store_stream(io.BytesIO(content), "vtt")
            Media.objects.filter(study=study, name=name).delete()
            _row(study, name, key, size, "", self.user).save()


def attach_recordings(
    items: Sequence[ItemData], rows: Sequence[Row], columns: Sequence[Column], recordings: Recordings, images: Images
) -> tuple[list[ItemData], list[RowProblem]]:
    """The items with the files that their rows name in columns of media, and the problems with those.

    A payload with such columns has ``media``: one record per row of the item, which leads from the column to what is
    stored. The cells keep the names that the researcher gave.
    """
    kinds = {column.name: column.media for column in columns if column.media}
    if not kinds:
        return list(items), []
    row_of = {row.number: row for row in rows}
    problems: list[RowProblem] = []
    with_media = []
    for item in items:
        media = []
        for number in item.rows:
            cells = row_of[number].cells if number in row_of else {}
            stored: Json = {}
            for column, kind in kinds.items():
                if not (cell := cells.get(column, "").strip()):
                    continue
                try:
                    stored[column] = _stored_in(cell, kind, column, cells, recordings, images)
                except BadPicture as bad:
                    problems.append(RowProblem(number, column, bad.what, bad.fix))
                except Invalid as error:
                    problems.append(RowProblem(number, column, error.problems[0].what, error.problems[0].fix))
            media.append(stored)
        with_media.append(replace(item, payload={**item.payload, "media": media}))
    return with_media, problems


def _stored_in(
    cell: str, kind: str, column: str, cells: Mapping[str, str], recordings: Recordings, images: Images
) -> dict[str, Any]:
    if kind == "image":
        image = images.find(cell)
        alt = " ".join(cells.get(f"{column}_alt", "").split()) or image.alt
        if not alt:
            what = "The image has no alternative text."
            raise BadPicture(what, f"Describe in the column {column}_alt what it shows, for people who cannot see it.")
        images.describe(image.name, alt[:500])
        return {"image": image.key, "image_alt": alt[:500], "image_size": list(image.size)}
    named = recordings.find(cell, kind)
    if kind == CAPTIONS:
        return {"key": named.key, "words": named.checked.words[:MOST_TRANSCRIPT]}
    return {"key": named.key, "seconds": named.checked.seconds}
