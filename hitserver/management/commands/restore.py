"""manage.py restore FILE"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.problems import Refused
from common.words import counted
from hitserver.backup.service import restore


class Command(BaseCommand):
    help = "Restore a backup that manage.py backup made. Stop the server first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the backup")
        parser.add_argument("--force", action="store_true", help="replace the data of this server; backs them up first")

    def handle(self, *args: Any, file: Path, force: bool, **options: Any) -> None:
        try:
            outcome = restore(file, force=force)
        except Refused as refused:
            raise CommandError(str(refused)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or file}: {error.strerror or error}.") from None
        rows, files = counted(outcome.rows, "row"), counted(outcome.files, "file")
        self.stdout.write(f"Restored {rows} and {files}, as of {outcome.made_at}.")
        for note in outcome.notes:
            self.stdout.write(note)
