"""What ``compare`` compares: the answers on every criterion with the levels of their factors, from any file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.answer_files.files import AnswerFile, Criterion, LevelColumn
from analysis.commands.criteria import chosen_criteria, rows_about
from analysis.commands.rows import MISSING, chosen_rows, condition_of, numbers, refuse_empty
from analysis.findings import Answers, level_codes
from analysis.findings.answers import Codes, names_in_words, natural
from analysis.input_errors import InputError, number_in, shown

PREFERENCE = "use python -m analysis preference"
#: More labels than this are no categories.
MOST_LABELS = 12


@dataclass(frozen=True)
class Factor:
    """A factor of some answers: codes (N,) of its levels, the levels, the one to compare with (empty: all), and notes
    on levels without answers."""

    name: str
    codes: Codes
    levels: tuple[str, ...]
    reference: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compared:
    """The answers on one criterion, called ``label``, with their factors."""

    label: str
    answers: Answers
    factors: Sequence[Factor]


@dataclass
class Input:
    """Everything that is compared, counts of it, and sentences on what is not."""

    compared: list[Compared] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: On the level that the others are compared with.
    reference_note: str = ""


def read_input(args: argparse.Namespace, source: AnswerFile) -> Input:
    """InputError: an option or a cell that cannot be used, nothing to compare."""
    if source.is_study:
        return of_study(args, source)
    for name in ("value", "factor"):
        if not getattr(args, name):
            fix = "name the column; only exports of a study need no options"
            raise InputError(args.file, f"--{name}", "is missing", fix)
    return of_table(args, source)


# --- a table with columns of somebody's own ---


def of_table(args: argparse.Namespace, source: AnswerFile) -> Input:
    conditions = [condition_of(text) for text in args.where]
    named = [args.worker, *([] if args.no_item else [args.item]), *args.factor]
    optional = [column for column in (args.part, args.context) if column]
    columns = dict.fromkeys([args.value, *named, *optional, *(column for column, _ in conditions)])
    rows = chosen_rows(source.read(list(columns)), args.file, conditions)
    frame = answered(rows, args)
    for column in named:
        if column in args.factor:
            refuse_empty(frame[column], args.file, "give the answer a level, or choose rows with --where")
        else:
            refuse_empty(frame[column], args.file)
    factors = [LevelColumn(name, name, args.reference if not number else "") for number, name in enumerate(args.factor)]
    values = values_in(args, frame, args.value, None)
    answers = answers_of(
        args,
        frame,
        values,
        items="" if args.no_item else args.item,
        part=args.part or "",
        context=args.context or "",
    )
    compared = with_factors(
        frame, answers, factors, {name: unanswered_levels(rows, frame, name) for name in args.factor}
    )
    return Input(compared, counts_of(args, frame, item="" if args.no_item else args.item))


def unanswered_levels(rows: pd.DataFrame, with_answer: pd.DataFrame, factor: str) -> tuple[str, ...]:
    """A note on the levels of the factor that only rows without an answer have."""
    levels = set(rows[factor].dropna().unique()) - set(with_answer[factor].unique()) - {""}
    names = sorted(map(str, levels), key=natural)
    return (f"Without answers, so not compared: {names_in_words(names)}.",) if names else ()


def answered(frame: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    """The rows with an answer. InputError: there are none."""
    column = args.value or "value"
    used = ~(frame[column].isna() | frame[column].isin(MISSING)).to_numpy()
    if not used.any():
        raise InputError(args.file, f'column "{column}"', "all cells are empty", "name the column with the answers")
    return frame[used]


Values = dict[str, tuple[np.ndarray[Any, np.dtype[np.float64]], tuple[float, float] | None]]


def values_in(
    args: argparse.Namespace, frame: pd.DataFrame, column: str, scale: tuple[float, float] | None, start: str = ""
) -> Values:
    """The answers by criterion with the ends of its scale: the column itself, or the share of each word in it.

    ``scale``: the ends if no option gives them. ``start`` begins the name of a share. InputError: neither.
    """
    cells = frame[column]
    used = set(cells.unique())
    bounds = scale if args.low is None else (args.low, args.high)
    if all(number_in(str(text)) is not None for text in used):
        values = numbers(cells, args.file)
        if bounds and ((values < bounds[0]) | (values > bounds[1])).any():
            if args.low is None:
                bounds = None  # an answer on another scale, such as that of another arm
            else:
                where = f'column "{column}"'
                raise InputError(args.file, where, "an answer is outside the scale", "correct --low and --high")
        return {start or column: (values, bounds)}
    if len(used) > MOST_LABELS or args.low is not None:
        numbers(cells, args.file)  # names the first cell that is not a number
    name = f"{start}, " * bool(start)
    return {
        f"{name}share of {shown(str(word))}": ((cells == word).to_numpy(dtype=float), (0.0, 1.0))
        for word in sorted(used)
    }


def answers_of(
    args: argparse.Namespace, frame: pd.DataFrame, values: Values, *, items: str, part: str, context: str
) -> dict[str, Answers]:
    """The same with who answered, and about what, by the columns; an empty name is that of none."""
    columns: dict[str, Any] = {
        name: codes_of(frame[column]) if column else None
        for name, column in (("items", items), ("parts", part), ("workers", args.worker))
    }
    columns["contexts"] = names_of(frame[context]) if context else None
    return {label: Answers.of(numbers_, bounds=bounds, **columns) for label, (numbers_, bounds) in values.items()}


def names_of(cells: pd.Series) -> np.ndarray[Any, np.dtype[np.object_]]:
    """The text of every cell; a missing one is an empty text."""
    texts = np.array([*map(str, cells.cat.categories), ""], dtype=object)
    return texts[cells.cat.codes.to_numpy()]


def codes_of(cells: pd.Series) -> Codes:
    """A number for the text of every cell; a missing one is an empty text."""
    codes = cells.cat.codes.to_numpy(dtype=np.int64)
    empty = np.flatnonzero(cells.cat.categories == "")
    return np.asarray(np.where(codes < 0, empty[0], codes) if len(empty) else codes, dtype=np.int64)


def with_factors(
    frame: pd.DataFrame,
    answers: dict[str, Answers],
    factors: Sequence[LevelColumn],
    notes: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Compared]:
    coded = []
    for factor in factors:
        cells = frame[factor.column]
        texts, places = ["", *map(str, cells.cat.categories)], cells.cat.codes.to_numpy(dtype=np.int64) + 1
        used = np.flatnonzero(np.bincount(places))
        of_text = np.zeros(len(texts), dtype=np.int64)
        of_text[used], levels = level_codes([texts[place] for place in used], factor.order)
        codes = of_text[places]
        coded.append(Factor(factor.name, codes, levels, factor.reference, (notes or {}).get(factor.name, ())))
    return [Compared(label, of_criterion, coded) for label, of_criterion in answers.items()]


def counts_of(args: argparse.Namespace, frame: pd.DataFrame, *, item: str) -> dict[str, int]:
    counts = {"answers": len(frame), "workers": int(frame[args.worker].nunique())}
    if item:
        counts["items"] = int(frame[item].nunique())
    return counts


# --- exports of a study ---


def of_study(args: argparse.Namespace, source: AnswerFile) -> Input:
    """Every criterion with a mean, or whose answers have words, by the study's factors or those that options name."""
    conditions = [condition_of(text) for text in args.where]
    factors = factors_named(args, source)
    if not factors:
        what = "there is nothing to compare: no column such as system with two levels or more, and no arms"
        raise InputError(args.file, "", what, "name a column of levels with --factor")
    whole = Input()
    if not source.declares and not args.reference:
        whole.reference_note = (
            "This file does not contain the reference that the study may declare, so every level is compared with "
            "every other. To compare with one level, name it with --reference, or use the bundle."
        )
    frames = []
    if all(criterion.level in ("pairwise", "text") for criterion in source.criteria):
        raise InputError(args.file, "", "every question compares two texts, or asks for words", PREFERENCE)
    for criterion in chosen_criteria(args, source, ("", "ordinal", "interval", "nominal"), conditions):
        frame = rows_about(source, criterion, columns_of(args, source, factors, conditions), conditions)
        frame = frame[(frame[args.value or "value"] != "").to_numpy()]
        if len(frame):
            frames.append(frame)
            whole.compared += of_criterion(args, source, criterion, frame, factors, whole.notes)
    whole.notes += [
        f"“{criterion.name}” compares two texts: {PREFERENCE}"
        for criterion in source.criteria
        if criterion.level == "pairwise" and not args.criterion
    ]
    if not whole.compared:
        reasons = "; ".join(dict.fromkeys(whole.notes)) or "no question has answers in numbers"
        raise InputError(args.file, "", f"nothing can be compared: {reasons}")
    columns = [args.worker, *([] if args.no_item else [args.item])]
    whole.counts = {"answers": sum(len(frame) for frame in frames)}
    for column, name in zip(columns, ("workers", "items"), strict=False):
        names = [frame[column].cat.categories[np.unique(frame[column].cat.codes)] for frame in frames]
        whole.counts[name] = len(set().union(*names) - {""})
    return whole


def factors_named(args: argparse.Namespace, source: AnswerFile) -> list[LevelColumn]:
    if not args.factor:
        return source.factors
    factors = [source.factor(name) for name in args.factor]
    if not args.reference:
        return factors
    first = factors[0]
    return [LevelColumn(first.name, first.column, args.reference, first.order), *factors[1:]]


def columns_of(
    args: argparse.Namespace, source: AnswerFile, factors: Sequence[LevelColumn], conditions: Sequence[tuple[str, str]]
) -> list[str]:
    detection = source.detection
    optional = [args.context or source.context, detection.source if detection else ""]
    named = [args.value or "value", "label", args.worker, args.item, args.part or "part", *optional]
    return [name for name in (*named, *(f.column for f in factors), *(column for column, _ in conditions)) if name]


def of_criterion(
    args: argparse.Namespace,
    source: AnswerFile,
    criterion: Criterion,
    frame: pd.DataFrame,
    factors: Sequence[LevelColumn],
    notes: list[str],
) -> list[Compared]:
    part, detection = args.part or "part", source.detection
    own = args.no_item or source.own_work or bool((frame[args.item] == "").all())
    if not own:
        frame = frame[(frame[args.item] != "").to_numpy()]
    name, column = criterion.name, args.value or "value"
    if detection and detection.topic == criterion.name and not args.value:
        from analysis.detection import judgements_from_arrays  # loads what few studies need

        workers, texts, origins = (frame[name].astype(str) for name in (args.worker, args.item, detection.source))
        judged = judgements_from_arrays(
            workers,
            texts,
            origins,
            numbers(frame[column], args.file),
            human=detection.human,
        )
        values: Values = {"accuracy": (judged.frame["right"].to_numpy(dtype=float), (0.0, 1.0))}
    elif criterion.level == "nominal" and not args.value:
        if (frame[part] != "").any():
            notes.append(f"“{name}” has several answers of one worker to one item: see python -m analysis report")
            return []
        words = frame["label"].where(frame["label"] != "", frame[column]) if (frame["label"] != "").any() else None
        used = frame if words is None else frame.assign(label=pd.Categorical(words.astype(object)))
        if used["label" if words is not None else column].nunique() > MOST_LABELS:
            notes.append(f"“{name}” has more than {MOST_LABELS} different answers")
            return []
        values = values_in(args, used, "label" if words is not None else column, None, name)
    else:
        values = values_in(args, frame, column, criterion.bounds, name)
    answers = answers_of(
        args,
        frame,
        values,
        items="" if own else args.item,
        part=part,
        context="" if own else args.context or source.context,
    )
    varying = [factor for factor in factors if len(set(frame[factor.column].dropna().unique()) - {""}) > 1]
    if not varying:
        listed = ", ".join(factor.name for factor in factors)
        notes.append(f"“{name}” has answers to one level of {listed} only")
        return []
    return with_factors(frame, answers, varying)
