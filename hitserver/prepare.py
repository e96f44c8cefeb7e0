"""What has to be in place before the server starts: the tables and the static files.

python -m hitserver.prepare

What it prints is for whoever starts the server, to be shown when it is ready.
"""

import os
import sys
from io import StringIO

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor


def behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
    try:
        django.setup()
        call_command("check", stdout=StringIO())
        if behind():
            call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        if "studies" not in settings.PARTS:
            call_command("marketplace_welcome")
    except (CommandError, DatabaseError, ImproperlyConfigured, OSError) as error:
        print(f"{type(error).__name__}: {error}".strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
