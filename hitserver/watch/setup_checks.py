"""How this server is set up: database, migrations, packages, risky settings, and what is old enough to be deleted."""

from __future__ import annotations

import platform
import re
import sqlite3
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

from django.conf import settings
from django.db import connection
from django.utils import timezone
from packaging.requirements import Requirement

from common.words import counted
from hitserver import retention
from hitserver.backup.service import migrations_due
from hitserver.version import version
from hitserver.watch.checks import BAD, GOOD, WARN, Line, size
from hitserver.watch.figures import Figures

#: Packages whose versions the page shows, if they are installed.
SHOWN = (
    *("django", "djangorestframework", "gunicorn", "celery", "psycopg2-binary", "prometheus-client"),
    *("torch", "transformers", "llama-cpp-python"),
)
#: Old rows are counted up to this many.
MOST_COUNTED = 1000


def of_database(figures: Figures) -> list[Line]:
    if connection.vendor == "postgresql":
        number = str(connection.cursor().connection.server_version)
        name = f"PostgreSQL {int(number[:-4])}.{int(number[-4:])}"
    else:
        name = f"SQLite {sqlite3.sqlite_version}"
    lines = [Line("database", "Database", GOOD, f"{name}, {size(figures.database_bytes)}.")]
    if migrations_due():
        text = "The database lacks tables or columns of this version."
        lines.append(Line("migrations", "Migrations", BAD, text, "Back up, then run manage.py migrate."))
    else:
        lines.append(Line("migrations", "Migrations", GOOD, "All are applied."))
    old = []
    for rule in retention.RULES:
        n_rows = rule.rows(timezone.now())[: MOST_COUNTED + 1].count()
        if n_rows:
            number = f"more than {MOST_COUNTED:,}" if n_rows > MOST_COUNTED else f"{n_rows:,}"
            old.append(f"{number} {rule.name} (after {counted(rule.days, 'day')})")
    text = f"Old enough to be deleted: {'; '.join(old)}." if old else "Nothing is old enough to be deleted."
    fix = "Nothing is deleted by itself: run manage.py retention --delete, once or by cron." if old else ""
    return [*lines, Line("retention", "Old data", WARN if old else GOOD, text, fix)]


def of_packages() -> list[Line]:
    """Versions, and packages that are not those that this version was tested with."""
    parts = [f"HITServer {version()}", f"Python {platform.python_version()}", *_installed()]
    lines = [Line("versions", "Versions", GOOD, ", ".join(parts) + ".")]
    if different := _not_as_locked():
        shown = ", ".join(different[:5]) + (" …" if len(different) > 5 else "")
        fix = "Run script/setup, then start the server again."
        lines.append(Line("packages", "Packages", WARN, f"Not the versions of requirements.lock: {shown}.", fix))
    else:
        lines.append(Line("packages", "Packages", GOOD, "All are those of requirements.lock."))
    return lines


@cache
def _installed() -> tuple[str, ...]:
    return tuple(f"{name} {number}" for name in SHOWN if (number := _version_of(name)))


@cache
def _not_as_locked() -> tuple[str, ...]:
    return not_as_locked((settings.BASE_DIR / "requirements.lock").read_text())


def not_as_locked(lock: str) -> tuple[str, ...]:
    """Installed packages of another version than ``lock`` has for this Python and this system, in words."""
    different = []
    for line in re.findall(r"^[A-Za-z0-9].*==[^\\\n]*", lock, re.MULTILINE):
        pinned = Requirement(line)
        if pinned.marker is not None and not pinned.marker.evaluate():
            continue
        number = _version_of(pinned.name)
        if number and not pinned.specifier.contains(number, prereleases=True):
            different.append(f"{pinned.name} {number} (not {str(pinned.specifier).removeprefix('==')})")
    return tuple(different)


def _version_of(name: str) -> str:
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return ""


def of_settings() -> list[Line]:
    """Settings that are fine on one's own machine and risky for a study. One line if there are none."""
    risks = [*_for_development_only(), *_nobody_is_told()]
    lines = [line for is_so, line in risks if is_so]
    return lines or [Line("settings", "Settings", GOOD, "None is risky.")]


def _for_development_only() -> list[tuple[bool, Line]]:
    return [
        (
            settings.DEBUG,
            Line("debug", "Debug pages", BAD, "Error pages show source code and settings.", "Set HITSERVER_DEBUG=0."),
        ),
        (
            settings.MARKETPLACE_TEST_CONTROLS,
            Line(
                "test-controls",
                "Test controls",
                BAD,
                "Requesters can move the marketplace’s clock and plan faults.",
                "Set HITSERVER_MARKETPLACE_TEST_CONTROLS=0.",
            ),
        ),
        (
            bool(settings.OPEN_FOLDER),
            Line("open-folder", "HITSERVER_VAR", BAD, settings.OPEN_FOLDER, f"Run chmod 700 {settings.VAR}"),
        ),
        (
            not settings.PRODUCTION,
            Line(
                "development",
                "Environment",
                WARN,
                "This is a development server: cookies and pages also go over http.",
                "For a study, set HITSERVER_ENV=production; docs/operating.md lists what else it needs.",
            ),
        ),
        (
            settings.BASE_URL.startswith("http://"),
            Line(
                "base-url",
                "Address",
                WARN,
                f"Links begin with {settings.BASE_URL}, without encryption.",
                "Put a web server with a certificate in front, and set HITSERVER_BASE_URL to its https address.",
            ),
        ),
    ]


def _nobody_is_told() -> list[tuple[bool, Line]]:
    return [
        (
            not settings.EMAIL_HOST,
            Line(
                "mail",
                "Mail server",
                WARN,
                "None is set, so nobody gets mail.",
                "Set HITSERVER_EMAIL_HOST and the settings below it in docs/settings.md.",
            ),
        ),
        (
            not settings.ALARM_MAIL,
            Line(
                "alarm-mail",
                "Mail about trouble",
                WARN,
                "Nobody gets mail when something needs a person.",
                "Set HITSERVER_ALARM_MAIL to one or more addresses.",
            ),
        ),
        (
            bool(settings.UNKNOWN_VARIABLES),
            Line(
                "unknown-settings",
                "Names of settings",
                WARN,
                f"No setting has these names: {', '.join(settings.UNKNOWN_VARIABLES)}.",
                "Compare them with docs/settings.md.",
            ),
        ),
    ]
