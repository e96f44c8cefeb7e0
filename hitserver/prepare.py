"""Prepares what the server needs before it starts: the tables and the static files.

python -m hitserver.prepare

Its output is for the person who starts the server. It is shown when the server is ready.
"""

import os
import sys
from io import StringIO

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from hitserver.backup.service import copy_before_migrating, migrations_due


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
    try:
        django.setup()
        call_command("check", stdout=StringIO())
        if migrations_due():
            if copy := copy_before_migrating():
                print(f"The tables are changed for this version. A copy from before is in {copy}.", file=sys.stderr)
            call_command("migrate", interactive=False, verbosity=0)
        from hitserver.watch import signs  # models can be imported only now

        signs.forget_this_machine()
        call_command("collectstatic", interactive=False, verbosity=0)
        if "marketplace" in settings.PARTS:
            call_command("marketplace_welcome", addresses="studies" in settings.PARTS)
    except (CommandError, DatabaseError, ImproperlyConfigured, OSError) as error:
        print(f"{type(error).__name__}: {error}".strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
