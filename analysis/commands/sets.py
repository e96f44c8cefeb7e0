"""What the commands on sets of texts share: options for scores and labels, and reading them from a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
from tqdm import tqdm

from analysis.answer_files.columns import ARM_FACTOR, RESERVED
from analysis.answer_files.opening import open_answers
from analysis.commands.options import add_seed, positive
from analysis.description import Score
from analysis.diversity.association import Floats
from analysis.diversity.checks import LabelError
from analysis.diversity.metrics import METRICS
from analysis.diversity.neural_metrics import BERTSCORE, EMBEDDING, NEURAL, neural_scores
from analysis.diversity.resampling import context_groups
from analysis.diversity.set_files import CONTEXT, LABEL, LABEL_NAME, numbers, read_sets, responses
from analysis.scores import item_scores
from analysis.tables import InputError, require_columns

FORMATS = "an export of a study (the bundle, long or what the API returned), or a CSV, TSV or JSONL file"
#: The column with people's mean answers about each set of a study.
SCORE = "score"
#: The value of --resample-by that resamples single sets.
SETS = "sets"


@dataclass(frozen=True, slots=True)
class Scored:
    """The sets of a file with their scores and labels (n,)."""

    frame: pd.DataFrame
    scores: Floats
    labels: Floats


def add_scored(parser: argparse.ArgumentParser, metric: str | None = None) -> None:
    parser.add_argument("file", metavar="FILE", help=f"{FORMATS} with one row per set and the column {LABEL}")
    parser.add_argument(
        "--metric",
        default=metric,
        metavar="COLUMN",
        help=f"a column, or one of {', '.join([*METRICS, *NEURAL])} to compute it from the texts "
        + (f"(default: {metric})" if metric else f"(exports of a study: {SCORE}, the mean of people’s answers)"),
    )
    parser.add_argument("--label-name", metavar="NAME", help=f"only the sets with this {LABEL_NAME}")
    add_model(parser)


def add_model(parser: argparse.ArgumentParser) -> None:
    """``--model``, ``--layer`` and ``--device`` of metrics that need a model."""
    parser.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help=f"hub name or folder of the model for {', '.join(NEURAL)} (default for {EMBEDDING} and {BERTSCORE}: "
        "the packaged all-MiniLM-L6-v2)",
    )
    parser.add_argument(
        "--layer",
        type=positive,
        help=f"layer that {BERTSCORE} compares (default: the one it recommends; the last of a folder)",
    )
    parser.add_argument(
        "--device", metavar="NAME", help="where the model runs, such as cuda:1 (default: a GPU, or CPU)"
    )


def add_seeded(parser: argparse.ArgumentParser, metric: str) -> None:
    add_scored(parser, metric)
    add_seed(parser)


def read_scored(args: argparse.Namespace) -> Scored:
    """The sets with the requested label name, their scores and their labels.

    InputError: no such metric, no labels, or labels of several parameters.
    """
    frame = read_any_sets(args.file)
    if args.metric is None:
        if SCORE not in frame.columns:
            raise InputError(args.file, "--metric", "is missing", "name a column, or a metric to compute")
        args.metric = SCORE
    if LABEL not in frame.columns:
        fix = "it holds the diversity parameter, such as 0.6, or 0 and 1"
        raise InputError(args.file, f'column "{LABEL}"', "there is no such column", fix)
    frame = one_label(frame, args)
    labels = numbers(frame, LABEL, args.file)
    if args.metric in frame.columns:
        return Scored(frame, numbers(frame, args.metric, args.file), labels)
    if args.metric in METRICS or args.metric in NEURAL:
        return Scored(frame, computed(frame, args, [args.metric])[args.metric], labels)
    columns = [name for name in frame.columns if name.startswith("metric_")]
    fix = f"use one of {', '.join([*METRICS, *NEURAL, *columns])}"
    raise InputError(args.file, f'--metric "{args.metric}"', "there is no such column and no such metric", fix)


def read_any_sets(path: str) -> pd.DataFrame:
    """The sets of a file, or of a study with people's ``score`` of each. InputError: unusable."""
    source = open_answers(path)
    if not source.is_study:
        return read_sets(path)
    own = [name for name in source.names if name not in RESERVED and not name.startswith(ARM_FACTOR)]
    criteria = [criterion for criterion in source.criteria if criterion.level in ("ordinal", "interval")]
    # The question about the whole set comes last, after those of the warm-up.
    scored = criteria[-1].name if criteria else ""
    frame = source.read(["item", "part", "worker", "criterion", "value", *own]).astype(object)
    frame = frame[(frame["item"] != "") & (frame["criterion"] == scored)]
    if frame.empty:
        raise InputError(path, "", "nobody rated a set on a scale", "give a study of sets, or a table of sets")
    rated = frame.rename(columns={"part": "target"}).assign(value=frame["value"].astype(float))
    scores = item_scores(rated[["item", "target", "worker", "value"]], Score(scored, scored))["score"]
    sets = frame.drop_duplicates("item")[["item", *own]]
    sets = sets.assign(**{SCORE: [f"{scores[item]:.6f}" for item in sets["item"]]})
    return sets.set_axis(pd.RangeIndex(1, len(sets) + 1, name="row"), axis=0)


def like_of(path: str) -> str | None:
    """The file whose format the output has; None, which is CSV, for an export of a study."""
    return None if open_answers(path).is_study else path


def one_label(frame: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    if LABEL_NAME not in frame.columns:
        return frame
    names = [str(name) for name in frame[LABEL_NAME].unique()]
    if args.label_name is not None:
        if args.label_name not in names:
            what = f'no row has "{args.label_name}"'
            raise InputError(args.file, f'column "{LABEL_NAME}"', what, f"use one of {', '.join(names)}")
        chosen: pd.DataFrame = frame[frame[LABEL_NAME] == args.label_name]
        return chosen
    if len(names) > 1:
        what = f"there are several parameters: {', '.join(names[:5])}"
        raise InputError(args.file, f'column "{LABEL_NAME}"', what, "choose one with --label-name")
    return frame


def computed(frame: pd.DataFrame, args: argparse.Namespace, names: Sequence[str]) -> dict[str, Floats]:
    """These metrics of every set. A terminal shows a progress bar after one second. InputError: no usable model."""
    texts = responses(frame, args.file)
    scores: dict[str, Floats] = {}
    neural = [name for name in names if name in NEURAL]
    if neural:
        options = {"model": args.model, "layer": args.layer, "device": args.device}
        try:
            scores = neural_scores(neural, texts, progress=sys.stderr.isatty(), **options)
        except ValueError as error:
            raise InputError("--metric", ", ".join(neural), str(error)) from error
    for name in names:
        if name not in NEURAL:
            bar = tqdm(texts, desc=name, unit=" sets", delay=1.0, disable=None, file=sys.stderr)
            scores[name] = np.array([METRICS[name](text) for text in bar])
    return scores


def names_in(frame: pd.DataFrame, column: str, path: str) -> list[str]:
    require_columns(list(frame.columns), path, column)
    return [str(cell) if cell is not None else "" for cell in frame[column]]


def groups_in(frame: pd.DataFrame, args: argparse.Namespace) -> tuple[list[str] | None, str]:
    """What to resample whole, and its name: the chosen column, else contexts by the report's rule, else sets."""
    column = args.resample_by or (CONTEXT if CONTEXT in frame.columns else SETS)
    if column == SETS and SETS not in frame.columns:
        return None, SETS
    names = names_in(frame, column, args.file)
    groups = names if args.resample_by else context_groups(names)
    return groups, SETS if groups is None else column


@contextmanager
def named(path: str, labels: str = "") -> Iterator[None]:
    """Turn a statistic's error into an `InputError` about the file. ``labels``: how to fix labels."""
    try:
        yield
    except LabelError as error:
        raise InputError(path, f'column "{LABEL}"', str(error), labels) from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(path, "", str(error)) from error
