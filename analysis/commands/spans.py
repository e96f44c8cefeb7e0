"""``python -m analysis spans``: agreement on marks in texts, and scores from them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from analysis.answer_files.opening import is_bundle
from analysis.commands.options import Subparsers, add_seed
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.data import BundleError, read_bundle
from analysis.estimate import Estimate
from analysis.report.source import Source
from analysis.spans.answers import WEIGHTS, MarkedAnswer, answers_of_study, system_factor, weighed
from analysis.spans.figures import (
    AgreementFigure,
    LevelScores,
    agreement_by,
    agreement_figures,
    scores_by,
    segment_scores,
)
from analysis.spans.rows import read_marks
from analysis.tables import InputError
from common.csv_files import CsvWriter
from common.words import counted

OWN = "study"
Answers = dict[str, list[MarkedAnswer]]


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "spans",
        description="Marks in texts: agreement of workers (F1, α on characters, γ), and scores by system, worker and "
        "text, from a bundle or the export “spans” (CSV).",
    )
    parser.add_argument("file", metavar="FILE", help="bundle (folder or .zip file), or the export “spans” as CSV")
    parser.add_argument(
        "--question", metavar="TOPIC", help="only marks of this question (default: all that ask for marks)"
    )
    parser.add_argument(
        "--weights",
        choices=(OWN, *WEIGHTS),
        default=OWN,
        help="weights of the marks: those of the study, or those published for MQM or ESA (default: study)",
    )
    parser.add_argument("--out", metavar="FILE", help="also write the score of every text to a CSV file")
    add_seed(parser)
    parser.add_argument(
        "--accept-edited", action="store_true", help="also read CSV files that were edited after the bundle was written"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    questions = read_answers(args)
    if args.question and args.question not in questions:
        there = ", ".join(questions) or "none"
        raise InputError(
            args.file, "--question", f"no question “{args.question}” asks for marks", f"there are: {there}"
        )
    if not questions:
        raise InputError(args.file, "", "no question of this study asks for marks in a text")
    chosen = {
        topic: with_weights(args, answers) for topic, answers in questions.items() if args.question in (None, topic)
    }
    if args.out:
        write_segments(args.out, chosen)
    if args.json:
        print_figures(args, chosen)
        return 0
    for topic, answers in chosen.items():
        print_question(args, topic, answers)
    return 0


def read_answers(args: argparse.Namespace) -> Answers:
    """The answers that count, by question. InputError: the file cannot be read."""
    if not is_bundle(args.file):
        return read_marks(args.file)
    try:
        data = read_bundle(Path(args.file), accept_edited=args.accept_edited)
    except BundleError as error:
        raise InputError(args.file, "", str(error).removeprefix(f"{args.file}: ")) from error
    source = Source(data)
    topics = [question.topic for question in source.questions.values() if question.kind == "spans"]
    factor = system_factor(data)
    found = {topic: source.ratings_on(topic) for topic in topics}
    return {
        topic: answers_of_study(data, rows[rows["text"] != ""], factor) for topic, rows in found.items() if len(rows)
    }


def with_weights(args: argparse.Namespace, answers: Sequence[MarkedAnswer]) -> list[MarkedAnswer]:
    if args.weights == OWN:
        return list(answers)
    try:
        return [replace(answer, weight=weighed(answer, args.weights)) for answer in answers]
    except KeyError as error:
        names = ", ".join(WEIGHTS[args.weights][0])
        what = f"the severity “{error.args[0]}” has no published weight ({names})"
        raise InputError(args.file, "--weights", what, "use the weights of the study: --weights study") from None


def write_segments(path: str, questions: Answers) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow(["question", "item", "part", "system", "answers", "score", "z", "errors_per_100_words"])
        for topic, answers in questions.items():
            for text in segment_scores(answers):
                figures = ["" if math.isnan(figure) else figure for figure in (text.score, text.z, text.errors)]
                writer.writerow([topic, text.item, text.part, text.system, text.answers, *figures])


def print_figures(args: argparse.Namespace, questions: Answers) -> None:
    estimates: dict[str, Estimate] = {}
    data: dict[str, object] = {}
    segments: dict[str, object] = {}
    for topic, answers in questions.items():
        start = f"{topic}." if len(questions) > 1 else ""
        estimates |= {f"{start}{figure.key}": figure.estimate for figure in agreement_figures(answers, seed=args.seed)}
        for of, name, figures in agreement_by(answers, seed=args.seed):
            estimates |= {f"{start}{of}.{name}.{figure.key}": figure.estimate for figure in figures}
        for of, scores in (("system", by_system(answers)), ("worker", by_worker(answers))):
            for level in scores:
                named = {"score": level.score, "z": level.z, "errors_per_100_words": level.errors}
                estimates |= {f"{start}{of}.{level.level}.{name}": estimate for name, estimate in named.items()}
        data[topic] = counts(answers)
        segments[topic] = [
            without_nan({name: getattr(text, name) for name in text.__slots__}) for text in segment_scores(answers)
        ]
    print_json(Outcome("spans", args.file, options_used(args, "out"), data, estimates, {"texts": segments}))


def by_system(answers: Sequence[MarkedAnswer]) -> list[LevelScores]:
    return scores_by(answers, lambda answer: answer.system)


def by_worker(answers: Sequence[MarkedAnswer]) -> list[LevelScores]:
    return scores_by(answers, lambda answer: answer.worker)


def counts(answers: Sequence[MarkedAnswer]) -> dict[str, int]:
    return {
        "answers": len(answers),
        "marks": sum(len(answer.spans) for answer in answers),
        "texts": len({answer.place for answer in answers}),
        "workers": len({answer.worker for answer in answers}),
    }


def print_question(args: argparse.Namespace, topic: str, answers: Sequence[MarkedAnswer]) -> None:
    numbers = ", ".join(counted(number, name.removesuffix("s")) for name, number in counts(answers).items())
    print(f"{args.file}, {topic}: {numbers}")
    print_agreement("Agreement on all marks", agreement_figures(answers, seed=args.seed))
    for of, name, figures in agreement_by(answers, seed=args.seed):
        print_agreement(f"Marks with the {of} {name}", figures)
    print_scores("System", by_system(answers))
    print_scores("Worker", by_worker(answers))
    print("Scores are minus the weights of the marks: more is better. z: standardised within workers.\n")


def print_agreement(title: str, figures: Sequence[AgreementFigure]) -> None:
    _print_table(
        title,
        [(figure.title, figure.estimate) for figure in figures],
        lambda estimate: estimate.method or estimate.note,
    )


def print_scores(title: str, scores: Sequence[LevelScores]) -> None:
    rows = []
    for level in scores:
        rows.append((f"{level.level}: score, {counted(level.answers, 'answer')}", level.score))
        rows.append((f"{level.level}: z", level.z))
        rows.append((f"{level.level}: marks per 100 words", level.errors))
    _print_table(title, rows, lambda estimate: estimate.method or estimate.note)


def _print_table(title: str, rows: Sequence[tuple[str, Estimate]], interval_by: Callable[[Estimate], str]) -> None:
    width = max(len(name) for name, _ in rows)
    width = max(width, len(title))
    print(f"\n{title:{width}}  estimate  95% interval      interval by")
    for name, estimate in rows:
        value = "–" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
        interval = "–" if math.isnan(estimate.low) else f"[{estimate.low:.3f}, {estimate.high:.3f}]"
        print(f"{name:{width}}  {value:>8}  {interval:<16}  {interval_by(estimate)}")
