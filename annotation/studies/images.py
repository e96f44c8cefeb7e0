"""Images of studies: uploads, the images that an items file names, and the files in MEDIA_FILES.

A file is stored under the hash of its content, and always before its row. So no row is ever without its file. Files
without a row are possible; retention removes them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from annotation.audit import record
from annotation.models import Item, Media, Study
from annotation.studies import image_files
from annotation.studies.image_checks import BadPicture, Picture, read_picture, refuse_too_large, source_of
from annotation.studies.image_files import store_picture
from annotation.studies.storing import Frozen
from annotation.task_types.items import ItemData, Row, RowProblem
from annotation.task_types.questions import one_line
from common.problems import Invalid, Problem, invalid
from common.words import counted

#: Columns that an items file of any task type may have.
IMAGE, ALT = "image", "image_alt"
MOST_ALT, MOST_NAME = 500, 200
#: Seconds that a file without a row stays: an import may be about to write the row.
GRACE_SECONDS = 24 * 3600
NEEDS_ALT = "Describe in a few words what it shows, for people who cannot see it."


# --- one image ---


def add_media(*, study: Study, name: str, data: bytes, alt: str, actor: str, user: User | None = None) -> Media:
    """Store an uploaded image of a draft. Raises Invalid, or Frozen if the study is no longer a draft."""
    name, alt = checked_name(name), checked_alt(alt)
    try:
        picture = read_picture(data)
    except BadPicture as bad:
        raise invalid(IMAGE, f"{name}: {bad.what}", bad.fix) from None
    store_picture(picture)
    with transaction.atomic():
        now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        refuse_unless_draft(now)
        if Media.objects.filter(study=now, name=name).exists():
            fix = "Delete that one first, or give the new one another name."
            raise invalid(IMAGE, f"This study already has an image called {name}.", fix)
        media = _row(now, name, picture, alt, user)
        media.save()
        record(study=now, actor=actor, action="add image", name=name)
    return media


@transaction.atomic
def delete_media(*, media: Media, actor: str) -> None:
    """Delete an image of a draft that no item uses. Raises Invalid or Frozen."""
    study = Study.objects.select_for_update(no_key=True).get(pk=media.study_id)
    refuse_unless_draft(study)
    if used := items_with(media).count():
        fix = "Import items without it first."
        raise invalid(IMAGE, f"{counted(used, 'item')} of this study {'uses' if used == 1 else 'use'} it.", fix)
    media.delete()
    record(study=study, actor=actor, action="delete image", name=media.name)


def copy_media(*, study: Study, to: Study) -> None:
    """Give the duplicate ``to`` the images of ``study``. Runs in the caller's transaction."""
    rows = list(Media.objects.filter(study=study))
    for row in rows:
        row.pk, row.study = None, to
    Media.objects.bulk_create(rows)


def items_with(media: Media) -> QuerySet[Item]:
    """The items of its study that show the image or play the recording."""
    return Item.objects.alias(words=Cast("payload", TextField())).filter(
        study_id=media.study_id, words__contains=media.key
    )


def checked_alt(alt: str) -> str:
    """The alternative text, cleaned. Raises Invalid if it is missing or too long."""
    text = one_line(alt)
    if not text:
        raise invalid(ALT, "The image has no alternative text.", NEEDS_ALT)
    if len(text) > MOST_ALT:
        raise invalid(ALT, f"The alternative text has {len(text):,} characters.", f"Use at most {MOST_ALT}.")
    return text


def checked_name(name: str) -> str:
    """A relative path. Raises Invalid if it could lead elsewhere or cannot be shown."""
    path = PurePosixPath(name.strip())
    inside = name.strip() and not path.is_absolute() and ".." not in path.parts and "\\" not in name
    if not inside or not name.isprintable() or len(name) > MOST_NAME:
        fix = f"Use the name of a file beside the items file, with at most {MOST_NAME} characters."
        raise invalid(IMAGE, f"“{name[:60]}” cannot be the name of an image.", fix)
    return path.as_posix()


def refuse_unless_draft(study: Study) -> None:
    if study.status != Study.Status.DRAFT:
        what = "The study has been launched, so its images are locked."
        raise Frozen([Problem(IMAGE, what, "Duplicate the study and change them there.")])


def _row(study: Study, name: str, picture: Picture, alt: str, user: User | None) -> Media:
    return Media(
        study=study,
        name=name,
        key=picture.key,
        source=picture.source,
        format=picture.format,
        width=picture.width,
        height=picture.height,
        size=picture.size,
        alt=alt,
        uploaded_by=user,
        uploaded_at=timezone.now(),
    )


# --- the images that an items file names ---


@dataclass(frozen=True, slots=True)
class Known:
    """An image that a name leads to. ``alt`` is empty for a file that is not stored yet."""

    name: str
    key: str
    size: tuple[int, int]
    alt: str


@dataclass(slots=True)
class Images:
    """Where the names in the column ``image`` lead: first to files below ``folder``, then to images of ``study``."""

    study: Study | None = None
    folder: Path | None = None
    user: User | None = None
    _found: dict[str, Known | BadPicture] = field(default_factory=dict)
    _new: dict[str, tuple[Path, Picture]] = field(default_factory=dict)
    _alts: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Known:
        """The image with this name. Raises BadPicture."""
        if name not in self._found:
            try:
                self._found[name] = self._look(name)
            except BadPicture as bad:
                self._found[name] = bad
        image = self._found[name]
        if isinstance(image, BadPicture):
            raise image
        return image

    def describe(self, name: str, alt: str) -> None:
        """Set the alternative text of a new image. The first item that shows it decides."""
        self._alts.setdefault(name, alt)

    def _look(self, name: str) -> Known:
        try:
            name = checked_name(name)
        except Invalid as error:
            raise BadPicture(error.problems[0].what, error.problems[0].fix) from None
        file = self.folder / name if self.folder else None
        stored = Media.objects.filter(study=self.study) if self.study and self.study.pk else Media.objects.none()
        if file is None or not file.is_file():
            media = stored.filter(name=name).first() or stored.filter(key=name).first()
            if media is None:
                where = f"There is no file {file}" if file else f"This study has no image called “{name[:60]}”"
                fix = "Check the path." if file else "Upload it under Images first, or correct the name."
                raise BadPicture(f"{where}.", fix)
            return _known(media)
        try:
            refuse_too_large(file.stat().st_size)
            data = file.read_bytes()
        except OSError as error:
            raise BadPicture(f"The file cannot be read: {error.strerror}.", "Check who may read it.") from None
        same = stored.filter(name=name, source=source_of(data)).first()
        if same is not None:
            return replace(_known(same), alt="")
        picture = read_picture(data)
        # Without its content: an items file may name thousands.
        self._new[name] = (file, replace(picture, data=b""))
        return Known(name, picture.key, (picture.width, picture.height), "")

    def write_files(self) -> None:
        """Store the content of new images. Call it before the transaction, to keep that short.

        Raises BadPicture, and Invalid for a file that has changed since it was found.
        """
        for file, picture in self._new.values():
            again = read_picture(file.read_bytes())
            if again.key != picture.key:
                raise invalid("items", f"{file.name} was changed during the import.", "Run the command again.")
            store_picture(again)

    def write_rows(self, study: Study) -> None:
        """Store the rows of new images, in the caller's transaction. A new image replaces one with the same name."""
        for name, (_, picture) in self._new.items():
            Media.objects.filter(study=study, name=name).delete()
            _row(study, name, picture, self._alts[name], self.user).save()


def _known(media: Media) -> Known:
    return Known(media.name, media.key, (media.width, media.height), media.alt)


def attach_images(
    items: Sequence[ItemData], rows: Sequence[Row], images: Images
) -> tuple[list[ItemData], list[RowProblem]]:
    """The items with the images that their rows name, and the problems with those.

    A payload with an image has ``image`` (the name of the stored file), ``image_alt``, ``image_size`` (width and height
    in pixels) and, in ``extra``, the name that the researcher gave it.
    """
    row_of = {row.number: row for row in rows}
    with_images: list[ItemData] = []
    problems: list[RowProblem] = []
    for item in items:
        named = next(
            (
                row_of[number]
                for number in item.rows
                if number in row_of and row_of[number].cells.get(IMAGE, "").strip()
            ),
            None,
        )
        if named is None:
            with_images.append(item)
            continue
        try:
            image = images.find(named.cells[IMAGE].strip())
            alt = checked_alt(named.cells.get(ALT, "").strip() or image.alt)
        except BadPicture as bad:
            problems.append(RowProblem(named.number, IMAGE, bad.what, bad.fix))
            continue
        except Invalid as error:
            problems.append(RowProblem(named.number, ALT, error.problems[0].what, error.problems[0].fix))
            continue
        images.describe(image.name, alt)
        payload = dict(item.payload)
        # A type that declares the column stores the cell itself; from here on, ``image`` is the stored file.
        if IMAGE in payload.get("columns", ()):
            payload["columns"] = [name for name in payload["columns"] if name != IMAGE]
        extra = [[name, cell] for name, cell in payload.get("extra", ()) if name != IMAGE]
        payload |= {"extra": [[IMAGE, image.name], *extra], IMAGE: image.key, ALT: alt, "image_size": list(image.size)}
        with_images.append(replace(item, payload=payload))
    return with_images, problems


# --- images that nothing shows ---


def unused() -> Q:
    """A filter for Media: images and recordings that no item of their study shows."""
    # Wherever the payload has it: as the item's image, or among the media of its columns.
    shown = Item.objects.annotate(words=Cast("payload", TextField())).filter(
        study=OuterRef("study"), words__contains=OuterRef("key")
    )
    return Q(~Exists(shown))


def files_without_rows() -> list[Path]:
    """Stored files that no study has, if they are at least ``GRACE_SECONDS`` old, and copies whose image is gone."""
    before = time.time() - GRACE_SECONDS
    old = [path for path in image_files.stored_images() if path.is_file() and path.stat().st_mtime < before]
    orphans = [path for path in old if not Media.objects.filter(key=path.name).exists()]
    return orphans + image_files.copies_without_image()
