"""Language models and generation runs from the command line."""

from __future__ import annotations

import io
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.utils.module_loading import import_string

from generation.backends.base import BackendError
from generation.exporting import FORMATS, wanted_of, write_run
from generation.management import generate_output as output
from generation.models import GenerationRun, LanguageModel
from generation.problems import Invalid
from generation.queries.runs import Progress, find_run, progress, runs_with_counts
from generation.requirements import why_not
from generation.run_files import read_run_file
from generation.services import models as registry
from generation.services import presence, runs
from generation.services.reproducing import reproduce_sample
from generation.services.work import is_active, work_on
from generation.tasks import send_check

ACTOR = "manage.py generate"
WATCH_SECONDS = 2.0
JSON_LINES = (".jsonl", ".ndjson")


class Command(BaseCommand):
    help = "Language models and generation runs. “manage.py generate ACTION --help” says more about each action."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        _add_model_actions(actions)
        _add_run_actions(actions)

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        act: Callable[..., None] = getattr(self, f"do_{action}")
        with told_plainly(self):
            act(**options)

    def say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    # --- models ---

    def do_register(self, *, name: str, embedded: bool, options: list[str], check: bool, **values: Any) -> None:
        if embedded:
            model = registry.ensure_embedded_model(backend=values["backend"] or "transformers")
        else:
            if not name or not values["backend"] or not values["source"]:
                raise CommandError("A model needs a name, --backend and --source; or say --embedded.")
            fields = ("backend", "source", "revision", "dtype", "device", "base_url", "key_variable", "chat")
            given = {field: values[field] for field in fields}
            model = registry.register_model(name=name, options=_options(options), **given)
        self.say([f"{model.name} is registered."])
        if not check:
            return
        if lacking := why_not(model.backend):
            sent = send_check(model.pk)
            self.say([lacking, "A worker that can will check it." if sent else "The task queue does not answer."])
            return
        self._check(model)

    def do_check(self, *, name: str, **_: Any) -> None:
        self._check(registry.find_model(name))

    def _check(self, model: LanguageModel) -> None:
        checked = registry.check_model(model_id=model.pk)
        if checked.check_state != LanguageModel.Check.PASSED:
            raise CommandError("\n".join(output.check_lines(checked)))
        self.say(output.check_lines(checked))

    def do_models(self, **_: Any) -> None:
        self.say(output.model_lines(list(LanguageModel.objects.order_by("retired", "name"))))

    def do_retire(self, *, name: str, undo: bool, **_: Any) -> None:
        model = registry.find_model(name)
        registry.retire_model(model_id=model.pk, retired=not undo)
        self.say([f"{name} can be used again." if undo else f"{name} is retired: no new run uses it."])

    # --- runs ---

    def do_apply(self, *, file: Path, wait: bool, here: bool, **_: Any) -> None:
        read = read_run_file(file)
        run, created = runs.create_run(file=read, actor=ACTOR)
        self.say(output.created_lines(run, created))
        if here:
            self._work_here(run)
        elif run.state in (GenerationRun.State.WAITING, GenerationRun.State.RUNNING):
            runs.start_run(run_id=run.pk)
        if wait and not here:
            self._watch(run)
        if wait or here:
            self._tell_end(run)
        elif created:
            self.say([f"Next: manage.py generate status {run.name} --watch"])

    def _work_here(self, run: GenerationRun) -> None:
        """Makes the run's chunks in this process, beside whatever workers there are, until the run has ended."""
        here = presence.present()
        try:
            with here.working(f"run {run.pk}"), _drawn(run) as draw:
                while is_active(run.pk):
                    work_on(run_id=run.pk, worker=here.name, on_model=here.loaded, on_chunk=draw)
                    if is_active(run.pk):  # the rest is others', or is tried again after a pause
                        time.sleep(0.5)
                    draw()
        except KeyboardInterrupt:
            raise CommandError("Stopped; what was stored stays. The same command goes on with it.") from None
        finally:
            presence.leave()

    def _watch(self, run: GenerationRun) -> None:
        """Prints the progress as it changes, until the run has ended."""
        last = ""
        while True:
            found = progress(run)
            line = f"{output.progress_line(found)}. {found.note}".rstrip(". ")
            if line != last:
                self.say([line])
            last = line
            if found.ended:
                return
            time.sleep(WATCH_SECONDS)

    def _tell_end(self, run: GenerationRun) -> None:
        """The status of a run that has ended; one that is not done ends the command with 1."""
        self.say(output.status_lines(run, progress(run)))
        if run.state != GenerationRun.State.DONE:
            raise CommandError(output.ended_line(run))

    def do_status(self, *, name: str, watch: bool, as_json: bool, **_: Any) -> None:
        if not name:
            self.say(output.run_lines(runs_with_counts()))
            return
        run = find_run(name)
        if watch:
            self._watch(run)
        found = progress(run)
        if as_json:
            self.say([json.dumps({"run": run.name} | found.as_json(), indent=2)])
        else:
            self.say(output.status_lines(run, found))

    def do_cancel(self, *, name: str, **_: Any) -> None:
        run = runs.cancel_run(run_id=find_run(name).pk)
        self.say([f"{run.name} is cancelled; what it has made stays. “generate resume {run.name}” goes on with it."])

    def do_resume(self, *, name: str, here: bool, **_: Any) -> None:
        run = runs.resume_run(run_id=find_run(name).pk, wake_workers=not here)
        self.say([f"{run.name} goes on."])
        if here:
            self._work_here(run)
            self._tell_end(run)

    def do_export(self, *, name: str, format: str, out: str, set_size: int | None, domain: str, **_: Any) -> None:
        run = find_run(name)
        wanted = wanted_of(run, set_size=set_size, domain=domain)
        guard = import_string(settings.SPREADSHEET_GUARD)
        lines = Path(out).suffix.lower() in JSON_LINES
        with _opened(out, self.stdout) as file:
            written = write_run(run, file, format=format, wanted=wanted, json_lines=lines, guard=guard)
        left_out = f", {output.counted(written.left_out, 'sample')} in none of them" if written.left_out else ""
        told = self.stderr if out == "-" else self.stdout
        told.write(f"{out}: {output.counted(written.rows, 'row')}{left_out}")

    def do_reproduce(self, *, name: str, sample: int, **_: Any) -> None:
        made = reproduce_sample(run_id=find_run(name).pk, sample_id=sample)
        self.say(output.reproduction_lines(made.sample, made.text, made.same_tokens, made.here, made.then))
        if made.text != made.sample.text:
            raise CommandError("The sample was not reproduced.")


def _add_model_actions(actions: Any) -> None:
    register = actions.add_parser("register", help="make a model known under a name, and check that it works")
    register.add_argument("name", nargs="?", default="", help="what runs and suggesters call it by")
    register.add_argument("--embedded", action="store_true", help="the model that comes with the requirements")
    register.add_argument("--backend", default="", help="transformers, llama_cpp or openai")
    register.add_argument("--source", default="", help="a hub name, a folder, a GGUF file, or a server's name for it")
    register.add_argument("--revision", default="", help="of a hub model: branch, tag or commit")
    register.add_argument("--dtype", default="auto", help=", ".join(registry.DTYPES))
    register.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    register.add_argument("--base-url", default="", help="address of a server, such as http://127.0.0.1:8000/v1")
    register.add_argument("--key-variable", default="", metavar="NAME", help="environment variable with its key")
    register.add_argument("--chat", action="store_true", help="wrap prompts as a user's turn of a chat")
    register.add_argument("--option", action="append", default=[], dest="options", metavar="NAME=VALUE",
                          help="of the backend; VALUE is JSON or text; may be given several times")  # fmt: skip
    register.add_argument("--no-check", action="store_false", dest="check", help="do not load the model now")
    actions.add_parser("check", help="load a model in this process and measure it").add_argument("name")
    actions.add_parser("models", help="list the models")
    retire = actions.add_parser("retire", help="keep new runs from using a model; what it made stays")
    retire.add_argument("name")
    retire.add_argument("--undo", action="store_true", help="let it be used again")


def _add_run_actions(actions: Any) -> None:
    apply = actions.add_parser("apply", help="make the run that a run file describes, and start it")
    apply.add_argument("file", type=Path)
    apply.add_argument("--wait", action="store_true", help="show the progress until the run has ended")
    apply.add_argument("--here", action="store_true", help="generate in this process, without the task queue")
    status = actions.add_parser("status", help="how far a run is; without NAME, all runs")
    status.add_argument("name", nargs="?", default="")
    status.add_argument("--watch", action="store_true", help="show the progress until the run has ended")
    status.add_argument("--json", action="store_true", dest="as_json")
    actions.add_parser("cancel", help="stop a run; what it has made stays").add_argument("name")
    resume = actions.add_parser("resume", help="go on with a failed or cancelled run")
    resume.add_argument("name")
    resume.add_argument("--here", action="store_true", help="in this process, without the task queue")
    export = actions.add_parser("export", help="write the samples")
    export.add_argument("name")
    kinds = "; ".join(f"{name}: {kind.summary}" for name, kind in FORMATS.items())
    export.add_argument("--format", choices=tuple(FORMATS), default="samples", help=kinds)
    export.add_argument(
        "-o", "--out", default="-", metavar="FILE", help="a .csv or .jsonl file (default: to standard output)"
    )
    export.add_argument(
        "--set-size", type=int, metavar="N", help="diversity: texts of a set (default: all, at most 10)"
    )
    export.add_argument("--domain", default="", help="detection: of items whose context has no field domain")
    reproduce = actions.add_parser("reproduce", help="draw one sample again from its seed and compare")
    reproduce.add_argument("name")
    reproduce.add_argument("--sample", type=int, required=True, metavar="ID", help="column “sample” of an export")


def _options(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs, a value being JSON where it is any and text otherwise."""
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--option {each}: write NAME=VALUE.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


@contextmanager
def _drawn(run: GenerationRun) -> Iterator[Callable[[], None]]:
    """A bar of the run's samples on standard error while somebody is looking there; call it to draw it anew."""
    from tqdm import tqdm

    with tqdm(total=run.n_wanted, unit=" samples", disable=not sys.stderr.isatty()) as bar:

        def draw() -> None:
            found: Progress = progress(run)
            bar.update(found.n_done - bar.n)

        if not bar.disable:
            draw()
        yield draw if not bar.disable else lambda: None


@contextmanager
def _opened(name: str, stdout: Any) -> Iterator[TextIO]:
    """Standard output for “-”, else a file that stands under its name only once it is whole."""
    if name == "-":
        yield cast("TextIO", _Plain(stdout))
        return
    path = Path(name)
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file in it.")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("x", encoding="utf-8", newline="") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


class _Plain(io.TextIOBase):
    """Standard output without the line end that a command's output gets added."""

    def __init__(self, stdout: Any) -> None:
        self._stdout = stdout

    def write(self, text: str) -> int:
        self._stdout.write(text, ending="")
        return len(text)


@contextmanager
def told_plainly(command: Command) -> Iterator[None]:
    """Turns what is refused into lines that somebody can act on."""
    try:
        yield
    except Invalid as refused:
        for line in output.problem_lines(refused.problems):
            command.stderr.write(line, command.style.NOTICE)
        raise CommandError(f"{output.counted(len(refused.problems), 'problem')}; nothing was written.") from None
    except BackendError as error:
        raise CommandError(str(error)) from None
    except DatabaseError as error:
        raise CommandError(output.database_line(error)) from None
    except BrokenPipeError:  # whoever read the output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise CommandError(f"{error.filename or 'A file'}: {error.strerror or error}.") from None
