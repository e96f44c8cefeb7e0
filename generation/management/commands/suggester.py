"""Live suggestions from the command line: the process that writes them, suggesters, their pools."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connections
from django.utils import timezone

from common.commands import ActionCommand, AddAction
from common.problems import invalid
from common.words import counted
from generation.backends import open_backend
from generation.backends.base import BackendError
from generation.backends.requirements import NONE_HERE, runnable
from generation.management import suggester_output as output
from generation.models import PoolText, Suggester
from generation.registry.registration import find_model
from generation.runs.progress import find_run
from generation.suggestions import monitoring, pool_filling
from generation.suggestions.asking import ask_suggesters, cancel_suggestions, read_suggestions
from generation.suggestions.definitions import DEFAULT_LIMITS, change_suggester, create_suggester, find_suggester
from generation.suggestions.reproducing_suggestions import reproduce_suggestion
from generation.suggestions.suggester_process import DEFAULT_ROWS, SuggesterProcess
from generation.suggestions.weights import accept_weights

MOST_ROWS = 4096
POLL_SECONDS = 0.1
LOADING_SECONDS = 1800.0


class Command(ActionCommand):
    # A process that runs for a long time does not need every page of the server in memory.
    requires_system_checks = []
    help = "Live suggestions. “manage.py suggester ACTION --help” shows more about each action."

    def add_actions(self, add: AddAction) -> None:
        run = add("run", "hold the models and write suggestions, until SIGTERM or Ctrl-C", self.run_process)
        run.add_argument(
            "--model", action="append", default=[], dest="models", metavar="NAME",
            help="hold this model; can be repeated (default: all that active suggesters use)",
        )  # fmt: skip
        run.add_argument(
            "--rows", type=int, default=DEFAULT_ROWS, help="most texts in one batch (default: %(default)s)"
        )
        new = add("add", "make a suggester: a model with its decoder and rules", self.add_suggester)
        new.add_argument("name")
        new.add_argument("--model", required=True, help="a registered model, see: manage.py generate models")
        _add_values(new)
        change = add("change", "change a suggester's rules; only the options given change", self.change)
        change.add_argument("name")
        change.add_argument("--model", default="")
        _add_values(change)
        state = change.add_mutually_exclusive_group()
        state.add_argument("--activate", dest="active", action=Value, nargs=0, const=True)
        state.add_argument("--deactivate", dest="active", action=Value, nargs=0, const=False)
        accept = add("accept", "accept the new files of a suggester's model", self.accept)
        accept.add_argument("name")
        add("list", "suggesters, how long writers waited, and the processes that run", self.list_suggesters)
        self._add_pool_actions(add)
        ask = add("ask", "ask once, by hand", self.ask)
        ask.add_argument("names", nargs="+", metavar="NAME")
        ask.add_argument("--story", required=True, help="the story so far; for other fields: --field NAME=TEXT")
        ask.add_argument(
            "--field",
            action="append",
            default=[],
            metavar="NAME=TEXT",
            help="another field of the template; can be repeated",
        )
        ask.add_argument("--round", type=int, default=1, help="the round of the suggestion (default: 1)")
        ask.add_argument("--seed", type=int, default=None, help="the same seed and story give the same suggestion")
        again = add("reproduce", "generate a stored suggestion again, from its seed", self.reproduce)
        again.add_argument("suggestion", type=int, help="the id of the suggestion")

    def explain(self, error: Exception) -> CommandError | None:
        return CommandError(str(error)) if isinstance(error, BackendError) else None

    def _add_pool_actions(self, add: AddAction) -> None:
        fill = add("pool-fill", "put texts into a suggester's pool, for when suggestions come too late", self.pool_fill)
        fill.add_argument("name")
        source = fill.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--run", dest="run_name", metavar="RUN", default="",
            help="samples of this generation run, made with the suggester's model",
        )  # fmt: skip
        source.add_argument(
            "--csv",
            type=Path,
            metavar="FILE",
            help="a CSV file with the column text, and round and suggester if needed",
        )
        fill.add_argument("--decoder", default="", help="the decoder of the run's samples (default: the suggester's)")
        fill.add_argument("--round", type=int, help="the round that the run's samples are for; 0: every round")
        fill.add_argument(
            "--round-field", default=pool_filling.ROUND_FIELD, metavar="FIELD",
            help="the field of the contexts that holds the round (default: round)",
        )  # fmt: skip
        status = add("pool-status", "how many texts are left for each round", self.pool_status)
        status.add_argument("names", nargs="*", metavar="NAME", help="only these suggesters (default: all)")
        texts = add("pool-texts", "the texts in a pool, with their ids and rounds", self.pool_texts)
        texts.add_argument("name")
        remove = add("pool-remove", "take texts out of a pool, such as those that fit no story", self.pool_remove)
        remove.add_argument("name")
        remove.add_argument("ids", nargs="+", type=int, metavar="ID", help="as pool-texts prints them")

    # --- The process ---

    def run_process(self, *, models: list[str], rows: int) -> None:
        if not runnable():
            raise CommandError(NONE_HERE)
        if not 1 <= rows <= MOST_ROWS:
            raise CommandError(f"--rows is {rows}; use 1 to {MOST_ROWS}.")
        for name in models:
            find_model(name)
        process = SuggesterProcess(open_backend=open_backend, models=models, rows=rows)
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda number, frame: process.stop())
        self.stderr.write(f"Suggester process {process.name} has started.")
        process.run()
        self.stderr.write(f"Suggester process {process.name} has stopped.")
        _end_now()

    # --- Suggesters ---

    def add_suggester(self, *, name: str, model: str, values: Mapping[str, Any]) -> None:
        suggester = create_suggester(name=name, model=find_model(model), **_read(values, DEFAULT_LIMITS))
        self.say([f"{suggester.name} suggests with {suggester.model.name}, {suggester.decoder}."])
        if not monitoring.any_alive(now=timezone.now()):
            self.say(output.process_lines([]))

    def change(self, *, name: str, model: str, values: Mapping[str, Any]) -> None:
        suggester = find_suggester(name)
        changes = _read(values, suggester.limits)
        if model:
            changes["model"] = find_model(model)
        if not changes:
            raise CommandError("Say what to change; see manage.py suggester change --help.")
        change_suggester(suggester=suggester, **changes)
        self.say([f"{name}: {', '.join(sorted(changes))} changed."])

    def accept(self, *, name: str) -> None:
        accept_weights(suggester=find_suggester(name))
        self.say([f"{name} now uses the new files of its model."])

    def list_suggesters(self) -> None:
        suggesters = Suggester.objects.select_related("model").order_by("name")
        self.say(
            output.suggester_lines([(suggester, monitoring.waits(suggester=suggester)) for suggester in suggesters])
        )
        if suggesters:
            self.say(output.process_lines(monitoring.processes(now=timezone.now())))

    # --- Pools ---

    def pool_fill(
        self, *, name: str, run_name: str, csv: Path | None, decoder: str, round: int | None, round_field: str
    ) -> None:
        suggester = find_suggester(name)
        if csv is None:
            filled = pool_filling.fill_from_run(
                suggester=suggester, run=find_run(run_name), decoder=decoder, round=round, round_field=round_field
            )
        elif decoder or round is not None or round_field != pool_filling.ROUND_FIELD:
            fix = "The rounds of a CSV file are in its column round."
            raise CommandError(f"--decoder, --round and --round-field go with --run. {fix}")
        else:
            filled = pool_filling.fill_from_csv(suggester=suggester, path=csv)
        self.say(output.filled_lines(filled))
        self.pool_status(names=[name])

    def pool_status(self, *, names: Iterable[str]) -> None:
        suggesters = [find_suggester(name) for name in names] or list(Suggester.objects.order_by("name"))
        rounds = monitoring.pool_rounds(suggesters=suggesters)
        filled = {pool_round.suggester for pool_round in rounds}
        self.say(
            output.pool_lines(rounds, [suggester.name for suggester in suggesters if suggester.name not in filled])
        )

    def pool_texts(self, *, name: str) -> None:
        texts = PoolText.objects.filter(suggester=find_suggester(name)).order_by("round", "pk")
        self.say(output.pool_text_lines(texts))

    def pool_remove(self, *, name: str, ids: list[int]) -> None:
        removed = pool_filling.remove_texts(suggester=find_suggester(name), ids=ids)
        self.say([f"{counted(removed, 'text')} removed."])
        self.pool_status(names=[name])

    # --- By hand ---

    def ask(self, *, names: Iterable[str], story: str, field: Iterable[str], round: int, seed: int | None) -> None:
        write_here = bool(runnable()) and not monitoring.any_alive(now=timezone.now())
        suggestions = ask_suggesters(
            suggesters=[find_suggester(name) for name in names],
            key=f"by hand {secrets.token_hex(6)}",
            story_fields={"story": story, **dict(_pair(argument, "--field") for argument in field)},
            round=round,
            seed=secrets.randbelow(2**31) if seed is None else seed,
            wait_seconds=LOADING_SECONDS if write_here else None,
        )
        ids = [suggestion.pk for suggestion in suggestions]

        def all_answered() -> bool:
            return not any(status.waiting for status in read_suggestions(suggestions=ids))

        try:
            if write_here:  # no other process would answer
                self._write_here(sorted({suggestion.suggester.model.name for suggestion in suggestions}), all_answered)
            while not all_answered():
                time.sleep(POLL_SECONDS)
        except (KeyboardInterrupt, CommandError) as stopped:
            cancel_suggestions(suggestions=ids)
            raise stopped if isinstance(stopped, CommandError) else CommandError("Cancelled.") from None
        self.say(output.suggestion_lines(read_suggestions(suggestions=ids)))

    def reproduce(self, *, suggestion: int) -> None:
        reproduced = reproduce_suggestion(suggestion_id=suggestion)
        self.say(output.reproduced_lines(reproduced))
        if not reproduced.same:
            raise CommandError("The suggestion was not reproduced.")

    def _write_here(self, models: Sequence[str], all_answered: Callable[[], bool]) -> None:
        self.stderr.write("No suggester process is running: the model is loaded for this one time.")
        process, failed = SuggesterProcess(open_backend=open_backend, models=models), []

        def done() -> bool:
            if process.state == "failed":
                failed.append(process.message())
            return bool(failed) or all_answered()

        process.run(until=done)
        if failed:
            raise CommandError(failed[0])


def _end_now() -> None:
    """End without waiting for threads that load a model or wait for a server: their work is released."""
    connections.close_all()
    sys.stderr.flush()
    os._exit(0)


class Value(argparse.Action):
    """A field of a suggester: collected in ``values``, which contains only the fields that were given."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        value = self.const if self.nargs == 0 else values
        if self.dest == "limits":
            value = [*namespace.values.get("limits", []), values]
        namespace.values = {**namespace.values, self.dest: value}


def _add_values(parser: CommandParser) -> None:
    parser.set_defaults(values={})

    def add(*names: str, **options: Any) -> None:
        parser.add_argument(*names, action=Value, default=argparse.SUPPRESS, **options)

    add("--decoder", help="such as ancestral, top_p=0.9, temperature=0.7,top_k=40 (default: ancestral)")
    limits = "max_new_tokens, min_new_tokens, min_words, stop=sentence or stop= (default: one sentence, 60 tokens)"
    add("--limit", dest="limits", metavar="NAME=VALUE", help=limits)
    add("--template", help="the prompt; {story} is the story so far (default: {story})")
    add("--priming-file", type=Path, dest="priming", metavar="FILE", help="a text to put before every prompt")
    add("--least", type=int, dest="least_characters", help="fewest characters of a suggestion (default: 20)")
    add("--most", type=int, dest="most_characters", help="most characters of a suggestion (default: 260)")
    add("--word-list", type=Path, metavar="FILE", help="words that no suggestion may contain, one per line")
    add("--wait", type=float, dest="wait_seconds", help="seconds to wait before using a prepared text (default: 10)")
    add("--tries", type=int, help="most draws until one is usable (default: 3)")


def _read(values: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with files read and new limits added to ``limits``. Raises Invalid."""
    read: dict[str, Any] = dict(values)
    for name, value in values.items():
        if isinstance(value, Path):
            try:
                read[name] = value.read_text(encoding="utf-8-sig")
            except OSError as error:
                raise invalid(str(value), f"It cannot be read: {error.strerror}.") from None
            except UnicodeDecodeError:
                raise invalid(str(value), "It is not UTF-8 text.", "Save it as UTF-8.") from None
    if "limits" in read:
        read["limits"] = dict(limits)
        for argument in values["limits"]:
            name, text = _pair(argument, "--limit")
            is_number = name != "stop" and text.isascii() and text.isdigit()
            read["limits"][name] = int(text) if is_number else text
    return read


def _pair(argument: str, option: str) -> tuple[str, str]:
    """A NAME=VALUE argument. Raises Invalid."""
    name, equals, value = argument.partition("=")
    if not equals or not name.strip():
        raise invalid(option, f"It is {argument!r}.", "Write it as NAME=VALUE.")
    return name.strip(), value
