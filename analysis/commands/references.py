"""``python -m analysis references``: texts compared with references, and which measure follows people's scores best."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from tqdm import tqdm

from analysis.commands.options import Subparsers, add_resampling
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.sets import named
from analysis.diversity.association import Floats, spearman_draws
from analysis.diversity.metrics import column_of
from analysis.diversity.resampling import Bootstrap, bootstrap_estimate
from analysis.diversity.set_files import numbers, write_sets
from analysis.estimate import Estimate, p_equals
from analysis.inference.dependent_correlations import FEWEST, permutation_p, williams_test
from analysis.inference.ranks import holm
from analysis.similarity.bleu import sentence_bleu
from analysis.similarity.embedding import NoEmbedder, load_embedder
from analysis.similarity.movers import MEASURES, mover_similarity, read_vectors, story_of, unknown_words, vectors_of
from analysis.tables import InputError, read_texts, require_columns, shown
from common.words import counted

ROUGE_L, BLEU = "rouge-l", "bleu"
COMPUTED = (*MEASURES, ROUGE_L, BLEU)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two measures' correlations with people's scores, compared. ``p_holm`` and so on: corrected for all pairs."""

    first: str
    second: str
    difference: float
    t: float
    p: float
    p_holm: float
    p_permutation: float
    p_permutation_holm: float


@dataclass(frozen=True, slots=True)
class Results:
    """Measures of every text (n,), NaN where not defined; by column of people's scores, the correlations of the
    ``usable`` texts and their differences; what to say beside them."""

    scores: dict[str, Floats]
    usable: int
    rho: dict[str, dict[str, Estimate]]
    differences: dict[str, list[Difference]]
    notes: list[str]


def add_parser(subparsers: Subparsers) -> None:
    text = "Texts compared with references: mover’s similarities, ROUGE-L, BLEU, and how they follow people’s scores."
    parser = subparsers.add_parser(
        "references",
        description=f"{text} FILE is a CSV, TSV or JSONL file with one text per row, its references and, for "
        "correlations, people’s scores.",
    )
    parser.add_argument("file", metavar="FILE", help="the texts")
    parser.add_argument("--text", default="text", metavar="COL", help="column with the text (default: text)")
    parser.add_argument(
        "--reference",
        action="append",
        metavar="COL",
        help="column with a reference (default: reference); can be repeated: the nearest of a row’s references counts",
    )
    parser.add_argument(
        "--human", action="append", default=[], metavar="COL", help="column with people’s scores; can be repeated"
    )
    parser.add_argument(
        "--measure",
        action="append",
        metavar="NAME",
        help=f"{', '.join(COMPUTED)}, or a column with another measure; can be repeated "
        f"(default: {' '.join(COMPUTED)})",
    )
    parser.add_argument(
        "--vectors",
        metavar="FILE",
        help="word vectors as GloVe, word2vec or fastText save them as text (default: the packaged embedder, word by "
        "word)",
    )
    parser.add_argument("--group", metavar="COL", help="resample all texts with the same value together")
    parser.add_argument("--out", metavar="FILE", help="also write the rows with a column for each measure")
    add_resampling(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    args.measure = list(dict.fromkeys(args.measure or COMPUTED))
    args.reference = args.reference or ["reference"]
    frame = read_texts(args.file)
    if not len(frame):
        raise InputError(args.file, "", "has no rows", "write one text per row")
    scores, notes = measured(frame, args)
    results = correlated(frame, scores, notes, args)
    if args.out:
        for name, values in scores.items():
            if name in COMPUTED:
                cells = ["" if math.isnan(value) else f"{value:.6f}" for value in values]
                frame[column_of(name).replace("+", "_")] = cells
        write_sets(frame, None if args.out == "-" else args.out, like=args.file)
    if args.json:
        print_json(outcome(args, results))
    elif args.out != "-":
        print_tables(args, results)
    return 0


def measured(frame: pd.DataFrame, args: argparse.Namespace) -> tuple[dict[str, Floats], list[str]]:
    """Each measure of every row, (n,), NaN where it is not defined, and what to say beside them."""
    scores: dict[str, Floats] = dict.fromkeys(args.measure, np.empty(0))
    notes: list[str] = []
    for name in args.measure:
        if name in COMPUTED:
            continue
        if name not in frame.columns:
            fix = f"use one of {', '.join(COMPUTED)}, or a column of the file"
            raise InputError(args.file, f"--measure {shown(name)}", "there is no such measure and no such column", fix)
        scores[name] = numbers(frame, name, args.file)
    if not set(COMPUTED) & set(args.measure):
        return scores, notes
    require_columns(list(frame.columns), args.file, args.text, *args.reference)
    texts = [
        ["" if cell is None else str(cell) for cell in row] for row in frame[[args.text, *args.reference]].to_numpy()
    ]
    if ROUGE_L in args.measure:
        scores[ROUGE_L] = nearest(texts, rouge_l_f1(), ROUGE_L)
    if BLEU in args.measure:
        scores[BLEU] = np.array([sentence_bleu(text, references) for text, *references in texts])
    if movers := [name for name in MEASURES if name in args.measure]:
        stories = {text: story_of(text) for row in texts for text in row}
        words = {word for story in stories.values() for sentence in story for word in sentence}
        try:
            vectors = read_vectors(args.vectors, words) if args.vectors else vectors_of(words, load_embedder())
        except NoEmbedder as error:
            raise InputError("--vectors", "", f"is missing, and {error}") from error
        unknown, total = unknown_words(stories.values(), vectors)
        if unknown:
            notes.append(f"{unknown:,} of {counted(total, 'content word')} have no vector and are left out")
        for name in movers:
            scores[name] = nearest(
                texts,
                lambda text, reference, name=name: mover_similarity(stories[text], stories[reference], vectors, name),  # type: ignore[misc]
                name,
            )
    return scores, notes


def nearest(texts: Sequence[Sequence[str]], similarity: Callable[[str, str], float], name: str) -> Floats:
    """The largest similarity of each row's first text with its others, (n,); NaN if none is defined."""
    scores = []
    for text, *references in tqdm(texts, desc=name, unit=" texts", delay=1.0, disable=None, file=sys.stderr):
        defined = [value for value in (similarity(text, reference) for reference in references) if value == value]
        scores.append(max(defined, default=math.nan))
    return np.array(scores)


def rouge_l_f1() -> Callable[[str, str], float]:
    """F1 of ROUGE-L (Lin 2004) by Google's rouge-score: the longest common subsequence of words, without stemming."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    return lambda text, reference: float(scorer.score(reference, text)["rougeL"].fmeasure)


def correlated(frame: pd.DataFrame, scores: dict[str, Floats], notes: list[str], args: argparse.Namespace) -> Results:
    """Spearman's ρ of each measure with each of people's scores, and every pair of measures compared."""
    judged = {column: numbers(frame, column, args.file) for column in args.human}
    defined = ~np.isnan(np.array(list(scores.values()))).any(axis=0)
    usable = int(defined.sum())
    if usable < len(frame):
        notes.append(f"{counted(len(frame) - usable, 'text')} without a content word in text or reference left out")
    if judged and usable < FEWEST:
        fix = f"correlations need {FEWEST} or more"
        raise InputError(args.file, "", f"{counted(usable, 'usable text')}", fix)
    groups = None
    if args.group:
        require_columns(list(frame.columns), args.file, args.group)
        groups = [str(cell) for cell in frame[args.group][defined]]
    measures = {name: values[defined] for name, values in scores.items()}
    rho = {}
    for column, values in judged.items():
        with named(args.file):
            rho[column] = {name: spearman(measure, values[defined], groups, args) for name, measure in measures.items()}
    differences = {column: compared(measures, values[defined], args.seed) for column, values in judged.items()}
    return Results(scores, usable, rho, differences, notes)


def spearman(x: Floats, y: Floats, groups: Sequence[str] | None, args: argparse.Namespace) -> Estimate:
    plan = Bootstrap(draws=args.draws, seed=args.seed, level=args.confidence)
    value = float(spearman_draws(x, y, np.ones((1, len(x))))[0])
    note = "all values of one side are the same" if math.isnan(value) else ""
    estimate = bootstrap_estimate(
        value, lambda weights: spearman_draws(x, y, weights), len(x), plan, groups=groups, note=note
    )
    return replace(estimate, n_of="texts", method=estimate.method.replace("sets", "texts"))


def compared(measures: Mapping[str, Floats], judged: Floats, seed: int) -> list[Difference]:
    """Every pair of measures; Holm's correction over all pairs of this column of scores."""

    def rho(left: Floats, right: Floats) -> float:
        return float(spearman_draws(left, right, np.ones((1, len(left))))[0])

    pairs = list(combinations(measures, 2))
    tests = []
    for first, second in pairs:
        x, y = measures[first], measures[second]
        of_first, of_second, between = rho(x, judged), rho(y, judged), rho(x, y)
        if any(map(math.isnan, (of_first, of_second, between))):
            tests.append((math.nan, math.nan, math.nan, math.nan))
            continue
        williams = williams_test(of_first, of_second, between, len(judged))
        tests.append((of_first - of_second, williams.t, williams.p, permutation_p(x, y, judged, seed=seed)))
    corrected = [corrected_p([test[place] for test in tests]) for place in (2, 3)]
    return [
        Difference(first, second, difference, t, p, corrected[0][number], p_permutation, corrected[1][number])
        for number, ((first, second), (difference, t, p, p_permutation)) in enumerate(zip(pairs, tests, strict=True))
    ]


def corrected_p(values: Sequence[float]) -> list[float]:
    """Holm's correction of the p that are defined."""
    defined = [p for p in values if not math.isnan(p)]
    corrected = iter(holm(defined)) if defined else iter(())
    return [math.nan if math.isnan(p) else float(next(corrected)) for p in values]


def outcome(args: argparse.Namespace, results: Results) -> Outcome:
    estimates = {
        f"{column}.{name}.rho": estimate for column, of in results.rho.items() for name, estimate in of.items()
    }
    means = {
        name: None if np.isnan(values).all() else float(np.nanmean(values)) for name, values in results.scores.items()
    }
    figures = {
        "means": means,
        "differences": {
            column: [without_nan(asdict(pair)) for pair in pairs] for column, pairs in results.differences.items()
        },
        "notes": results.notes,
    }
    data = {"texts": len(next(iter(results.scores.values()))), "usable": results.usable}
    settings = options_used(args, "out") | {"resampled": args.group or "texts"}
    return Outcome(args.command, args.file, settings, data, estimates, figures)


def print_tables(args: argparse.Namespace, results: Results) -> None:
    print(f"{args.file}: {counted(len(next(iter(results.scores.values()))), 'text')}")
    for note in results.notes:
        print(f"Note: {note}.")
    width = max(len(name) for name in results.scores)
    if not results.rho:
        print("\nMeans over texts")
        for name, values in results.scores.items():
            print(
                f"  {name:<{width}}  {np.nanmean(values):.3f}" if not np.isnan(values).all() else f"  {name}  undefined"
            )
    for column, estimates in results.rho.items():
        first = next(iter(estimates.values()))
        print(
            f"\nSpearman’s ρ with {column}, n = {counted(first.n, 'text')}; {first.level:.0%} interval: {first.method}"
        )
        for name, estimate in estimates.items():
            print(f"  {name:<{width}}  {estimate}")
        if pairs := results.differences[column]:
            print("Differences of ρ: Williams’ t, p (with Holm’s correction); permutation p (with Holm’s correction)")
        for pair in pairs:
            title = f"{pair.first} − {pair.second}"
            if math.isnan(pair.p):
                print(f"  {title:<{2 * width + 3}}  undefined: the measures, or one of them, do not vary")
                continue
            print(
                f"  {title:<{2 * width + 3}}  {pair.difference:+.3f}  t = {pair.t:.2f}, p {p_equals(pair.p)} "
                f"({p_equals(pair.p_holm)}); p {p_equals(pair.p_permutation)} ({p_equals(pair.p_permutation_holm)})"
            )
