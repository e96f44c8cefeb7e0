"""The main job on real input, from a CSV file to a report: what ``script/demo`` runs.

It makes a study from the file, lets simulated workers do it through the real pages, and writes the report and exports.
If they wrote texts that another type can judge, it makes a second study from these and has it rated too. With
``--platform marketplace``, workers come from the server's own marketplace (`hitserver.demo_marketplace`). Then the
server stays up with a new study to try by hand. All this happens in a separate var folder, which each run empties
first.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import django
import yaml
from django.apps import apps

from common.words import counted
from hitserver.demo_marketplace import (
    PLATFORM,
    CommandFailed,
    Lab,
    OffTrack,
    marketplace_addresses,
    work_on_marketplace,
)
from hitserver.demo_steps import Steps, say
from hitserver.demo_suggesters import choose_live_model, make_suggesters, model_found, sources_shown, wait_for_model
from hitserver.private import private_folder

if TYPE_CHECKING:
    from annotation.models import Study

ROOT = Path(__file__).resolve().parent.parent
#: Inside the folder in the settings, but never that folder itself: the demo empties it.
VAR = Path(os.environ.get("HITSERVER_VAR", ROOT / "var")).resolve() / "demo"
EXAMPLES = ROOT / "examples"
DATA = EXAMPLES / "sets.csv"
OUT = ROOT / "demo-output"
USER = "demo"
ACTOR = "script/demo"
READY = re.compile(r"HITServer is ready at (http://\S+?)/ ")
#: Ratings per item, and submissions per item for a type whose outputs are judged afterwards.
JUDGED, WRITTEN = 10, 2
START_SECONDS = 60.0
STOP_SECONDS = 20.0


class DemoError(Exception):
    """The demo cannot continue. The message contains what to do."""


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/demo", description="From a CSV file to ratings to a report.")
    parser.add_argument("--data", type=Path, help="items as CSV, TSV or JSONL (default: those of the type's example)")
    parser.add_argument("--task", default="abs_hds", help="the task type (default abs_hds)")
    parser.add_argument(
        "--ratings", type=int, help=f"ratings wanted per item (default {JUDGED}; {WRITTEN} where workers write texts)"
    )
    parser.add_argument(
        "--platform",
        choices=("link", "marketplace"),
        default="link",
        help="where workers find the study: at its link (default), or as HITs on this server's own marketplace",
    )
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the report and exports (default demo-output)")
    parser.add_argument("--no-serve", action="store_true", help="stop after writing the report and exports")
    # What script/demo measures before this program starts.
    parser.add_argument("--setup-seconds", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=8000, help="port of the server (default 8000; 0: any free port)")
    options = parser.parse_args(argv)
    options.data = options.data or example_data(options.task)
    if options.ratings is not None and options.ratings < 1:
        parser.error(f"--ratings is {options.ratings}; it must be at least 1.")
    if not 0 <= options.port <= 65535:
        parser.error(f"--port is {options.port}; it must be from 0 to 65535.")
    if not options.data.is_file():
        parser.error(f"--data names {options.data}, which is not a file.")
    return options


def example_data(task: str) -> Path:
    """The items of the type's example study file; 30 short sets if it has none."""
    files = [file for file in (EXAMPLES / f"{task}.yaml", EXAMPLES / task / "one.yaml") if file.is_file()]
    items = yaml.safe_load(files[0].read_text("utf-8")).get("items") if files else None
    return files[0].parent / items if isinstance(items, str) else DATA


@contextmanager
def server(port: int) -> Iterator[subprocess.Popen[str]]:
    """The real server as a child, stopped with the block. Raises DemoError with its output if it does not start."""
    log = VAR / "server.log"
    command = [sys.executable, "-m", "hitserver.supervisor", "--port", str(port)]
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, text=True, start_new_session=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not READY.search(log.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                raise DemoError(f"The server did not start. Its log:\n{log.read_text().strip()}")
            time.sleep(0.1)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)


def free_port(port: int) -> int:
    """``port``, or any free port if that is 0. Raises DemoError if the port is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            fix = "Choose another with --port, or stop the program that uses it."
            raise DemoError(f"Cannot listen on port {port}: {error.strerror}. {fix}") from None
        return int(probe.getsockname()[1])


def make_study(
    options: argparse.Namespace, *, slug: str, title: str, ratings: int, owner: Any, live: bool = True
) -> Study:
    """A study from the data file."""
    from annotation.studies import importing_items
    from annotation.studies import launching as planning
    from annotation.table_files import read_table

    with options.data.open("rb") as file:
        table = read_table(file, name=options.data.name)
    study = draft(options.task, slug=slug, title=title, ratings=ratings, owner=owner, rows=len(table.rows))
    importing_items.import_items(study=study, table=table, actor=ACTOR)
    if live:
        planning.publish(study=study, actor=ACTOR)
    return study


def make_judging(source: Study, *, ratings: int, owner: Any) -> Study | None:
    """A live study that judges the outputs of ``source``; None if it made nothing that a type can judge."""
    from annotation.studies import launching as planning
    from annotation.studies import outputs
    from annotation.task_types.registry import all_types

    kinds = set(source.outputs.values_list("kind", flat=True))
    types = [(name, task) for name, task in all_types().items() if not task.draws_outputs]
    judge = next((name for name, task in types if kinds & set(task.takes_outputs)), None)
    if judge is None:
        return None
    study = draft(judge, slug=f"{source.slug}-judged", title=f"{source.title}: judged", ratings=ratings, owner=owner)
    outputs.set_feed(study=study, source=source, actor=ACTOR)
    planning.publish(study=study, actor=ACTOR)
    return study


def draft(task: str, *, slug: str, title: str, ratings: int, owner: Any, rows: int | None = None) -> Study:
    """A draft with the hits of the published study, but no larger than a file of ``rows`` allows."""
    from annotation.studies import storing
    from annotation.studies.spec import StudySpec
    from annotation.task_types.registry import get_type

    kind = get_type(task)
    for line in filter(None, (choose_live_model(kind), *make_suggesters(kind))):
        say(line)
    values = {
        "slug": slug,
        "title": title,
        "ratings_per_item": ratings,
        "items_per_hit": min(kind.suggested.items_per_hit, rows or kind.suggested.items_per_hit),
        "hits_per_worker": None,
        "reward": "0" if kind.for_members else "0.18",
        "seed": 1,
    }
    return storing.create_study(spec=StudySpec(task, values), actor=ACTOR, owner=owner)


def rate(study: Study, base_url: str, steps: Steps) -> None:
    """Runs simulated workers until the study is done. Raises DemoError if they cannot continue.

    They come in groups of as many as an item wants ratings. Who has had an item does not get it in another hit, so a
    study whose hits share items can need several groups.
    """
    from django.db.models import F
    from tqdm import tqdm

    from annotation.work.bots import Mix, simulate_workers
    from annotation.work.direct_bots import can_answer_directly, simulate_directly

    simulate: Callable[..., Any] = simulate_directly
    if not can_answer_directly(study):
        simulate = partial(simulate_workers, base_url=base_url)
    if ready := wait_for_model(study):
        steps.done(ready)
    with tqdm(
        total=sum(study.hits.values_list("wanted", flat=True)), unit=" hits", desc="simulated workers", disable=None
    ) as bar:
        workers, submissions = 0, 0
        while study.hits.filter(n_live__lt=F("wanted")).exists():
            tally = simulate(
                study=study,
                workers=study.ratings_per_item,
                first=workers,
                mix=Mix(),
                seed=study.seed,
                progress=bar.update,
            )
            if tally.problems:
                raise DemoError("Simulated workers could not continue:\n" + "\n".join(tally.problems[:5]))
            workers, submissions = workers + study.ratings_per_item, submissions + tally.submissions
            if not tally.submissions:
                free = sum(study.hits.values_list(F("wanted") - F("n_live"), flat=True))
                say(f"{counted(free, 'place')} stayed free: new workers got no hit.")
                break
    steps.done(f"{counted(workers, 'simulated worker')} sent {counted(submissions, 'submission')}.")
    if shown := sources_shown(study):
        say(shown)


def rate_on_marketplace(study: Study, lab: Lab, base_url: str, steps: Steps) -> None:
    """Publishes the study as HITs, lets simulated workers do them, then syncs, approves and pays. Raises DemoError."""
    from tqdm import tqdm

    from annotation.work.bots import BotError

    # A HIT split into parts of at most nine assignments would be offered again to a worker who did one part, and that
    # worker would have to return it.
    lab.study("publish", study.slug, "--platform", PLATFORM, "--set", "split=", "--yes")
    total = sum(study.hits.values_list("wanted", flat=True))
    steps.done("The study is published as HITs.")
    try:
        with tqdm(total=total, unit=" hits", desc="simulated workers", disable=None) as bar:
            workers, assignments = work_on_marketplace(
                study, base_url, workers=study.ratings_per_item, seed=study.seed, progress=bar.update
            )
    except (OffTrack, BotError, OSError) as error:
        raise DemoError(f"Simulated workers could not continue:\n{error}") from None
    steps.done(
        f"{counted(workers, 'simulated worker')} accepted, answered and submitted "
        f"{counted(assignments, 'HIT assignment')}."
    )
    for action in ("sync", "approve", "end"):
        lab.study(action, study.slug)
    for line in lab.book_lines(study):
        say(line)
    steps.done("The work is approved and paid.")


def write_results(study: Study, out: Path, steps: Steps) -> None:
    """Writes the report and the exports."""
    from analysis.report import write_report
    from annotation.results.exports import FORMATS_OF, export, file_name, kinds_of
    from annotation.results.frames import study_data

    out.mkdir(parents=True, exist_ok=True)
    report = write_report(study_data(study), out_dir=out)
    steps.done(f"Report: {report}")
    for kind in kinds_of(study):
        for format in FORMATS_OF[kind]:
            target = out / file_name(study, kind=kind, format=format)
            with target.open("wb") as file:
                rows = export(study, kind=kind, format=format, out=file)
            say(f"{counted(rows, 'row')}: {target}")
    steps.done("The exports are written.")


@contextmanager
def start_over() -> Iterator[None]:
    """An empty var folder for this run. Raises DemoError if another demo is running, whose files that would delete."""
    VAR.parent.mkdir(parents=True, exist_ok=True)
    private_folder(VAR.parent)
    with (VAR.parent / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fix = "Stop it with Ctrl-C first, or give this one another folder: HITSERVER_VAR=FOLDER script/demo"
            raise DemoError(f"Another demo is running in {VAR}. {fix}") from None
        shutil.rmtree(VAR, ignore_errors=True)
        VAR.mkdir()
        yield


def demo(options: argparse.Namespace, port: int, steps: Steps) -> None:
    from django.core.management import call_command

    from accounts.users import create_researcher
    from annotation.platforms.link import study_url
    from annotation.task_types.registry import get_type

    base_url = f"http://127.0.0.1:{port}"
    task = get_type(options.task)  # a wrong name is reported before the tables are made, which takes seconds
    steps.done("The program is loaded.")
    call_command("migrate", verbosity=0, interactive=False)
    steps.done("The database is ready.")
    password = secrets.token_urlsafe(9)
    user = create_researcher(username=USER, password=password, actor=ACTOR)
    ratings = options.ratings or (WRITTEN if task.output_kinds else JUDGED)
    market = options.platform == "marketplace"
    study = make_study(options, slug="demo", title="Demo study", ratings=ratings, owner=user, live=not market)
    steps.done(f"Study “{study.title}”: {task.title}, {counted(study.items.count(), 'item')} from {options.data.name}.")
    if line := model_found(study):
        steps.done(line)
    with server(port) as process:
        steps.done("The server is running.")
        lab = Lab.founded(say=say) if market else None
        if lab:
            rate_on_marketplace(study, lab, base_url, steps)
        else:
            rate(study, base_url, steps)
        write_results(study, options.out, steps)
        if judging := make_judging(study, ratings=options.ratings or JUDGED, owner=user):
            items = counted(judging.items.count(), "item")
            what = get_type(judging.task_type).title
            steps.done(f"Study “{judging.title}”: {what}, {items} from the texts just written.")
            rate(judging, base_url, steps)
            write_results(judging, options.out / "judged", steps)
        if options.no_serve:
            steps.ready()
            return
        trial = make_study(options, slug="try-it", title="Try it yourself", ratings=50, owner=user, live=not market)
        if lab:
            lab.study("publish", trial.slug, "--platform", PLATFORM)
        steps.done(f"Study “{trial.title}”.")
        steps.ready()
        say("")
        say(f"Console:         {base_url}/  user {USER}, password {password}")
        for line in marketplace_addresses(USER, base_url) if market else [f"A worker's page: {study_url(trial)}"]:
            say(line)
        say("Press Ctrl-C to stop the server.")
        process.wait()
        raise DemoError(f"The server ended unexpectedly. Its log is {VAR / 'server.log'}.")


def use_separate_environment(port: int) -> None:
    """Makes the demo ignore the settings of the machine's own server."""
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
    # A closed terminal or a kill also ends the server, as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        steps = Steps(before=options.setup_seconds or 0.0)
        if options.setup_seconds is not None:
            steps.done("The packages are installed.", seconds=options.setup_seconds)
        port = free_port(0 if options.no_serve else options.port)
        with start_over():
            use_separate_environment(port)
            django.setup()
            demo(options, port, steps)
    except KeyboardInterrupt:
        say("\nEnded.")
    except Exception as error:
        lines = [str(error)] if isinstance(error, DemoError | CommandFailed | OffTrack) else refusal(error)
        if not lines:
            raise
        print("\n".join(["The demo stopped.", *lines]), file=sys.stderr)
        return 1
    return 0


def refusal(error: Exception) -> list[str]:
    """The lines to print about a file or task type that cannot be used; empty for an error in the program."""
    if not apps.ready:
        return []
    from annotation.management.study_output import table_problem_lines
    from annotation.table_files import TableProblems
    from annotation.task_types.registry import UnknownTaskType
    from common.problems import Refused

    if isinstance(error, TableProblems):
        return list(table_problem_lines(error))
    if isinstance(error, OSError):
        return [f"{error.filename or 'A file'}: {error.strerror or error}."]
    return [str(error)] if isinstance(error, (Refused, UnknownTaskType)) else []


if __name__ == "__main__":
    sys.exit(main())
