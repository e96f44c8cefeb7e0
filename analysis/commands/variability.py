"""``python -m analysis variability``: how far texts for the same context differ, and how well models fit people."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.answer_files.files import AnswerFile
from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.criteria import add_criterion, chosen_criteria
from analysis.commands.options import Subparsers, add_confidence, add_seed, positive
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.diversity.association import Floats
from analysis.estimate import Estimate
from analysis.similarity.embedding import MINILM, NoEmbedder, load_embedder
from analysis.similarity.neural import NoModel, sentence_embedder
from analysis.tables import InputError, read_objects, read_texts, require_columns, shown
from analysis.tagging import HANTA, NoTagger, load_tagger
from analysis.variability import (
    CONTROL,
    Productions,
    corpus_view,
    embedded,
    fit_table,
    matrices,
    within_and_between,
    worst_fit,
)
from analysis.variability.views import PEOPLE
from common.csv_files import CsvWriter
from common.words import counted

NONE = "none"
#: The columns of a set's responses, and what they are called as texts by a model.
RESPONSE, MODEL = re.compile(r"resp_(0|[1-9][0-9]*)"), "model"
Views = Mapping[tuple[str, str], Mapping[str, Estimate]]


def add_parser(subparsers: Subparsers) -> None:
    text = "How far texts for the same context differ, and how well models’ texts fit people’s."
    parser = subparsers.add_parser(
        "variability",
        description=f"{text} FILE is {READABLE}; then the texts are people’s answers in words to each item, and no "
        "options are needed. Any other table has one text per row (columns context, text, source, and writer if "
        "known), or with --human one context per line of a JSONL file, with lists of texts.",
    )
    parser.add_argument("file", metavar="FILE", help="the texts")
    add_criterion(parser, "all that workers answer in words")
    _add_columns(parser)
    parser.add_argument(
        "--tagger",
        default=HANTA,
        metavar="NAME",
        help=f"for syntactic distances: {HANTA}, a spaCy model, or {NONE} (default: {HANTA})",
    )
    parser.add_argument(
        "--embeddings",
        metavar="FILE",
        help=".npy file with one row per text, in the order of FILE, for semantic distances by another model",
    )
    parser.add_argument(
        "--embedder",
        metavar="NAME",
        help=f"for semantic distances: {MINILM} (all-MiniLM-L6-v2; the default if it is installed), any model of "
        f"sentence-transformers by its hub name or folder, or {NONE}",
    )
    parser.add_argument(
        "--worst",
        type=positive,
        default=10,
        metavar="N",
        help="number of contexts with the worst fit to list (default: 10)",
    )
    parser.add_argument("--out", metavar="FILE", help="also write the figures of every context to a CSV file")
    add_seed(parser)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    """Where the contexts and the texts are in the file."""
    parser.add_argument(
        "--context",
        default="",
        metavar="COL",
        help="column that names the context (default: context; with --human, id)",
    )
    parser.add_argument("--text", default="text", metavar="COL", help="column with the text (default: text)")
    parser.add_argument(
        "--source", default="source", metavar="COL", help="column that names who wrote it (default: source)"
    )
    parser.add_argument(
        "--people", default="human", metavar="VALUE", help="the value of --source for people (default: human)"
    )
    parser.add_argument(
        "--writer", default="", metavar="COL", help="column that names the person, for differences within writers"
    )
    parser.add_argument(
        "--human", default="", metavar="FIELD", help="field of each line with the list of people’s texts"
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=FIELD",
        help="field with the texts of a decoder; can be repeated",
    )


def run(args: argparse.Namespace) -> int:
    order, productions = read_lists(args) if args.human else read_productions(args)
    try:
        tagger = None if args.tagger == NONE else load_tagger(args.tagger)
    except NoTagger as error:
        raise InputError("--tagger", shown(args.tagger), str(error)) from error
    vectors, missing = semantic(args, order, productions)
    context_matrices = list(matrices(productions, tagger=tagger, vectors=vectors))
    table = fit_table(context_matrices, seed=args.seed)
    views = corpus_view(table, level=args.confidence)
    writers = within_and_between(context_matrices, level=args.confidence) if args.writer else {}
    if args.out:
        write_table(args.out, table)
    data = {
        "contexts": len(productions),
        "texts": len(order),
        "by_people": sum(len(context.human) for context in productions),
        "decoders": sorted({name for context in productions for name in context.models}),
    }
    if args.json:
        settings = options_used(args, "out") | {"clusters": "contexts"}
        outcome = Outcome("variability", args.file, settings, data, estimates(views, writers), figures(args, table))
        print_json(outcome)
    else:
        print_tables(args, data, table, views, writers)
        if missing:
            print(f"\n{missing}")
    return 0


def semantic(
    args: argparse.Namespace, order: Sequence[int], productions: Sequence[Productions]
) -> tuple[Floats | None, str]:
    """The embeddings, from the file or else by the model; without either, a sentence that says why.

    Sets ``args.embedder`` to what was used. InputError: both are named; a model that is not installed is asked for.
    """
    if args.embeddings is not None:
        if args.embedder not in (None, NONE):
            raise InputError(
                "--embedder", shown(args.embedder), "--embeddings gives them already", "use one of the two"
            )
        args.embedder = NONE
        return read_embeddings(args.embeddings, order), ""
    if args.embedder == NONE:
        return None, ""
    try:
        if args.embedder not in (None, MINILM):
            return embedded(productions, sentence_embedder(args.embedder, progress=sys.stderr.isatty())), ""
        vectors = embedded(productions, load_embedder())
    except NoModel as error:
        raise InputError("--embedder", shown(args.embedder), str(error)) from error
    except NoEmbedder as error:
        if args.embedder is not None:
            raise InputError("--embedder", shown(args.embedder), str(error)) from error
        args.embedder = NONE
        return None, f"Semantic distances are left out: {error}. Or give your own with --embeddings."
    args.embedder = MINILM
    return vectors, ""


# --- reading: the contexts, and where each of their texts is in the file ---


def read_lists(args: argparse.Namespace) -> tuple[list[int], list[Productions]]:
    """One context per line, with lists of texts.

    InputError: a field is missing or is not a list of texts, or a context appears twice.
    """
    if args.writer:
        raise InputError(
            "--writer", shown(args.writer), "lists of texts have no writers", "leave out --writer or --human"
        )
    models = dict(model_field(text) for text in args.model)
    column, productions, count = args.context or "id", [], 0
    for line, row in read_objects(args.file).items():
        if column not in row:
            fix = "name the field that identifies the context with --context"
            raise InputError(args.file, f'line {line}, field "{column}"', "there is no such field", fix)
        human = texts_in(args.file, line, row, args.human)
        by_decoder = {name: texts_in(args.file, line, row, field) for name, field in models.items()}
        productions.append(Productions(str(row[column]), human, (), by_decoder))
        count += len(productions[-1].texts)
    refuse_repeats(args.file, [context.context for context in productions])
    return list(range(count)), productions


def model_field(text: str) -> tuple[str, str]:
    name, equals, field = text.partition("=")
    if not equals or not name or not field:
        raise InputError("--model", shown(text), "this names no field", "write NAME=FIELD")
    return name, field


def texts_in(path: str, line: int, row: Mapping[str, Any], field: str) -> list[str]:
    texts = row.get(field)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        what = "there is no such field" if field not in row else "this is not a list of texts"
        raise InputError(path, f'line {line}, field "{field}"', what, 'write ["one text", "another", …]')
    return texts


def refuse_repeats(path: str, names: Sequence[str]) -> None:
    earlier: set[str] = set()
    for line, name in enumerate(names, start=1):
        if name in earlier:
            raise InputError(path, f"context {line}", f"{shown(name)} appears twice", "give each context its own id")
        earlier.add(name)


def read_productions(args: argparse.Namespace) -> tuple[list[int], list[Productions]]:
    """The texts of an export of a study, or of a table with one text per row."""
    source = open_answers(args.file, accept_edited=args.accept_edited)
    return productions_of_study(args, source) if source.is_study else read_rows(args)


def productions_of_study(args: argparse.Namespace, source: AnswerFile) -> tuple[list[int], list[Productions]]:
    """People's answers in words to every item, with their writers; the responses of a set are texts by a model.

    The contexts are in the order of the file. InputError: nobody wrote about an item.
    """
    topics = {criterion.name for criterion in chosen_criteria(args, source, ("text",))}
    responses = sorted((name for name in source.names if RESPONSE.fullmatch(name)), key=lambda name: int(name[5:]))
    frame = source.read(["criterion", "item", "worker", "answer_text", *responses]).astype(object)
    frame = frame[frame["criterion"].isin(topics) & (frame["item"] != "") & (frame["answer_text"] != "")]
    if frame.empty:
        raise InputError(args.file, "", "nobody answered in words about an item", "name the question with --criterion")
    args.writer = args.writer or "worker"
    productions = []
    for item, rows in frame.groupby("item", sort=False):
        generated = [text for text in rows[responses].iloc[0].tolist() if text]
        models = {MODEL: generated} if generated else {}
        productions.append(Productions(str(item), rows["answer_text"].tolist(), rows["worker"].tolist(), models))
    return list(range(sum(len(texts.texts) for texts in productions))), productions


def read_rows(args: argparse.Namespace) -> tuple[list[int], list[Productions]]:
    """One text per row. The contexts are in the order of their first rows.

    InputError: a missing column, an empty context or source, or no text by people.
    """
    frame = read_texts(args.file)
    column = args.context or "context"
    require_columns(list(frame.columns), args.file, column, args.text, args.source, *filter(None, [args.writer]))
    if args.model:
        raise InputError(
            "--model", shown(args.model[0]), "decoders are in the column --source", "use it with --human only"
        )
    frame = frame.fillna("").assign(position=range(len(frame)))
    for name in (column, args.source):
        empty = frame.index[frame[name] == ""]
        if len(empty):
            raise InputError(args.file, f'row {empty[0]}, column "{name}"', "the cell is empty", "fill it in")
    order, productions = [], []
    for context, rows in frame.groupby(column, sort=False):
        by_people = rows[rows[args.source] == args.people]
        by_decoder = {
            str(name): part for name, part in rows[rows[args.source] != args.people].groupby(args.source, sort=False)
        }
        writers = by_people[args.writer].tolist() if args.writer else ()
        models = {name: part[args.text].tolist() for name, part in by_decoder.items()}
        productions.append(Productions(str(context), by_people[args.text].tolist(), writers, models))
        order += [position for part in (by_people, *by_decoder.values()) for position in part["position"]]
    if not any(texts.human for texts in productions):
        existing = ", ".join(shown(str(name)) for name in frame[args.source].unique()[:10])
        fix = f"there are {existing}; name the one for people with --people"
        raise InputError(args.file, f'column "{args.source}"', f"no row has {shown(args.people)}", fix)
    return order, productions


def read_embeddings(path: str, order: Sequence[int]) -> Floats:
    """The embeddings in the order of the texts in the contexts. InputError: not a table with one row per text."""
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(path, "", f"this is not an .npy file ({error})", "save it with numpy.save") from None
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise InputError(path, "", "this is not a table of numbers", "save an array of texts × dimensions")
    if len(vectors) != len(order):
        what = f"has {len(vectors):,} rows for {len(order):,} texts"
        raise InputError(path, "", what, "write one row per text, in the order of the file")
    if not np.isfinite(vectors).all():
        raise InputError(path, "", "has numbers that are not finite", "compute the embeddings again")
    return np.asarray(vectors[np.asarray(order, dtype=int)], dtype=float)


# --- writing ---


def write_table(path: str, table: pd.DataFrame) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow(table.columns)
        for row in table.itertuples(index=False, name=None):
            writer.writerow(["" if isinstance(value, float) and np.isnan(value) else value for value in row])


def estimates(views: Views, writers: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Estimate]:
    """Flat names: people.lexical-1.mu_human, top_p.lexical-1.w1_cross, writers.lexical-1.within."""
    groups = {f"{decoder}.{kind}": by_name for (decoder, kind), by_name in views.items()}
    groups |= {f"writers.{kind}": by_name for kind, by_name in writers.items()}
    return {f"{group}.{name}": estimate for group, by_name in groups.items() for name, estimate in by_name.items()}


def decoders_in(table: pd.DataFrame) -> list[str]:
    return [str(name) for name in dict.fromkeys(table["decoder"]) if name != PEOPLE]


def figures(args: argparse.Namespace, table: pd.DataFrame) -> dict[str, Any]:
    """The contexts with the worst fit by decoder and kind."""
    names = ["context", "mu_human", "mu_model", "mu_cross", "w1_model", "w1_cross"]
    worst: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for decoder in decoders_in(table):
        worst[decoder] = {}
        for kind in dict.fromkeys(table["kind"]):
            rows = worst_fit(table, decoder=decoder, kind=kind, most=args.worst)[names]
            worst[decoder][kind] = [without_nan(row) for row in rows.to_dict("records")]
    return {"worst": worst}


def print_tables(
    args: argparse.Namespace,
    data: Mapping[str, Any],
    table: pd.DataFrame,
    views: Views,
    writers: Mapping[str, Mapping[str, Estimate]],
) -> None:
    decoders = f", decoders {', '.join(data['decoders'])}" if data["decoders"] else ""
    texts = f"{counted(data['texts'], 'text')} ({data['by_people']:,} by people)"
    print(f"{args.file}: {counted(data['contexts'], 'context')}, {texts}{decoders}")
    print("\nMean distance of two texts by people, over contexts")
    for (decoder, kind), means in views.items():
        if decoder == PEOPLE:
            print(f"  {kind:<12} {means['mu_human']}  n = {counted(means['mu_human'].n, 'context')}")
    for decoder in decoders_in(table):
        print(f"\n{decoder}: μM − μH, μC − μH, W1(M, H), W1(C, H)")
        for kind in dict.fromkeys(table["kind"]):
            if (decoder, kind) in views:
                cells = "  ".join(str(estimate) for estimate in views[decoder, kind].values())
                print(f"  {kind:<12} {cells}")
        if decoder != CONTROL:
            rows = worst_fit(table, decoder=decoder, kind="lexical-1", most=args.worst)
            worst = ", ".join(
                f"{name} ({value:.3f})" for name, value in zip(rows["context"], rows["w1_cross"], strict=True)
            )
            print(f"  worst contexts on lexical-1, by W1(C, H): {worst}")
    if writers:
        print("\nWithin writers, between writers, difference")
    for kind, means in writers.items():
        print(f"  {kind:<12} {means['within']}  {means['between']}  {means['difference']}")
