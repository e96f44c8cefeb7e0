"""manage.py retention"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from common.commands import aligned
from common.words import counted
from hitserver.retention import delete, find


class Command(BaseCommand):
    help = "List data that are older than the settings allow, and delete them with --delete. Answers and payments stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--delete", action="store_true", help="delete what is listed; this cannot be undone")

    def handle(self, *args: Any, **options: Any) -> None:
        deleting = options["delete"]
        old_rows = delete() if deleting else find()
        table = []
        for old in old_rows:
            days = old.rule.days
            age = f"older than {counted(days, 'day')}" if days else "kept indefinitely"
            table.append((f"{old.count:,}", old.rule.name, age))
        for line in aligned(table):
            self.stdout.write(line)
        total = sum(old.count for old in old_rows)
        if deleting:
            self.stdout.write(f"Deleted: {counted(total, 'row')}.")
        elif total:
            self.stdout.write("Nothing was deleted.")
            self.stdout.write(f"To delete {counted(total, 'row')}, run: manage.py retention --delete")
        else:
            self.stdout.write("There is nothing to delete.")
