"""Proves that a change of structure changes no result: ``python -m bench.same_outputs make|read|compare …``.

    python -m bench.same_outputs make FOLDER        # once: studies of all examples, with work, decisions and payments
    python -m bench.same_outputs read FOLDER OUT    # in the tree before the change, and again in the tree after it
    python -m bench.same_outputs compare OUT1 OUT2  # lists the files that differ, each with its first differing line

``make`` runs the real server, lets simulated workers do every study file in ``examples/``, adds a few people, one study
on the marketplace, coders, a generation run, reviews, exclusions, flags, rejections, bonuses and payments.

``read`` works on a copy. It migrates the database, then writes every page of the console, the workers and the
marketplace, every answer of the API, every report, export, bundle and download, and what the commands print. It takes
addresses from the server itself, and fails if it does not know how to fill one in. The clock stands still and all
randomness has a seed, so two readings of the same code are the same to the byte.

It uses only addresses, commands and ``apps.get_model``, so that it runs on trees whose modules have moved. In a tree
without this file: ``cd TREE && .venv/bin/python /path/to/bench/same_outputs.py read FOLDER OUT``.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

TREE = Path.cwd()  # whose code runs
FACTS = "facts.json"
NOBODY = "nobody"
ADMIN, CODERS, REQUESTER_USER = "admin", ("coder-a", "coder-b"), "requester"
CONSOLE, OPERATE = "/console/", "/marketplace/operate/"
HEADERS = ("Content-Type", "Content-Disposition", "Location", "Content-Security-Policy", "Cache-Control")
WORK_PAGES = ("", "done", "record", "record.json", "record.csv", "return", "stop", "offers", "ready")
#: How many links are followed that differ only in numbers.
LINKS_OF_A_KIND = 2
OF_A_STUDY = (
    *("status {}", "status {} --json", "batch-export {} --out FILE", "receipts {} --out FILE"),
    *("payments {} --out FILE", "payments {} --worker-ids --out FILE", "payments {} --mark-paid --dry-run"),
)
COMMANDS = (
    *("study status", "study keys", "generate models", "generate status", "generate status example-run --json"),
    *("generate export example-run -o FILE", "suggester list", "suggester pool-status", "suggester pool-texts model-a"),
    *("user list", "marketplace check-ledger", "retention"),
)
OURS = ("HITSERVER_", "DATABASE_URL", "CELERY_", "DJANGO_")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    one = actions.add_parser("make", help="make the studies that are read")
    one.add_argument("folder", type=Path)
    one.set_defaults(run=make)
    one = actions.add_parser("read", help="write everything that the code of this tree makes of them")
    one.add_argument("folder", type=Path)
    one.add_argument("out", type=Path)
    one.add_argument("--only", default="", metavar="REGEX", help="only addresses and commands that contain this")
    one.add_argument("--no-reports", action="store_true", help="leave out the reports, which take most of the time")
    one.set_defaults(run=read)
    one = actions.add_parser("compare", help="list the files that differ")
    one.add_argument("before", type=Path)
    one.add_argument("after", type=Path)
    one.set_defaults(run=compare)
    options = vars(parser.parse_args())
    run: Callable[..., int] = options.pop("run")
    return run(**options)


def start_django(environment: Mapping[str, str]) -> None:
    """Sets up Django in this process with these settings only."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]
    os.environ.update(environment, DJANGO_SETTINGS_MODULE="hitserver.settings")
    if str(TREE) not in sys.path:
        sys.path.insert(0, str(TREE))
    import django
    from django.conf import settings

    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    django.setup()
    from hitserver import celery_app

    celery_app.conf.update(task_always_eager=True, task_eager_propagates=True)


def manage(*arguments: str) -> str:
    """Runs a command of ``manage.py`` in this process. Returns what it prints, and how it failed."""
    from django.core.management import CommandError, call_command

    printed, complained = io.StringIO(), io.StringIO()
    ended = ""
    try:
        call_command(*arguments, stdout=printed, stderr=complained)
    except CommandError as error:
        ended = f"CommandError: {error}\n"
    except SystemExit as error:
        ended = f"exit {error.code}\n"
    return printed.getvalue() + complained.getvalue() + ended


def model(name: str, app: str = "annotation") -> Any:
    from django.apps import apps

    return apps.get_model(app, name).objects


def make(folder: Path) -> int:
    from bench.example_studies import make_database

    make_database(folder)
    return 0


def study_files() -> list[Path]:
    """Those of the examples; those that judge the outputs of another study come last."""
    files = [file for file in sorted((TREE / "examples").glob("*.yaml")) if not file.name.endswith(".run.yaml")]
    return sorted(files, key=lambda file: "from_study:" in re.sub(r"#.*", "", file.read_text()))


# --- read -------------------------------------------------------------------------------------------------------


def read(folder: Path, out: Path, no_reports: bool, only: str) -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets must not change from one process to the next
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606
    if out.exists():
        raise SystemExit(f"{out} exists.")
    logging.disable(logging.WARNING)
    facts, began = json.loads((folder / FACTS).read_text()), time.monotonic()
    # Paths that the pages show must not differ, so every copy lies at the same place.
    var = Path(tempfile.gettempdir()) / "hitserver-same-outputs" / "var"
    var.parent.mkdir(exist_ok=True)
    with (var.parent / "lock").open("w") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(var, ignore_errors=True)
        shutil.copytree(folder / "var", var, ignore=shutil.ignore_patterns("reports", "run-reports", "*.log", "broker"))
        stop_clock(facts["made_at"] + 120)
        start_django(facts["environment"] | {"HITSERVER_VAR": str(var), "HITSERVER_MIGRATION_COPIES": "0"})
        Reading(out, facts, reports=not no_reports, only=only).read_all()
    count = sum(1 for path in out.rglob("*") if path.is_file())
    print(f"{count} files in {out}, read in {time.monotonic() - began:.0f} s")
    return 0


def stop_clock(moment: float) -> None:
    """The clock stands at ``moment``, and random numbers come from a seed that `seed` sets."""
    from django.utils import timesince, timezone

    now = datetime.fromtimestamp(moment, tz=UTC)
    os.environ["SOURCE_DATE_EPOCH"] = str(int(moment))
    timezone.now = lambda: now
    since = timesince.timesince
    timesince.timesince = lambda d, now=now, **options: since(d, now, **options)
    time.time = lambda: moment
    with suppress(ImportError):
        import botocore.auth

        botocore.auth.get_current_datetime = lambda *_, **__: now.replace(tzinfo=None)
    random._urandom = os.urandom = lambda size: _stream.randbytes(size)  # type: ignore[attr-defined]


_stream = random.Random(0)


def seed(name: str) -> None:
    """Starts all random numbers again, so that what one page draws does not change the next."""
    _stream.seed(name)
    random.seed(name)
    with suppress(ImportError):
        import numpy as np

        np.random.seed(int(digest(name)[:8], 16))


class Reading:
    """Writes everything that the code makes of the database to ``out``."""

    def __init__(self, out: Path, facts: Mapping[str, Any], *, reports: bool, only: str) -> None:
        self.out, self.facts, self.reports, self.only = out, facts, reports, re.compile(only)
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.clients: dict[str, Any] = {}

    def read_all(self) -> None:
        from django.contrib.auth.models import User
        from django.test import Client

        seed("migrate")
        manage("migrate", "--verbosity", "0")
        for name in (NOBODY, ADMIN, CODERS[1], REQUESTER_USER):
            client = Client(SERVER_NAME="127.0.0.1", SERVER_PORT=self.facts["environment"]["HITSERVER_PORT"])
            if name != NOBODY:
                client.force_login(User.objects.get(username=name))
            self.clients[name] = client
        slugs = list(model("Study").order_by("slug").values_list("slug", flat=True))
        parts: list[tuple[str, Callable[[], None]]] = [
            ("pages", self.read_pages),
            ("workers' pages", self.read_work),
            ("links", self.follow_links),
            ("commands", lambda: self.run_commands(slugs)),
            ("checks", lambda: self.run_checks(slugs)),
        ]
        if self.reports:
            parts.append(("reports by commands", lambda: self.run_reports(slugs)))
        for title, run in parts:
            began = time.perf_counter()
            run()
            print(f"{title}: {time.perf_counter() - began:.0f} s", flush=True)
        lines = [f"{count:5} {status} /{route}" for (route, status), count in sorted(self.statuses.items())]
        self.write("routes.txt", "\n".join(lines).encode())

    def write(self, name: str, content: bytes) -> None:
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(without_times(content))

    def write_zip(self, name: str, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                self.write(f"{name}/{member}", archive.read(member))

    # --- pages ---

    def fetch(self, who: str, address: str, route: str) -> str:
        """Writes what the address answers. Returns the text of a page or of JSON."""
        if not self.only.search(address) or (not self.reports and "/report/" in address):
            return ""
        seed(f"{who} {address}")
        response = self.clients[who].get(address)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        self.statuses[route, response.status_code] += 1
        file, head = page_file(who, address), [f"{response.status_code} {address}"]
        head += [f"{name}: {response[name]}" for name in HEADERS if name in response]
        if response.get("Content-Type") == "application/zip":
            self.write_zip(f"{file}.zip", content)
            content = b""
        self.write(file, "\n".join(head).encode() + b"\n\n" + content)
        return content.decode() if re.match(r"text/html|application/json", response.get("Content-Type", "")) else ""

    def read_pages(self) -> None:
        """Every address that the server has, as the administrator; where it matters also as a coder and as nobody."""
        for address, route in addresses():
            signed_in = route == "" or route.startswith(("console/", "api/", "notices/"))
            text = self.fetch(ADMIN if signed_in else NOBODY, address, route)
            # The API's own pages for people are HTML.
            while route.startswith("api/") and text.startswith("{") and (following := json.loads(text).get("next")):
                text = self.fetch(ADMIN, relative(following, address), route)
            if signed_in and ("/example-comment-coding/" in address or "<slug" not in route):
                self.fetch(CODERS[1], address, route)
                self.fetch(NOBODY, address, route)

    def read_work(self) -> None:
        """The pages of workers who have finished, who have sent a page, and who have only started."""
        for path in self.facts["paths"]:
            for end in WORK_PAGES if path.startswith("/w/") else ("",):
                self.fetch(NOBODY, path + end, f"w/…/{end}" if path.startswith("/w/") else "(people's addresses)")

    def follow_links(self) -> None:
        """Filters and further pages of the console; the marketplace for its operator, a requester and anybody."""
        for who, start in ((ADMIN, CONSOLE), (ADMIN, OPERATE), (REQUESTER_USER, OPERATE), (NOBODY, "/marketplace/")):
            waiting, seen, taken = [start], {start}, Counter[str]()
            while waiting:
                address = waiting.pop(0)
                file = self.out / page_file(who, address)
                text = file.read_text("utf-8", "replace") if file.exists() else self.fetch(who, address, "(links)")
                for href in re.findall(r'href="([^"#]+)', text):
                    link = relative(href.replace("&amp;", "&"), address)
                    shape = re.sub(r"/workers/[^/]+/|/[A-Z0-9]{12,}/|\d+|=[^&]*", "N", link)
                    if link.startswith((CONSOLE, start)) and link not in seen and taken[shape] < LINKS_OF_A_KIND:
                        seen.add(link)
                        taken[shape] += 1
                        waiting.append(link)

    # --- commands ---

    def run_commands(self, slugs: Sequence[str]) -> None:
        """What the commands print and write, and nothing that changes data."""
        for slug in slugs:
            for words in OF_A_STUDY:
                self.command("study", *words.format(slug).split())
            for kind, format in exports_of(slug):
                worker_ids = ("--worker-ids",) if kind == "long" else ()
                for option in ("", "--simulated without", "--simulated only", *worker_ids):
                    words = f"export {slug} --kind {kind} --format {format} --out FILE {option}"
                    self.command("study", *words.split())
        for words in (*COMMANDS, *(f"study keys {name}" for name in task_types())):
            self.command(*words.split())
        for file in study_files():
            self.command("study", "apply", str(file.relative_to(TREE)), "--dry-run")

    def run_checks(self, slugs: Sequence[str]) -> None:
        """Quality control, and all ratings derived again from the stored answers. The database stays as it is."""
        from django.db import transaction

        fields = ("submission", "item", "question", "target", "scale", "value", "text")
        for slug in slugs:
            with transaction.atomic():
                for action in ("check", "rebuild-ratings", "recount"):
                    self.command("study", action, slug)
                ratings = model("Rating").filter(submission__study__slug=slug).order_by("pk").values_list(*fields)
                self.write(f"ratings/{slug}.txt", "\n".join(map(str, ratings)).encode())
                transaction.set_rollback(True)

    def run_reports(self, slugs: Sequence[str]) -> None:
        """Reports by the commands, and each study's report from its bundle, without a server."""
        self.command("samples", "report", "example-run", "--out", "FOLDER")
        self.command("study", "report", slugs[0], "--out", "FOLDER")
        for slug in slugs:
            bundle = self.out / page_file(ADMIN, f"/console/studies/{slug}/exports/bundle.zip.zip")
            if not bundle.exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "analysis", "report", str(bundle), "--out", folder]
                ran = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)
                printed = f"exit {ran.returncode}\n{ran.stdout}{ran.stderr}"
                self.write(f"analysis/{slug}.txt", printed.replace(str(self.out), "").replace(folder, "").encode())
                self.write_folder(f"analysis/{slug}", Path(folder))

    def command(self, *words: str) -> None:
        """Runs a command of ``manage.py``. FILE and FOLDER are places that it may write to."""
        if not self.only.search(" ".join(words)):
            return
        name = f"commands/{quote('_'.join(words).replace('/', '-'), safe='=,')}"
        seed(name)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / ("out.jsonl" if "jsonl" in words else "out.csv")
            places = {"FILE": str(file), "FOLDER": folder}
            printed = manage(*(places.get(word, word) for word in words))
            self.write(name, printed.replace(folder, "").encode())
            self.write_folder(f"{name}.out", Path(folder))

    def write_folder(self, name: str, folder: Path) -> None:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            write = self.write_zip if zipfile.is_zipfile(path) else self.write
            write(f"{name}/{path.relative_to(folder)}", path.read_bytes())


#: When a report was made: the only thing that is left out. It is the time of the real clock.
MADE = re.compile(rb'("made_at": ?")[^"]*"|(Made on |made on )[^<.]*')


def without_times(content: bytes) -> bytes:
    return MADE.sub(lambda found: (found[1] or found[2]) + b"(left out)" + (b'"' if found[1] else b""), content)


def page_file(who: str, address: str) -> str:
    """The file for an address: folders as in its path. A page and the pages below it need two names."""
    path, _, query = address.partition("?")
    *above, last = (quote(unquote(part), safe="=,.") for part in path.strip("/").split("/"))
    last += ("_" if path.endswith("/") else "") + (f"?{quote(query, safe='=&,')}" if query else "")
    parts = [*(f"{part}." for part in above), last]
    return "/".join(["pages", who, *(part if len(part) < 100 else part[:60] + digest(part)[:12] for part in parts)])


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def relative(link: str, address: str) -> str:
    if link.startswith("?"):
        return address.partition("?")[0] + link
    if link.startswith("http"):
        return urlsplit(link)._replace(scheme="", netloc="").geturl() if "127.0.0.1" in link else link
    return link


# --- addresses ---


def addresses() -> Iterator[tuple[str, str]]:
    """All addresses that the server has, filled in, each with its route."""
    from django.urls import get_resolver

    for route in sorted(set(routes(get_resolver().url_patterns))):
        if route.startswith(("marketplace", "mturk", "projects")) or route in LEFT_OUT:
            continue
        for values in fillings(route):
            address = PARAMETER.sub(partial(_value, values), route)
            yield f"/{address}", route


def _value(values: Mapping[str, object], parameter: re.Match[str]) -> str:
    return quote(str(values[parameter[1]]))


def routes(patterns: Sequence[Any], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route


PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
#: Workers' pages are read at the addresses of people who work; the server's health depends on its processes.
LEFT_OUT = {"healthz", "healthz/live", "console/logout/"}


def fillings(route: str) -> Iterator[dict[str, object]]:
    """Values for the parameters of a route. Raises SystemExit for a route that nobody has described here."""
    names = PARAMETER.findall(route)
    if not names:
        yield {}
    elif route.startswith(("w/", "p/")):
        return
    elif route.startswith(("console/studies/", "api/v1/studies/", "s/")):
        for slug in model("Study").order_by("slug").values_list("slug", flat=True):
            for values in in_study(route, slug, names[1:]):
                yield {names[0]: slug} | values
    else:
        start = route if route in FIXED else next((start for start in BY_START if route.startswith(start)), None)
        if start is None:
            raise SystemExit(f"How to fill in {route}? Describe it in bench/same_outputs.py.")
        for row in (FIXED.get(start) or BY_START[start])():
            yield dict(zip(names, row, strict=True))


def in_study(route: str, slug: str, names: Sequence[str]) -> Iterator[dict[str, object]]:
    """Values for what follows the study's short name."""
    rest = route.partition("<slug:slug>/")[2]
    if not names:
        yield {}
        return
    for start, rows in IN_STUDY.items():
        if rest.startswith(start):
            for row in rows(slug):
                yield dict(zip(names, row if isinstance(row, tuple) else (row,), strict=True))
            return
    raise SystemExit(f"How to fill in {route}? Describe it in bench/same_outputs.py.")


def _first(name: str, field: str = "pk", most: int = 5) -> Callable[[str], list[object]]:
    return lambda slug: list(model(name).filter(study__slug=slug).order_by("pk").values_list(field, flat=True)[:most])


IN_STUDY: dict[str, Callable[[str], list[object]]] = {
    # The studies have no webhooks, judges, links and staged files: such an address says so.
    "judges/": lambda slug: [1],
    "webhooks/<int:id>/deliveries/<int": lambda slug: [(1, 1)],
    "webhooks/<int:pk>/messages/": lambda slug: [(1, 1)],
    "webhooks/": lambda slug: [1],
    "links/": lambda slug: [1],
    "upload/": lambda slug: ["none"],
    "preview/": lambda slug: [1, 2, 99],
    "questionnaires/": lambda slug: ["before", "comprehension", "after"],
    "items/": _first("Item"),
    "coding/": _first("Item"),
    "submissions/": _first("Submission"),
    "actions/": _first("BulkAction"),
    "arms/": _first("Arm", "position"),
    "workers/": _first("Participant", "pseudonym"),
    "images/": lambda slug: [1],
    "members/": lambda slug: [1],
    "exports/": lambda slug: [*exports_of(slug), ("long", "zip"), ("none", "csv")],
    "report/figures/": lambda slug: ["time-0"],
    "report/": lambda slug: ["report.html", "report.json"],
    "platforms/<": lambda slug: ["link", "mturk", "panel", "prolific"],
    "platforms/on/": lambda slug: ["link", "mturk", "panel", "prolific"],
}
EXPORTS = (
    *("long", "wide", "diversity-eval", "outputs", "offers", "turns", "events", "final", "questionnaires", "spans"),
    *("judges", "tries", "cyoa-script", "bundle", "dataset"),
)


def exports_of(slug: str) -> Iterator[tuple[str, str]]:
    for kind in EXPORTS:
        for format in {"cyoa-script": ("tsv",), "bundle": ("zip",), "dataset": ("zip",)}.get(kind, ("csv", "jsonl")):
            yield kind, format


def task_types() -> list[str]:
    return [line.partition(":")[0] for line in manage("study", "keys").splitlines()]


def run_names() -> list[str]:
    return list(model("GenerationRun", "generation").values_list("name", flat=True))


def suggesters() -> list[str]:
    return list(model("Suggester", "generation").order_by("name").values_list("name", flat=True))


FIXED: dict[str, Callable[[], list[tuple[object, ...]]]] = {
    "console/account/tokens/<int:pk>/revoke/": lambda: [(1,)],
    "console/users/<int:pk>/": lambda: [(1,), (2,)],
    "console/users/<int:pk>/change/": lambda: [(2,)],
    "console/new/<str:task_type>/": lambda: [(name,) for name in task_types()],
    "console/new/<str:task_type>/sample.csv": lambda: [(name,) for name in task_types()],
    "console/wording/<str:task_type>/": lambda: [(name,) for name in task_types()],
    "console/runs/<slug:name>/samples.<slug:format>": lambda: list(itertools.product(run_names(), ("csv", "jsonl"))),
    "console/runs/<slug:run_name>/report/<str:name>": lambda: list(
        itertools.product(run_names(), ("report.html", "report.json"))
    ),
    "console/runs/<slug:run_name>/report/figures/<slug:key>.png": lambda: [(name, "none") for name in run_names()],
    **dict.fromkeys(
        (f"console/runs/<slug:name>/{end}" for end in ("", "progress/", "cancel/", "resume/", "report/")),
        lambda: [(name,) for name in run_names()],
    ),
    "console/models/<slug:name>/check/": lambda: [("toy",)],
    "console/models/<slug:name>/retire/": lambda: [("toy",)],
    "console/suggesters/<slug:name>/try/<int:pk>/": lambda: [("model-a", 1)],
    **dict.fromkeys(
        (f"console/suggesters/<slug:name>/{end}" for end in ("", "change/", "active/", "weights/", "try/", "pool/")),
        lambda: [(name,) for name in suggesters()],
    ),
    "media/<str:name>": lambda: [("none.png",)],
    "media/<str:name>/<int:width>": lambda: [("none.png", 400)],
    "notices/<slug:platform>/": lambda: [("prolific",), ("mturk",)],
}

#: The same for addresses that begin like this; the first that fits counts. There are no jobs, accounts and teams.
BY_START: dict[str, Callable[[], list[tuple[object, ...]]]] = {
    "api/v1/jobs/": lambda: [(1,)],
    "api/v1/platform-accounts/": lambda: [("none",)],
    "api/v1/runs/<slug:name>/samples.": lambda: list(itertools.product(run_names(), ("csv", "jsonl"))),
    "api/v1/runs/": lambda: [(name,) for name in run_names()],
    "api/v1/suggesters/": lambda: [(name,) for name in suggesters()],
    "api/v1/task-types/": lambda: [(name,) for name in task_types()],
    "api/v1/teams/<slug:team>/members/<": lambda: [("none", CODERS[0])],
    "api/v1/teams/": lambda: [("none",)],
    "api/v1/tokens/": lambda: [(1,)],
    "console/platform-accounts/new/": lambda: [(name,) for name in ("mturk", "prolific")],
    "console/platform-accounts/": lambda: [("none",)],
    "console/teams/<slug:slug>/members/": lambda: [("none", 1)],
    "console/teams/": lambda: [("none",)],
}


# --- compare ----------------------------------------------------------------------------------------------------


def compare(before: Path, after: Path) -> int:
    names = [
        {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} for folder in (before, after)
    ]
    differing = 0
    for name in sorted(names[0] | names[1]):
        if name not in names[0] or name not in names[1]:
            print(f"only in {before if name in names[0] else after}: {name}")
        elif (told := first_difference((before / name).read_bytes(), (after / name).read_bytes())) is not None:
            print(f"{name}, line {told}")
        else:
            continue
        differing += 1
    print(f"{len(names[0] & names[1])} files in both, {differing} differ")
    return 1 if differing else 0


#: A page's token against forged requests: another page may be the first that makes one.
TOKEN = re.compile(rb'(name="csrfmiddlewaretoken" value=")[^"]*')


def first_difference(before: bytes, after: bytes) -> str | None:
    before, after = TOKEN.sub(rb"\1", before), TOKEN.sub(rb"\1", after)
    if before == after:
        return None
    pairs = itertools.zip_longest(before.splitlines(), after.splitlines(), fillvalue=b"(no line)")
    for number, (old, new) in enumerate(pairs, start=1):
        if old != new:
            at = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
            start = max(0, at - 40)
            return f"{number}\n    - {old[start : at + 80]!r}\n    + {new[start : at + 80]!r}"
    return "(ends of lines)"


if __name__ == "__main__":
    sys.exit(main())
