"""The main job on real input, from a CSV file to a report: what ``script/demo`` runs.

A study is made from the file, simulated workers rate it through the real pages, report and exports are written, and
then the server goes on running with a second, fresh study to try by hand. Everything happens in a var folder of its
own, which each run starts anew.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import django
from django.apps import apps

if TYPE_CHECKING:
    from annotation.models import Study

ROOT = Path(__file__).resolve().parent.parent
#: In the folder of the settings, but never that folder itself: the demo empties it.
VAR = Path(os.environ.get("HITSERVER_VAR", ROOT / "var")).resolve() / "demo"
DATA = ROOT / "examples" / "sets.csv"
OUT = ROOT / "demo-output"
USER = "demo"
READY = re.compile(r"HITServer is ready at (http://\S+?)/ ")
START_SECONDS = 60.0
STOP_SECONDS = 20.0


class DemoError(Exception):
    """The demo cannot go on; the message says what to do."""


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/demo", description="From a CSV file to ratings to a report.")
    parser.add_argument("--data", type=Path, default=DATA, help="items as CSV, TSV or JSONL (default: 30 short sets)")
    parser.add_argument("--task", default="abs_hds", help="the task type (default abs_hds)")
    parser.add_argument("--ratings", type=int, default=10, help="ratings wanted per item (default 10)")
    parser.add_argument("--out", type=Path, default=OUT, help="where report and exports go (default demo-output)")
    parser.add_argument("--no-serve", action="store_true", help="end when everything is written")
    parser.add_argument("--port", type=int, default=8000, help="where the server listens (default 8000; 0: any)")
    options = parser.parse_args(given)
    if options.ratings < 1:
        parser.error(f"--ratings is {options.ratings}; it must be at least 1.")
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is {options.port}; it must be from 0 to 65535.")
    if not options.data.is_file():
        parser.error(f"--data names {options.data}, which is no file.")
    return options


@contextmanager
def server(port: int) -> Iterator[subprocess.Popen[str]]:
    """The real server as a child, stopped with the block. Raises DemoError with its words if it does not start."""
    log = VAR / "server.log"
    command = [sys.executable, "-m", "hitserver.supervisor", "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, text=True, start_new_session=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not READY.search(log.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                raise DemoError(f"The server did not start. It said:\n{log.read_text().strip()}")
            time.sleep(0.1)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)


def free_port(wanted: int) -> int:
    """``wanted``, or any where that is 0. Told before anything else is done: a port in use ends the demo."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            mend = "Choose another with --port, or end the program that uses it."
            raise DemoError(f"Cannot listen on port {wanted}: {error.strerror}. {mend}") from None
        port: int = probe.getsockname()[1]
        return port


def make_study(options: argparse.Namespace, *, slug: str, title: str, ratings: int, owner: Any) -> Study:
    """A live study from the data file."""
    from annotation.services import studies
    from annotation.tables import read_table

    with options.data.open("rb") as file:
        table = read_table(file, name=options.data.name)
    values = {
        "title": title,
        "ratings_per_item": ratings,
        "hits_per_worker": None,
        "reward": "0.18",
        "seed": 1,
    }
    config: dict[str, Any] = {}
    study = studies.create_study(
        slug=slug, task_type=options.task, values=values, config=config, texts={}, actor="script/demo", owner=owner
    )
    studies.import_items(study=study, table=table, actor="script/demo")
    studies.publish(study=study, actor="script/demo")
    study.refresh_from_db()
    return study


def rate(study: Study, base_url: str) -> None:
    """Simulated workers until the study is done."""
    from tqdm import tqdm

    from annotation.bots import Mix, simulate_workers

    wanted = study.ratings_per_item * study.hits.count()
    with tqdm(total=wanted, unit=" hits", desc="simulated workers", disable=None) as bar:
        tally = simulate_workers(
            study=study,
            base_url=base_url,
            workers=study.ratings_per_item,
            mix=Mix(),
            seed=study.seed,
            progress=bar.update,
        )
    if tally.problems:
        raise DemoError("Simulated workers could not go on:\n" + "\n".join(tally.problems[:5]))
    sent = f"{counted(tally.workers, 'simulated worker')} sent {counted(tally.submissions, 'submission')}"
    say(f"{sent} in {tally.seconds:.1f} s.")


def write_results(study: Study, out: Path) -> None:
    """Report and exports."""
    from analysis.exports import KINDS, export, file_name
    from analysis.reports import build_report

    out.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    report = build_report(study, out_dir=out)
    say(f"Report in {time.monotonic() - begin:.1f} s: {report}")
    for kind in KINDS:
        for format in ("csv", "jsonl"):
            target = out / file_name(study, kind=kind, format=format)
            with target.open("wb") as file:
                rows = export(study, kind=kind, format=format, out=file)
            say(f"{counted(rows, 'row')}: {target}")


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def start_over() -> Iterator[None]:
    """An empty var folder, for this run alone: emptying it under another run would take away what that one works on."""
    VAR.parent.mkdir(parents=True, exist_ok=True)
    with (VAR.parent / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            mend = "End it with Ctrl-C first, or give this one a folder of its own: HITSERVER_VAR=FOLDER script/demo"
            raise DemoError(f"Another demo is running in {VAR}. {mend}") from None
        shutil.rmtree(VAR, ignore_errors=True)
        VAR.mkdir()
        yield


def demo(options: argparse.Namespace, port: int) -> None:
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from annotation.platforms.link import study_url

    base_url = f"http://127.0.0.1:{port}"
    call_command("migrate", verbosity=0, interactive=False)
    password = secrets.token_urlsafe(9)
    user = User.objects.create_user(USER, password=password)
    study = make_study(options, slug="demo", title="Demo study", ratings=options.ratings, owner=user)
    say(f"Study “{study.title}”: {options.task}, {counted(study.items.count(), 'item')} from {options.data.name}.")
    with server(port) as process:
        rate(study, base_url)
        write_results(study, options.out)
        if options.no_serve:
            return
        trial = make_study(options, slug="try-it", title="Try it yourself", ratings=50, owner=user)
        say("")
        say(f"Console:         {base_url}/  user {USER}, password {password}")
        say(f"A worker's page: {study_url(trial)}")
        say("Ctrl-C ends the server.")
        process.wait()
        raise DemoError(f"The server ended by itself. What it said is in {VAR / 'server.log'}.")


def counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def own_environment(port: int) -> None:
    """What the machine's own server is set up with is none of the demo's business."""
    for name in ("DATABASE_URL", "CELERY_BROKER_URL", "HITSERVER_ALLOWED_HOSTS", "HITSERVER_BIND"):
        os.environ.pop(name, None)
    os.environ |= {
        "HITSERVER_VAR": str(VAR),
        "HITSERVER_ENV": "development",
        "HITSERVER_BASE_URL": f"http://127.0.0.1:{port}",
        "DJANGO_SETTINGS_MODULE": "hitserver.settings",
    }


def interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    options = arguments()
    # A closed terminal or a kill ends the server too, as Ctrl-C does.
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, interrupted)
    try:
        port = free_port(0 if options.no_serve else options.port)
        with start_over():
            own_environment(port)
            django.setup()
            demo(options, port)
    except KeyboardInterrupt:
        say("\nEnded.")
    except Exception as error:
        lines = [str(error)] if isinstance(error, DemoError) else refusal(error)
        if not lines:
            raise
        print("\n".join(["The demo stopped.", *lines]), file=sys.stderr)
        return 1
    return 0


def refusal(error: Exception) -> list[str]:
    """What to tell somebody whose file or task type will not do; nothing when the fault is the program's."""
    if not apps.ready:
        return []
    from analysis.management.study_output import table_problem_lines
    from annotation.services.refusals import Refused
    from annotation.tables import TableProblems
    from annotation.task_types.registry import UnknownTaskType

    if isinstance(error, TableProblems):
        return list(table_problem_lines(error))
    if isinstance(error, OSError):
        return [f"{error.filename or 'A file'}: {error.strerror or error}."]
    return [str(error)] if isinstance(error, (Refused, UnknownTaskType)) else []


if __name__ == "__main__":
    sys.exit(main())
