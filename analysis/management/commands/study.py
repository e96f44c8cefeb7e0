"""Studies from the command line: set up from a file, taken through their states, reported and exported."""

from __future__ import annotations

import csv
import io
import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError

from analysis.management import study_output as output
from annotation.forms import StudyForm
from annotation.models import Study
from annotation.platforms import link
from annotation.queries.progress import progress
from annotation.services import repair
from annotation.services import studies as service
from annotation.services.applying import apply
from annotation.services.checking import default_config, default_values
from annotation.services.refusals import Refused
from annotation.study_files import FileRefused, read_study_file
from annotation.tables import TableProblems
from annotation.task_types.registry import UnknownTaskType, all_types, get_type
from generation.models import GenerationRun

ACTOR = "manage.py study"
KINDS = ("long", "wide", "diversity-eval")
FORMATS = ("csv", "jsonl")
SIMULATED = {"with": None, "without": False, "only": True}


class Command(BaseCommand):
    help = "Set up, run, report and export studies. “manage.py study ACTION --help” says more about each action."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        file = actions.add_parser("apply", help="create or change a study as a study file says")
        file.add_argument("file", type=Path)
        file.add_argument("--dry-run", action="store_true", help="say what would change, write nothing")
        file.add_argument("--owner", metavar="USER", help="the user who owns the study in the console")
        file.add_argument("--progress", action="store_true", help="draw a progress bar even into a file")
        for name, told in SIMPLE.items():
            actions.add_parser(name, help=told).add_argument("slug")
        from_run = actions.add_parser("import-run", help="make the samples of a generation run the items of a draft")
        from_run.add_argument("slug")
        from_run.add_argument("run", help="a run's name, see: manage.py generate status")
        from_run.add_argument("--set-size", type=int, metavar="N", help="responses in a set (default: all, at most 10)")
        from_run.add_argument("--domain", default="", help="of detection items whose context names none")
        status = actions.add_parser("status", help="how far a study is; without SLUG, all studies")
        status.add_argument("slug", nargs="?", default="", help="without it, all studies are listed")
        status.add_argument("--json", action="store_true")
        report = actions.add_parser("report", help="write report.html and report.json")
        report.add_argument("slug")
        report.add_argument("--out", type=Path, metavar="DIR", help="folder to write into (default: report-SLUG)")
        export = actions.add_parser("export", help="write the data")
        export.add_argument("slug")
        export.add_argument("--kind", choices=KINDS, default="long", help="one row per rating, or per item")
        export.add_argument("--format", choices=FORMATS, default="csv")
        export.add_argument("--out", default="-", metavar="FILE", help="file to write (default: standard output)")
        export.add_argument(
            "--simulated", choices=tuple(SIMULATED), default="with", help="ratings of simulated workers"
        )
        export.add_argument("--worker-ids", action="store_true", help="add who workers are on their platform")
        links = actions.add_parser("links", help="personal links as CSV, for the names in a file")
        links.add_argument("slug")
        links.add_argument("--names", required=True, metavar="FILE", help="one name a line; - reads standard input")
        keys = actions.add_parser("keys", help="what a study file may say, for one task type")
        keys.add_argument("task_type", nargs="?", default="")
        rebuild = actions.add_parser("rebuild-ratings", help="derive all ratings anew from what workers sent")
        rebuild.add_argument("slug")
        rebuild.add_argument("--progress", action="store_true")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        act: Callable[..., None] = getattr(self, action.replace("-", "_"))
        with told_plainly(self):
            if options.get("slug"):
                options["study"] = self.study(options.pop("slug"))
            act(**options)

    def study(self, slug: str) -> Study:
        found = Study.objects.filter(slug=slug).first()
        if found is None:
            known = Study.objects.order_by("slug").values_list("slug", flat=True)
            others = f" Studies: {', '.join(known[:20])}." if known else " There are no studies yet."
            raise CommandError(f"There is no study “{slug}”.{others}")
        return found

    def say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    def complain(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stderr.write(line, self.style.NOTICE)

    # --- the actions ---

    def apply(self, *, file: Path, dry_run: bool, owner: str | None, progress: bool, **_: Any) -> None:
        user = None
        if owner is not None:
            user = User.objects.filter(username=owner, is_active=True).first()
            if user is None:
                raise CommandError(f"There is no user “{owner}”. Make one: manage.py createsuperuser")
        read = read_study_file(file)
        with bar(progress, "items") as step:
            applied = apply(read, owner=user, dry_run=dry_run, progress=step)
        self.say(output.applied_lines(read.slug, applied, dry_run=dry_run))
        if not dry_run and applied.study is not None:
            self.say(output.next_steps(applied.study))
        if applied.created and user is None and not dry_run:
            self.say(["The study has no owner: only administrators see it in the console (--owner USER)."])

    def publish(self, *, study: Study, **_: Any) -> None:
        was_live = study.status == Study.Status.LIVE
        service.publish(study=study, actor=ACTOR)
        study.refresh_from_db()
        self.say([f"{study.slug} is live{' already' if was_live else ''}: {study.hits.count():,} hits."])
        self.say(output.next_steps(study))

    def pause(self, *, study: Study, **_: Any) -> None:
        service.pause_study(study=study, actor=ACTOR)
        self.say([f"{study.slug} is paused: nobody is given new work, hits in progress can be finished."])

    def resume(self, *, study: Study, **_: Any) -> None:
        service.resume_study(study=study, actor=ACTOR)
        self.say([f"{study.slug} is live."])

    def close(self, *, study: Study, **_: Any) -> None:
        service.close_study(study=study, actor=ACTOR)
        self.say([f"{study.slug} is closed."])

    def delete(self, *, study: Study, **_: Any) -> None:
        n_items = study.items.count()
        service.delete_draft(study=study, actor=ACTOR)
        self.say([f"The draft {study.slug} and its {n_items:,} items are deleted."])

    def recount(self, *, study: Study, **_: Any) -> None:
        wrong = repair.recount(study=study, actor=ACTOR)
        self.say([f"{wrong:,} of {study.hits.count():,} hits had a wrong count{'; mended' if wrong else ''}."])

    def rebuild_ratings(self, *, study: Study, progress: bool, **_: Any) -> None:
        with bar(progress, "submissions", total=study.submissions.count()) as step:
            seen, changed = repair.rebuild_ratings(study=study, actor=ACTOR, progress=step)
        self.say([f"{seen:,} submissions read again, the ratings of {changed:,} changed."])

    def import_run(self, *, study: Study, run: str, set_size: int | None, domain: str, **_: Any) -> None:
        from annotation.services.from_run import items_from_run

        found = GenerationRun.objects.filter(name=run).first()
        if found is None:
            raise CommandError(f"There is no run “{run}”. See: manage.py generate status")
        done = items_from_run(study=study, run=found, actor=ACTOR, set_size=set_size, domain=domain)
        left_out = f" {done.left_out:,} samples are in none of them." if done.left_out else ""
        self.say([f"{study.slug}: {done.items:,} items from the run {found.name}.{left_out}"])

    def status(self, *, json: bool, study: Study | None = None, **_: Any) -> None:
        if study is None:
            self.say(output.study_lines(Study.objects.order_by("slug")))
            return
        found = progress(study)
        if json:
            self.say([as_json({"slug": study.slug, "status": study.status} | found.as_json())])
        else:
            self.say(output.status_lines(study, get_type(study.task_type).title, found))

    def links(self, *, study: Study, names: str, **_: Any) -> None:
        text = sys.stdin.read() if names == "-" else read_text(Path(names))
        self.stdout.write(links_csv(link.personal_links(study, text.splitlines())), ending="")

    def keys(self, *, task_type: str, **_: Any) -> None:
        if not task_type:
            self.say(f"{name}: {task.title}. {task.summary}" for name, task in all_types().items())
            return
        task = get_type(task_type)
        self.say(output.key_lines(StudyForm().fields, default_values(), ""))
        self.say([f"task_type: {task.name}", "items: path of a file with items, relative to the study file", "config:"])
        config = default_config(task)
        self.say(output.key_lines(task.config_form.base_fields, config, "  "))
        self.say(["texts:", *(f"  {name}: text" for name in task.default_texts(config))])

    def report(self, *, study: Study, out: Path | None, **_: Any) -> None:
        from analysis.reports import build_report

        page = build_report(study, out_dir=out or Path(f"report-{study.slug}"))
        self.say([f"The report is in {page}"])

    def export(
        self, *, study: Study, kind: str, format: str, out: str, simulated: str, worker_ids: bool, **_: Any
    ) -> None:
        from analysis.exports import ExportError, export

        chosen: dict[str, Any] = {
            "kind": kind,
            "format": format,
            "simulated": SIMULATED[simulated],
            "with_worker_ids": worker_ids,
        }
        try:
            if out == "-":
                export(study, out=binary(self.stdout), **chosen)
                return
            with replaced(Path(out)) as file:
                count = export(study, out=file, **chosen)
        except ExportError as error:
            raise CommandError(str(error)) from None
        self.say([f"{out}: {count:,} rows"])


#: Actions that take a study and nothing else.
SIMPLE = {
    "publish": "go live: plan the hits and open the study link",
    "pause": "give out no new work for now",
    "resume": "give out work again",
    "close": "end a study; its data stay",
    "delete": "delete a draft",
    "recount": "set the hits' counters from the assignments",
}


def as_json(figures: dict[str, Any]) -> str:
    return json.dumps(figures, indent=2)


def links_csv(links: Iterable[tuple[str, str]]) -> str:
    from analysis.exports.cells import protect_cell

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "link"])
    writer.writerows((protect_cell(name), address) for name, address in links)
    return out.getvalue()


def binary(stdout: OutputWrapper) -> BinaryIO:
    """Standard output as bytes; what a test or another program put in its place may only take text."""
    buffer: BinaryIO | None = getattr(stdout, "buffer", None)
    return buffer or cast("BinaryIO", _TextOut(stdout))


class _TextOut:
    def __init__(self, stdout: OutputWrapper) -> None:
        self.stdout = stdout

    def write(self, data: bytes) -> int:
        self.stdout.write(data.decode(), ending="")
        return len(data)


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file that stands under its name only once it is whole."""
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent}.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8. Save it as UTF-8.") from None


@contextmanager
def bar(wanted: bool, unit: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Counts on standard error while somebody is looking there, or when ``wanted``."""
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}", disable=not (wanted or sys.stderr.isatty())) as drawn:

        def step(count: int) -> None:
            drawn.update(count)

        yield step


@contextmanager
def told_plainly(command: Command) -> Iterator[None]:
    """Turns what the services refuse into lines that somebody can act on."""
    try:
        yield
    except FileRefused as refused:
        command.complain(output.problem_lines(refused.problems, refused))
        raise CommandError("The study file is not right; nothing was written.") from None
    except TableProblems as refused:
        command.complain(output.table_problem_lines(refused))
        raise CommandError(f"The items file has {counted(refused.total)}; nothing was written.") from None
    except Refused as refused:
        command.complain(output.problem_lines(refused.problems))
        raise CommandError(f"{REASON.get(type(refused), 'Not possible')}; nothing was written.") from None
    except UnknownTaskType as error:
        raise CommandError(str(error)) from None
    except DatabaseError as error:
        raise CommandError(database_said(error)) from None
    except OSError as error:
        raise CommandError(f"{error.filename or 'A file'}: {error.strerror or error}.") from None


REASON: dict[type[Refused], str] = {
    service.Frozen: "The study has left draft and cannot change so",
    service.Invalid: "Not possible",
}


def database_said(error: DatabaseError) -> str:
    what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "no such table" in what or "does not exist" in what:
        return f"The database is not set up ({what}). Run: manage.py migrate"
    mend = "Free some space, or wait for the program that holds it; then do it again."
    return f"The database refused: {what}. Nothing was half written. {mend}"


def counted(total: int) -> str:
    return f"{total:,} problem{'s' if total != 1 else ''}"
