"""Live suggestions from the command line: the process that writes them, suggesters, their pools."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from django.utils import timezone

from generation.backends import open_backend
from generation.backends.base import BackendError
from generation.management import suggester_output as output
from generation.management.generate_output import database_line, problem_lines
from generation.models import Suggester, Suggestion
from generation.problems import Invalid, invalid, unknown
from generation.queries import suggestions as queries
from generation.queries.runs import find_run
from generation.requirements import NONE_HERE, runnable
from generation.services import pool
from generation.services.models import find_model
from generation.services.reproducing_suggestions import reproduce_suggestion
from generation.services.suggest import Answer, ask_several, cancel, read
from generation.services.suggesters import DEFAULT_LIMITS, change_suggester, create_suggester
from generation.suggester import DEFAULT_ROWS, SuggesterProcess

MOST_ROWS = 4096
POLL_SECONDS = 0.1
LOADING_SECONDS = 1800.0
PLAIN_VALUES = (
    *("decoder", "template", "least_characters", "most_characters", "wait_seconds", "tries"),
    "active",
)


class Command(BaseCommand):
    # A process that runs for good need not hold every page of the server in memory.
    requires_system_checks = []
    help = "Live suggestions. “manage.py suggester ACTION --help” says more about each action."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        _add_run(actions)
        add = actions.add_parser("add", help="make a suggester: a model with its decoder and rules")
        add.add_argument("name")
        add.add_argument("--model", required=True, help="a registered model, see: manage.py generate models")
        _add_values(add)
        change = actions.add_parser("change", help="give a suggester other rules; only what is named changes")
        change.add_argument("name")
        change.add_argument("--model", default="")
        _add_values(change)
        state = change.add_mutually_exclusive_group()
        state.add_argument("--activate", dest="active", action="store_const", const=True)
        state.add_argument("--deactivate", dest="active", action="store_const", const=False)
        actions.add_parser("list", help="suggesters, how long writers waited, and the processes that run")
        _add_pool_actions(actions)
        again = actions.add_parser("reproduce", help="draw a stored suggestion again, from its seed")
        again.add_argument("suggestion", type=int, help="its id")
        ask = actions.add_parser("ask", help="ask once, by hand")
        ask.add_argument("names", nargs="+", metavar="NAME")
        ask.add_argument("--story", required=True, help="the story so far; for other fields: --field NAME=TEXT")
        ask.add_argument("--field", action="append", default=[], metavar="NAME=TEXT", help="another field")
        ask.add_argument("--round", type=int, default=1)
        ask.add_argument("--seed", type=int, default=None, help="the same seed and story give the same suggestion")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        act: Callable[..., None] = getattr(self, f"do_{action.replace('-', '_')}")
        with _told_plainly(self):
            act(**options)

    def say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    # --- The process ---

    def do_run(self, *, models: list[str], rows: int, **_: Any) -> None:
        if not runnable():
            raise CommandError(NONE_HERE)
        if not 1 <= rows <= MOST_ROWS:
            raise CommandError(f"--rows is {rows}; it takes 1 to {MOST_ROWS}.")
        for name in models:
            find_model(name)
        process = SuggesterProcess(open_backend=open_backend, models=models, rows=rows)
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda number, frame: process.stop())
        self.stderr.write(f"Suggester process {process.name} has started.")
        process.run()
        self.stderr.write(f"Suggester process {process.name} has stopped.")
        _end_now()

    # --- Suggesters ---

    def do_add(self, *, name: str, model: str, **values: Any) -> None:
        made = create_suggester(name=name, model=find_model(model), **_values(values, DEFAULT_LIMITS))
        self.say([f"{made.name} suggests with {made.model.name}, {made.decoder}."])
        if not queries.any_alive(now=timezone.now()):
            self.say(output.process_lines([]))

    def do_change(self, *, name: str, model: str, **values: Any) -> None:
        suggester = find_suggester(name)
        changes = _values(values, suggester.limits)
        if model:
            changes["model"] = find_model(model)
        if not changes:
            raise CommandError("Nothing to change was named; see manage.py suggester change --help.")
        change_suggester(suggester=suggester, **changes)
        self.say([f"{name}: {', '.join(sorted(changes))} changed."])

    def do_list(self, **_: Any) -> None:
        found = Suggester.objects.select_related("model").order_by("name")
        self.say(output.suggester_lines([(each, queries.waits(suggester=each)) for each in found]))
        if found:
            self.say(output.process_lines(queries.processes(now=timezone.now())))

    # --- Pools ---

    def do_pool_fill(self, *, name: str, csv: Path | None, **options: Any) -> None:
        suggester = find_suggester(name)
        if csv is not None:
            if options["decoder"] or options["round"] is not None or options["round_field"] != pool.ROUND_FIELD:
                mend = "The rounds of a CSV file are in its column round."
                raise CommandError(f"--decoder, --round and --round-field go with --run. {mend}")
            filled = pool.fill_from_csv(suggester=suggester, path=csv)
        else:
            wanted = {key: options[key] for key in ("decoder", "round", "round_field")}
            filled = pool.fill_from_run(suggester=suggester, run=find_run(options["run"]), **wanted)
        self.say(output.filled_lines(filled))
        self.do_pool_status(names=[name])

    def do_pool_status(self, *, names: Iterable[str], **_: Any) -> None:
        found = [find_suggester(name) for name in names] or list(Suggester.objects.order_by("name"))
        rounds = queries.pool_rounds(suggesters=found)
        filled = {each.suggester for each in rounds}
        self.say(output.pool_lines(rounds, [each.name for each in found if each.name not in filled]))

    # --- Trying out ---

    def do_ask(self, *, names: Iterable[str], story: str, field: Iterable[str], **options: Any) -> None:
        here = bool(runnable()) and not queries.any_alive(now=timezone.now())
        seed = options["seed"]
        asked = ask_several(
            suggesters=[find_suggester(name) for name in names],
            key=f"by hand {secrets.token_hex(6)}",
            story_fields={"story": story, **_pairs(field, "--field")},
            round=options["round"],
            seed=secrets.randbelow(2**31) if seed is None else seed,
            wait_seconds=LOADING_SECONDS if here else None,
        )
        self.say(output.answer_lines(self._wait(asked, here=here)))

    def do_reproduce(self, *, suggestion: int, **_: Any) -> None:
        made = reproduce_suggestion(suggestion_id=suggestion)
        self.say(output.reproduced_lines(made))
        if not made.same:
            raise CommandError("The suggestion was not reproduced.")

    def _wait(self, asked: Sequence[Suggestion], *, here: bool) -> Sequence[Answer]:
        """Waits for a process to answer; where none runs, this one does it."""
        ids = [each.pk for each in asked]

        def settled() -> bool:
            return not any(each.waiting for each in read(suggestions=ids))

        try:
            if here:
                self._write_here(sorted({each.suggester.model.name for each in asked}), settled)
            while not settled():
                time.sleep(POLL_SECONDS)
        except (KeyboardInterrupt, CommandError) as stopped:
            cancel(suggestions=ids)
            raise stopped if isinstance(stopped, CommandError) else CommandError("Cancelled.") from None
        return read(suggestions=ids)

    def _write_here(self, models: Sequence[str], settled: Callable[[], bool]) -> None:
        self.stderr.write("No suggester process runs: the model is loaded for this one time.")
        process, failed = SuggesterProcess(open_backend=open_backend, models=models), []

        def done() -> bool:
            if process.state == "failed":
                failed.append(process.message())
            return bool(failed) or settled()

        process.run(until=done)
        if failed:
            raise CommandError(failed[0])


def _end_now() -> None:
    """Without waiting for threads that load a model or wait for a server: all that they do is given back."""
    connections.close_all()
    sys.stderr.flush()
    os._exit(0)


def find_suggester(name: str) -> Suggester:
    """The suggester called ``name``. Raises Invalid with the nearest name there is."""
    found = Suggester.objects.select_related("model").filter(name=name).first()
    if found is None:
        raise Invalid([unknown("suggester", name, Suggester.objects.order_by("name").values_list("name", flat=True))])
    return found


def _add_run(actions: Any) -> None:
    run = actions.add_parser("run", help="hold the models and write suggestions, until SIGTERM or Ctrl-C")
    run.add_argument(
        "--model", action="append", default=[], dest="models", metavar="NAME",
        help="hold this model; may be given several times (default: all that active suggesters use)",
    )  # fmt: skip
    run.add_argument("--rows", type=int, default=DEFAULT_ROWS, help="texts in one batch at most (default: %(default)s)")


def _add_values(parser: CommandParser) -> None:
    parser.add_argument("--decoder", help="such as ancestral, top_p=0.9, temperature=0.7,top_k=40 (default: ancestral)")
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=VALUE",
        help="max_new_tokens, min_new_tokens, min_words, stop=sentence or stop= (default: one sentence, 60 tokens)",
    )  # fmt: skip
    parser.add_argument("--template", help="the prompt; {story} is the story so far (default: {story})")
    parser.add_argument("--priming-file", type=Path, metavar="FILE", help="a text to stand before every prompt")
    parser.add_argument("--least", type=int, dest="least_characters", help="characters a suggestion has at least (20)")
    parser.add_argument("--most", type=int, dest="most_characters", help="characters a suggestion has at most (260)")
    parser.add_argument("--word-list", type=Path, metavar="FILE", help="words no suggestion may hold, one a line")
    parser.add_argument("--wait", type=float, dest="wait_seconds", help="seconds before the pool steps in (10)")
    parser.add_argument("--tries", type=int, help="draws until one is usable (3)")


def _add_pool_actions(actions: Any) -> None:
    fill = actions.add_parser("pool-fill", help="put texts for hard times into a suggester's pool")
    fill.add_argument("name")
    source = fill.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", default="", help="samples of this generation run, made with the suggester's model")
    source.add_argument("--csv", type=Path, metavar="FILE", help="a CSV file with the columns text and round")
    fill.add_argument("--decoder", default="", help="of the run's samples (default: the suggester's)")
    fill.add_argument("--round", type=int, help="the round that the run's samples are for; 0: every round")
    fill.add_argument(
        "--round-field", default=pool.ROUND_FIELD, metavar="FIELD",
        help="else the context's field that says it (default: round)",
    )  # fmt: skip
    status = actions.add_parser("pool-status", help="how many texts are left for each round")
    status.add_argument("names", nargs="*", metavar="NAME", help="of these suggesters (default: all)")


def _values(given: dict[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a suggester that were named on the command line."""
    values = {name: given[name] for name in PLAIN_VALUES if given.get(name) is not None}
    if given["limit"]:
        values["limits"] = dict(limits) | {
            name: _whole(value) if name != "stop" else value
            for name, value in _pairs(given["limit"], "--limit").items()
        }
    for name, option in (("priming", "priming_file"), ("word_list", "word_list")):
        if given[option] is not None:
            values[name] = _text_of(given[option])
    return values


def _pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """NAME=VALUE arguments. Raises Invalid."""
    pairs = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise invalid(option, f"It is {each!r}.", "Write it as NAME=VALUE.")
        pairs[name.strip()] = value
    return pairs


def _whole(value: str) -> Any:
    return int(value) if value.isascii() and value.isdigit() else value


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise invalid(str(path), f"It cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise invalid(str(path), "It is not UTF-8 text.", "Save it as UTF-8.") from None


@contextmanager
def _told_plainly(command: BaseCommand) -> Iterator[None]:
    try:
        yield
    except Invalid as refused:
        raise CommandError("\n".join(problem_lines(refused.problems))) from None
    except BackendError as error:
        raise CommandError(str(error)) from None
    except DatabaseError as error:
        raise CommandError(database_line(error)) from None
