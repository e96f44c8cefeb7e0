"""manage.py backup FILE"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.problems import Refused
from common.words import counted
from hitserver.backup.service import back_up


class Command(BaseCommand):
    help = "Writes the database, workers' files and the secret key into one file, while the server runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="where to, such as hitserver.tar.gz; replaces an existing file")
        parser.add_argument("--without-key", action="store_true", help="leave the secret key out")

    def handle(self, *args: Any, file: Path, without_key: bool, **options: Any) -> None:
        try:
            done = back_up(file, with_key=not without_key)
        except Refused as refused:
            raise CommandError(str(refused)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or file}: {error.strerror or error}.") from None
        size = file.stat().st_size / 1024**2
        self.stdout.write(f"{file}: {counted(done.rows, 'row')}, {counted(done.files, 'file')}, {size:,.1f} MB.")
        if not without_key:
            self.stdout.write("It contains the secret key and personal data. Keep it where only you can read it.")
