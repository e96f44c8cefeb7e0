"""manage.py backup FILE"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.problems import Refused
from common.words import counted
from hitserver.backup.drill import note_backup, try_backup, try_newest
from hitserver.backup.outdated import outdated
from hitserver.backup.service import back_up, changed_rows


class Command(BaseCommand):
    help = "Back up the database, images, workers' files and the secret key into one file, while the server runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, nargs="?", help="the file to write, such as hitserver.tar.gz; replaces an existing file"
        )
        parser.add_argument("--without-key", action="store_true", help="leave the secret key out")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="make no backup; restore the newest one that this machine made, or FILE, beside the server’s data, "
            "check it and remove it again",
        )
        parser.add_argument(
            "--outdated",
            action="store_true",
            help="make no backup; list the copies on this server, and the backups in the folder FILE, that still "
            "contain workers' data that were deleted later",
        )
        parser.add_argument(
            "--compare", action="store_true", help="make no backup; list what the database has more or less than FILE"
        )
        parser.add_argument("--remove", action="store_true", help="with --outdated: delete these files")

    def handle(self, *args: Any, file: Path | None, without_key: bool, **options: Any) -> None:
        if options["outdated"]:
            self._list_outdated(file, remove=options["remove"])
            return
        if options["verify"]:
            self._verify(file)
            return
        if file is None:
            raise CommandError("Name the file to write, such as hitserver.tar.gz.")
        if options["compare"]:
            self._compare(file)
            return
        try:
            outcome = back_up(file, with_key=not without_key)
        except Refused as refused:
            raise CommandError(str(refused)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or file}: {error.strerror or error}.") from None
        note_backup(file, outcome)
        size = file.stat().st_size / 1024**2
        self.stdout.write(f"{file}: {counted(outcome.rows, 'row')}, {counted(outcome.files, 'file')}, {size:,.1f} MB.")
        if not without_key:
            self.stdout.write("It contains the secret key and personal data. Keep it where only you can read it.")

    def _verify(self, file: Path | None) -> None:
        if file is not None:
            try:
                self.stdout.write(f"{file}: {try_backup(file)}")
            except Refused as refused:
                raise CommandError(str(refused)) from None
            except OSError as error:
                raise CommandError(f"{error.filename or file}: {error.strerror or error}.") from None
            return
        note = try_newest()
        if note is None:
            raise CommandError("This machine has made no backup that is still there. Make one: manage.py backup FILE")
        if not note.works:
            raise CommandError(f"{note.path} does not work. {note.outcome}")
        self.stdout.write(f"{note.path}: {note.outcome}")

    def _compare(self, file: Path) -> None:
        try:
            changes = changed_rows(file)
        except Refused as refused:
            raise CommandError(str(refused)) from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror or error}.") from None
        for table, difference in changes.items():
            self.stdout.write(f"{table}: {counted(abs(difference), 'row')} {'more' if difference > 0 else 'fewer'}")
        if not changes:
            self.stdout.write("Every table has as many rows as in the backup.")

    def _list_outdated(self, folder: Path | None, *, remove: bool) -> None:
        if folder is not None and not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        files = outdated(folder)
        for file in files:
            since = f"{counted(file.deletions, 'deletion')} since {file.made_at:%d %b %Y, %H:%M} UTC"
            self.stdout.write(f"{file.path}: {since}")
            if remove:
                file.path.unlink()
        if not files:
            self.stdout.write("No copy contains data that were deleted later.")
        elif remove:
            self.stdout.write(f"Deleted: {counted(len(files), 'file')}. Make a new backup now.")
        else:
            self.stdout.write("Nothing was changed. To delete these files, add --remove.")
