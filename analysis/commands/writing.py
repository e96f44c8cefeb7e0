"""``python -m analysis writing``: choices, edits and texts of a writing study, from a bundle or a table of lines."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.commands.options import Subparsers, add_confidence
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.written_lines import COLUMNS, read_lines
from analysis.estimate import Estimate, p_equals
from analysis.tables import InputError, shown
from analysis.tagging import HANTA, NoTagger, load_tagger
from analysis.writing.story_texts import read_concreteness
from analysis.writing.summary import (
    ALL_ROUNDS,
    CONCRETE,
    EDITS,
    TEXTS,
    Compared,
    EditShift,
    compared_choices,
    edit_shifts,
    edit_table,
    mean_edits,
    mean_texts,
    story_table,
)
from common.csv_files import CsvWriter
from common.words import counted

#: What is said where suggestions that nobody chose are not in the file.
ONLY_CHOSEN = (
    "Suggestions that nobody chose are not in this file, so texts of suggestions are not measured. The bundle and the "
    "export “turns” have them."
)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that the command prints."""

    choices: list[Compared]
    edits: pd.DataFrame
    edit_means: Mapping[tuple[str, int], Mapping[str, Estimate]]
    shifts: list[EditShift]
    text_means: Mapping[str, Mapping[str, Estimate]]


def add_parser(subparsers: Subparsers) -> None:
    text = "Choices of suggestions, edits, and texts of a writing study."
    parser = subparsers.add_parser(
        "writing",
        description=f"{text} SOURCE is a bundle (a folder or a .zip file, from manage.py study export NAME --kind "
        "bundle), the export “turns”, or any table with one line per row and its columns "
        f"({', '.join(COLUMNS)}). The export “long” and what the API returned have no suggestions that nobody chose.",
    )
    parser.add_argument("file", metavar="SOURCE", help="a bundle, or a table of lines")
    parser.add_argument(
        "--concreteness", metavar="FILE", help="ratings of words (columns word and rating): adds nouns and verbs"
    )
    parser.add_argument(
        "--tagger",
        default=HANTA,
        metavar="NAME",
        help=f"finds nouns and verbs: {HANTA} or a spaCy model (default: {HANTA})",
    )
    parser.add_argument(
        "--turn", default="turn", metavar="TOPIC", help="bundle: the question with the turns (default: turn)"
    )
    parser.add_argument(
        "--every", type=int, default=2, metavar="N", help="bundle: suggestions come at every N-th turn (default: 2)"
    )
    parser.add_argument("--accept-edited", action="store_true", help="bundle: accept CSV files that were edited")
    parser.add_argument("--out", metavar="FILE", help="also write the edits of each accepted suggestion to a CSV file")
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    lines, has_all_texts = read_lines(args)
    level = args.confidence
    ratings = None if args.concreteness is None else read_concreteness(args.concreteness)
    try:
        tagger = None if ratings is None else load_tagger(args.tagger)
    except NoTagger as error:
        raise InputError("--tagger", shown(args.tagger), str(error)) from error
    edits = edit_table(lines)
    stories = story_table(lines if has_all_texts else lines[lines["author"] == ""], ratings=ratings, tagger=tagger)
    results = Results(
        compared_choices(lines, level=level),
        edits,
        mean_edits(edits, level=level),
        edit_shifts(edits, level=level),
        mean_texts(stories, level=level),
    )
    if args.out:
        write_edits(args.out, edits)
    data = {
        "stories": int(lines["story"].nunique()),
        "writers": int(lines["writer"].nunique()),
        "turns": len(lines.drop_duplicates(["story", "turn"])),
        "suggestions": int((lines["author"] != "").sum()),
        "accepted": len(edits),
    }
    if args.json:
        settings = options_used(args, "out") | {"clusters": "writers"}
        print_json(Outcome("writing", args.file, settings, data, estimates(results), figures(results)))
    else:
        print_tables(args, data, results)
        if not has_all_texts:
            print(f"\n{ONLY_CHOSEN}")
    return 0


# --- writing ---


def write_edits(path: str, edits: pd.DataFrame) -> None:
    columns = ["story", "writer", "turn", "round", "author", *EDITS, "unchanged", "text", "submitted"]
    with nullcontext(sys.stdout) if path == "-" else Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow(columns)
        writer.writerows(edits[columns].itertuples(index=False, name=None))


def estimates(results: Results) -> dict[str, Estimate]:
    """Flat names: choice.A.B.share, edits.A.levenshtein (round: edits.A.1.levenshtein), texts.A.distinct_1."""
    flat: dict[str, Estimate] = {}
    for compared in results.choices:
        start = f"choice.{compared.first}.{compared.second}"
        flat |= {
            f"{start}.share": compared.share,
            f"{start}.share_by_writer": compared.share_by_writer,
            f"{start}.typical_writer": compared.mixed.share,
        }
        flat |= {f"{start}.round_{by_round.round}": by_round.share for by_round in compared.rounds}
    for (name, round_number), means in results.edit_means.items():
        start = f"edits.{name}" if round_number == ALL_ROUNDS else f"edits.{name}.round_{round_number}"
        flat |= {f"{start}.{measure}": mean for measure, mean in means.items()}
    for name, means in results.text_means.items():
        flat |= {f"texts.{name}.{measure}": mean for measure, mean in means.items()}
    return flat


def figures(results: Results) -> dict[str, Any]:
    tests = [
        {"first": compared.first, "second": compared.second}
        | asdict(compared.tests)
        | {
            "by_writer": compared.p_by_writer,
            "mixed_logit": compared.mixed.p,
            "log_odds": compared.mixed.log_odds,
            "spread": compared.mixed.spread,
        }
        for compared in results.choices
    ]
    return {
        "tests": [without_nan(test) for test in tests],
        "edit_differences": [without_nan(asdict(shift)) for shift in results.shifts],
    }


def print_tables(args: argparse.Namespace, data: Mapping[str, int], results: Results) -> None:
    stories, writers = counted(data["stories"], "story", "stories"), counted(data["writers"], "writer")
    suggestions = f"{counted(data['suggestions'], 'suggestion')}, {data['accepted']:,} accepted"
    print(f"{args.file}: {stories} by {writers}, {suggestions}")
    for compared in results.choices:
        print_choice(compared)
    if results.edit_means:
        print("\nEdits of accepted suggestions (mean over suggestions, interval over writers)")
    for (name, round_number), means in results.edit_means.items():
        where = name if round_number == ALL_ROUNDS else f"  round {round_number}"
        print_row(where, means, EDITS)
    for edit in results.shifts:
        print(
            f"{EDITS[edit.measure]}: {edit.first} − {edit.second}, {edit.difference}, p {p_equals(edit.p)} over "
            f"writers, {p_equals(edit.p_corrected)} with Holm’s correction; the paper’s test, Mann–Whitney "
            f"U = {edit.shift.u:g}, p {p_equals(edit.shift.p)}"
        )
    if results.text_means:
        print("\nTexts (mean over stories, interval over writers)")
    for name, means in results.text_means.items():
        print_row(name, means, TEXTS | CONCRETE)


def print_choice(compared: Compared) -> None:
    tests = compared.tests
    print(f"\nChoices for {compared.first}, not {compared.second}: {tests.wins:,} of {tests.n:,}")
    rows = [("over writers", compared.share_by_writer), ("typical writer (mixed logit)", compared.mixed.share)]
    rows += [(f"round {by_round.round}, over writers", by_round.share) for by_round in compared.rounds]
    rows += [("all choices (Wilson, the paper’s)", compared.share)]
    for title, share in rows:
        print(f"  {title:<33} {share}  n = {counted(share.n, share.n_of.removesuffix('s'))}{basis_of(share)}")
    print(f"  over writers: p {p_equals(compared.p_by_writer)} two-sided")
    if math.isnan(compared.mixed.p):
        print(f"  mixed logit: not defined ({compared.mixed.share.note})")
    else:
        print(f"  mixed logit: p {p_equals(compared.mixed.p)} two-sided")
    print(
        f"  exact binomial test, the paper’s: p {p_equals(tests.two_sided)} two-sided, "
        f"{p_equals(tests.one_sided)} one-sided; too sure if writers differ"
    )


def basis_of(estimate: Estimate) -> str:
    """What the interval rests on, or why there is none."""
    return f" ({estimate.note or estimate.method})" if estimate.note or estimate.method else ""


def print_row(title: str, means: Mapping[str, Estimate], names: Mapping[str, str]) -> None:
    cells: Sequence[str] = [f"{names[measure]} {mean}" for measure, mean in means.items()]
    print(f"{title:<14} " + " · ".join(cells))
