"""The samples of a run: their report, and Diversity Threshold Generation."""

from __future__ import annotations

import io
from pathlib import Path

from django.core.management.base import CommandError

from common.commands import ActionCommand, AddAction
from common.problems import Refused
from generation.backends.base import BackendError
from generation.decoding.decoders import parse_decoder
from generation.diversify.metrics import find_metrics, find_relevance, known_metrics
from generation.diversify.references import references_in_columns, references_in_file
from generation.diversify.run_sets import Design, diversify_run, draw_more_of, drawing_decoders
from generation.diversify.threshold import MOST_SAMPLED, TRIALS, check_design
from generation.diversify.threshold_of_people import threshold_of_people
from generation.management.diversify_output import summary_lines, write_sets
from generation.runs.progress import find_run
from generation.runs.samples import swept_parameters

NO_REFERENCES = (
    "Relevance is left out: it is measured against human references. To add it, give --reference COLUMN or "
    "--references FILE."
)


class Command(ActionCommand):
    help = "Reports on the samples of a generation run, and Diversity Threshold Generation on them."

    def add_actions(self, add: AddAction) -> None:
        report = add("report", "write report.html and report.json of a run", self.report)
        report.add_argument("run_name", metavar="run")
        report.add_argument("--out", type=Path, metavar="DIR", help="folder to write to (default: run-NAME)")
        sets = add("diversify", "resample each set until it is diverse enough; writes CSV", self.diversify)
        option = sets.add_argument
        metrics = f"{known_metrics()}; or the dotted path of a function"
        option("run_name", metavar="run")
        option(
            "--metric", default="distinct-n", help=f"decides which response is dropped: {metrics} (default: distinct-n)"
        )
        above = (
            "responses of a set are replaced until its score is above this (distinct-n goes up to 1, cos-sim up to 0)"
        )
        option("--threshold", type=float, help=above)
        people = (
            "sets by people in the diversity-eval format (columns resp_0, resp_1 …): the threshold is a percentile of "
            "their scores, in place of --threshold"
        )
        option("--threshold-from", type=Path, metavar="FILE", help=people)
        option("--percentile", type=float, default=90.0, help="with --threshold-from; the paper has 90 (default: 90)")
        compared = "what is compared with the threshold (default: the metric); the paper counts contradictions for nli"
        option("--stop", default="", metavar="METRIC", help=compared)
        option("--metric-model", default="", metavar="NAME", help="hub name or folder of the model of these metrics")
        option("--size", type=int, default=5, help="responses in a set (default: 5)")
        option(
            "--most",
            type=int,
            default=MOST_SAMPLED,
            help=f"most responses drawn in one trial, the first set included (default: {MOST_SAMPLED})",
        )
        trials = f"trials for each context, each with its own samples (default: 1; the paper has {TRIALS})"
        option("--trials", type=int, default=1, help=trials)
        option("--decoder", action="append", default=[], help="only this decoder; can be repeated")
        option("--live", action="store_true", help="draw more samples with the model if the run has too few")
        column = "field of the contexts with a human reference, for relevance; can be repeated"
        option("--reference", action="append", default=[], metavar="COLUMN", help=column)
        dataset = (
            "data set of human references: a file with the columns id and reference, several rows for each context"
        )
        option("--references", type=Path, metavar="FILE", help=dataset)
        relevance = "hub name or folder of a model for BERTScore with the references (BLEU needs none)"
        option("--relevance-model", default="", metavar="NAME", help=relevance)
        option("--device", default="auto", help="where these models run: auto, cpu, cuda or cuda:N (default: auto)")
        option("--out", default="-", metavar="FILE", help="file to write (default: standard output)")

    def explain(self, error: Exception) -> CommandError | None:
        expected = isinstance(error, ValueError | BackendError) and not isinstance(error, Refused)
        return CommandError(str(error)) if expected else None

    def report(self, *, run_name: str, out: Path | None) -> None:
        run = find_run(run_name)
        from analysis.report.sweep import write_sweep_report  # loads SciPy, which takes a second
        from generation.runs.report import sweep_data

        page = write_sweep_report(sweep_data(run), out_dir=out or Path(f"run-{run.name}"))
        self.say([str(page)])

    def diversify(
        self, *, run_name: str, metric: str, stop: str, metric_model: str, threshold: float | None,
        threshold_from: Path | None, percentile: float, size: int, most: int, trials: int, decoder: list[str],
        live: bool, reference: list[str], references: Path | None, relevance_model: str, device: str, out: str,
    ) -> None:  # fmt: skip
        run = find_run(run_name)
        if (threshold is None) == (threshold_from is None):
            raise ValueError("Give a number as --threshold, or a file of sets by people as --threshold-from.")
        check_design(size=size, most_sampled=most, threshold=threshold or 0.0)
        drawing, left_out = drawing_decoders(run, [parse_decoder(name).name for name in decoder])
        metrics = find_metrics([metric, *([stop] if stop else [])], model=metric_model, device=device)
        if threshold_from is not None:
            threshold = threshold_of_people(threshold_from, metrics[stop or metric], percentile)
            self.complain(
                [f"Threshold: {threshold:.6g}, the {percentile:g}th percentile of the sets in {threshold_from}."]
            )
        assert threshold is not None  # noqa: S101 - one of the two was given
        if reference and references:
            raise ValueError("Give the references as columns of the contexts or as a file, not both.")
        if relevance_model and not reference and not references:
            raise ValueError(
                "Relevance is measured against human references: add --reference COLUMN or --references FILE."
            )
        human = references_in_columns(run, reference) if reference else None
        if references:
            human = references_in_file(run, references)
        design = Design(
            metrics[metric],
            threshold,
            size=size,
            most_sampled=most,
            trials=trials,
            stop=metrics[stop] if stop else None,
        )
        sets = diversify_run(run, design, decoders=drawing, draw_more=draw_more_of(run) if live else None)
        text = io.StringIO(newline="")  # if a set fails, nothing is written, not even to standard output
        with self.output(out) as file:
            summaries = write_sets(
                text, sets, size=size, swept=swept_parameters([*drawing, *left_out]), stop=bool(stop),
                relevance=find_relevance(model=relevance_model, device=device), references=human,
            )  # fmt: skip
            file.write(text.getvalue().encode())
        if human is None:
            self.complain([NO_REFERENCES])
        if left_out:
            self.complain([f"Left out, because they draw nothing and give one text each: {', '.join(left_out)}."])
        self.complain(summary_lines(summaries, threshold=threshold, stop=stop or metric))
