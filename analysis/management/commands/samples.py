"""What a generation run made: its report, and diversity threshold generation on it."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from analysis.diversify_run import DiversifiedSet, DrawMore, diversify_run, find_metric
from analysis.diversity.metrics import METRICS
from analysis.exports.cells import protect_cell
from generation.backends.base import BackendError, Generated, Refused, Request
from generation.decoders import Limits, parse_decoder
from generation.diversify import MOST_SAMPLED
from generation.exporting import label_of
from generation.management.generate_output import database_line
from generation.models import GenerationRun, LanguageModel, RunContext

HEAD = ("sample_id", "context", "model", "label_name", "label_value", "decoder")
TAIL = ("start_score", "end_score", "n_sampled", "overlap", "reached")


class Command(BaseCommand):
    help = "Reports on the samples of a generation run, and diversity threshold generation on them."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        report = actions.add_parser("report", help="write report.html and report.json of a run")
        report.add_argument("run")
        report.add_argument("--out", type=Path, metavar="DIR", help="folder to write into (default: run-NAME)")
        report.add_argument("--draws", type=int, default=1000, help="resamples for each interval (default 1000)")
        report.add_argument("--seed", type=int, default=1)
        sets = actions.add_parser("diversify", help="resample each set until it is diverse enough; writes CSV")
        sets.add_argument("run")
        sets.add_argument(
            "--metric", default="distinct-n", help=f"{', '.join(METRICS)}, or the dotted path of a function"
        )
        sets.add_argument(
            "--threshold",
            type=float,
            required=True,
            help="the score a set has to reach (distinct-n goes up to 1, cos-sim up to 0)",
        )
        sets.add_argument("--size", type=int, default=5, help="responses in a set (default 5)")
        sets.add_argument(
            "--most", type=int, default=MOST_SAMPLED, help="responses drawn in all, the first set too (default 20)"
        )
        sets.add_argument("--decoder", action="append", default=[], help="only this one; may be given several times")
        sets.add_argument("--live", action="store_true", help="draw more with the model where the run has too few")
        sets.add_argument("--out", default="-", metavar="FILE", help="file to write (default: standard output)")

    def handle(self, *args: Any, action: str, run: str, **options: Any) -> None:
        try:
            found = self.find(run)
            self.report(found, **options) if action == "report" else self.diversify(found, **options)
        except (ValueError, BackendError) as error:
            raise CommandError(str(error)) from None
        except DatabaseError as error:
            raise CommandError(database_line(error)) from None
        except OSError as error:
            raise CommandError(f"{error.filename or 'A file'}: {error.strerror or error}.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped; nothing was written.") from None

    def find(self, name: str) -> GenerationRun:
        found = GenerationRun.objects.filter(name=name).first()
        if found is None:
            known = ", ".join(GenerationRun.objects.order_by("name").values_list("name", flat=True)[:20])
            raise CommandError(f"There is no run “{name}”." + (f" Runs: {known}." if known else " There are none yet."))
        return found

    def report(self, run: GenerationRun, *, out: Path | None, draws: int, seed: int, **_: Any) -> None:
        from analysis.reports.sweep import write_run_report  # takes SciPy's second to load only when needed

        page = write_run_report(run, out_dir=out or Path(f"run-{run.name}"), draws=draws, seed=seed)
        self.stdout.write(str(page))

    def diversify(
        self, run: GenerationRun, *, metric: str, threshold: float, size: int, most: int, decoder: list[str],
        live: bool, out: str, **_: Any,
    ) -> None:  # fmt: skip
        drawing, left_out = chosen(run, [parse_decoder(name).name for name in decoder])
        sets = diversify_run(
            run,
            metric=find_metric(metric),
            threshold=threshold,
            size=size,
            most_sampled=most,
            decoders=drawing,
            draw_more=draw_more_of(run) if live else None,
        )
        with opened(out) as file:
            n, reached = write_sets(file, sets, size, swept=swept_by(run))
        if left_out:
            self.stderr.write(f"Left out, as they draw nothing and give one text each: {', '.join(left_out)}.")
        self.stderr.write(f"{reached:,} of {n:,} sets reached {metric} ≥ {threshold:g}.")


def chosen(run: GenerationRun, named: Sequence[str]) -> tuple[list[str], list[str]]:
    """The run's decoders that sets can be made of, all or the named ones, and those that draw nothing. Raises
    ValueError where there are no samples to make sets of."""
    names = sorted(run.samples.values_list("decoder", flat=True).distinct())
    wanted = [name for name in names if not named or name in named]
    drawing = [name for name in wanted if parse_decoder(name).samples]
    if not wanted:
        raise ValueError("The run has no samples" + (" of these decoders." if named else " yet."))
    if not drawing:
        raise ValueError(f"{', '.join(wanted)}: nothing is drawn, every text is the same, and no sets can be made.")
    return drawing, [name for name in wanted if name not in drawing]


def swept_by(run: GenerationRun) -> set[str]:
    """The parameters in which the run's decoders differ."""
    names = run.samples.values_list("decoder", flat=True).distinct()
    return {parameter[0] for name in names if (parameter := parse_decoder(name).parameter)}


def write_sets(
    file: TextIO, sets: Iterator[DiversifiedSet], size: int, *, swept: Collection[str] = ()
) -> tuple[int, int]:
    """One row per set, in the columns of diversity evaluation; how many sets there are, and how many got there."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*HEAD, *(f"resp_{place}" for place in range(size)), *TAIL])
    n = reached = 0
    for each in sets:
        parameter = label_of(each.decoder, swept) or ("decoder", each.decoder)
        result = each.result
        head = (each.context.external_id, each.context.prompt, each.model, *parameter, each.decoder)
        tail = (result.start_score, result.end_score, result.n_sampled, result.overlap, int(result.reached))
        writer.writerow([protect_cell(str(value)) for value in (*head, *result.end, *tail)])
        n, reached = n + 1, reached + result.reached
    return n, reached


def draw_more_of(run: GenerationRun) -> DrawMore:
    """Draws with the run's own limits; the seeds are those that the run would have gone on with."""
    from generation.seeds import sample_seed
    from generation.services.holding import backend_of

    limits = Limits(**run.spec.get("limits", {}))

    def draw(context: RunContext, model: LanguageModel, decoder: str, first: int, n: int) -> Sequence[str]:
        requests = [
            Request(
                key=number,
                prompt=context.prompt,
                decoder=parse_decoder(decoder),
                limits=limits,
                seed=sample_seed(run.seed, context.external_id, model.name, decoder, number),
                cut_left=run.spec.get("over_long", "cut") == "cut",
                keep=context.keep,
            )
            for number in range(first, first + n)
        ]
        outcomes = backend_of(model).generate(requests)
        for outcome in outcomes:
            if isinstance(outcome, Refused):
                raise ValueError(f"context {context.external_id}, {decoder}: {outcome.reason}")
        return [outcome.text for outcome in outcomes if isinstance(outcome, Generated)]

    return draw


@contextmanager
def opened(name: str) -> Iterator[TextIO]:
    """What is written comes out once it is whole: nothing of it, and no new file, where something fails."""
    path = Path(name)
    if name != "-" and path.is_dir():
        raise CommandError(f"{path} is a folder; name a file in it.")
    if name != "-" and not path.parent.is_dir():
        raise CommandError(f"{path}: there is no folder {path.parent}.")
    written = io.StringIO(newline="")
    yield written
    if name == "-":
        sys.stdout.write(written.getvalue())
    else:
        path.write_text(written.getvalue(), encoding="utf-8", newline="")
