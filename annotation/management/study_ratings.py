"""The action of ``manage.py study`` that makes a study of ratings from another tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from annotation.studies.importing_ratings import import_ratings, read_ratings
from common.commands import AddAction
from common.words import counted


@dataclass(frozen=True, slots=True)
class RatingsActions:
    """Adds the action and runs it. ``user_called`` finds a user or ends the command with its message."""

    say: Callable[[Iterable[str]], None]
    warn: Callable[[Iterable[str]], None]
    user_called: Callable[[str | None], User | None]
    actor: str

    def add_to(self, add: AddAction) -> None:
        ratings = add("import-ratings", "make a closed study of ratings from another tool", self.import_ratings)
        ratings.add_argument("file", type=Path, help="an export of Label Studio, Argilla or Potato")
        ratings.add_argument("slug", help="short name of the study")
        ratings.add_argument("--title", default="", help="by default, made from the name of the file")
        ratings.add_argument("--owner", metavar="USER", help="the user who owns the study")

    def import_ratings(self, *, file: Path, slug: str, title: str, owner: str | None) -> None:
        if not file.exists():
            raise CommandError(f"There is no file or folder {file}.")
        elsewhere = read_ratings(file, file.name)
        made = import_ratings(
            elsewhere=elsewhere,
            file=file.name,
            slug=slug,
            title=title,
            owner=self.user_called(owner),
            actor=self.actor,
        )
        self.warn(made.notes)
        answers = counted(len(elsewhere.answers), "answer")
        self.say([f"{made.study.slug}: {answers} from {elsewhere.tool} in a closed study."])
