"""The lines of stories that ``writing`` reads: from a bundle, the export ``turns``, or answers in any form."""

from __future__ import annotations

import argparse

import pandas as pd

from analysis.answer_files.files import AnswerFile
from analysis.answer_files.opening import open_answers
from analysis.answer_files.rows import BundleFile
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.tables import InputError, format_of, read_texts, require_columns, shown
from analysis.writing.story_lines import LINE_COLUMNS, Offered, lines_frame, story_lines
from common.cells import restore_cell

#: The columns of a table of lines; the export “turns” has them.
COLUMNS = ("story", "worker", "turn", "round", "author", "text", "chosen", "submitted")
#: What only the export has. In its CSV files, cells that a spreadsheet would run are guarded.
OF_EXPORT = ("study", "synthetic", "included", "confirmation")
YES_NO = {"true": True, "false": False, "": False}
#: Stands for the text of a suggestion that nobody chose where only answers are known.
UNKNOWN = "…"


def read_lines(args: argparse.Namespace) -> tuple[pd.DataFrame, bool]:
    """The lines with LINE_COLUMNS, and whether the texts of all suggestions are known.

    InputError: unusable, or without any line.
    """
    if args.every < 1:
        raise InputError("--every", str(args.every), "suggestions cannot be at every 0th turn", "give 1 or more")
    source = open_answers(args.file, accept_edited=args.accept_edited)
    if isinstance(source, BundleFile):
        lines = lines_of(Source(source.data), topic=args.turn, every=args.every)
    elif source.is_study:
        lines = lines_of_answers(args, source)
    else:
        return table_of_lines(args.file), True
    if lines.empty:
        fix = "name the question with --turn, or see “python -m analysis report” for other studies"
        raise InputError(args.file, f"question “{args.turn}”", "no included submission has a turn", fix)
    return lines, isinstance(source, BundleFile)


def lines_of_answers(args: argparse.Namespace, source: AnswerFile) -> pd.DataFrame:
    """The turns, and the suggestion that was chosen in each round. Nothing else was answered."""
    frame = source.read(["submission", "item", "worker", "criterion", "part", "label", "answer_text"]).astype(object)
    frame = frame[frame["criterion"].isin([args.turn, "choice", "suggested"])]
    suggesters = sorted(set(frame.loc[frame["criterion"] == "choice", "label"]) - {""})
    stories = []
    for (submission, item), rows in frame.groupby(["submission", "item"], sort=False):
        of_topic = {
            topic: {
                int(part): row for part, row in zip(part_rows["part"], part_rows.index, strict=True) if part.isdecimal()
            }
            for topic, part_rows in rows.groupby("criterion", sort=False)
        }
        turns = {turn: str(rows.at[row, "answer_text"]) for turn, row in of_topic.get(args.turn, {}).items()}
        chosen = {number: rows.at[row, "label"] for number, row in of_topic.get("choice", {}).items()}
        offers = []
        for number, row in of_topic.get("suggested", {}).items():
            if number not in chosen:
                # A suggestion stood alone, and it is not known whose.
                turns.pop(number * args.every, None)
                continue
            for side, name in enumerate(suggesters):
                text = str(rows.at[row, "answer_text"]) if name == chosen[number] else UNKNOWN
                offers.append(Offered(number, str(side), 1, name, text, name == chosen[number]))
        lines = story_lines(turns, offers, every=args.every)
        stories.append((f"{submission} {item}".strip(), str(rows["worker"].iloc[0]), lines))
    return lines_frame(stories)


def table_of_lines(path: str) -> pd.DataFrame:
    """A table of lines. Rows with ``included`` false are left out. InputError: an invalid cell, or no row left."""
    frame = read_texts(path)
    require_columns(list(frame.columns), path, *COLUMNS)
    frame = frame.fillna("")
    if set(OF_EXPORT) <= set(frame.columns) and format_of(path).kind == "separated":
        texts = ["text", "submitted"]
        frame = frame.assign(**{name: [restore_cell(cell) for cell in frame[name]] for name in texts})
    if "included" in frame.columns:
        frame = frame[
            [true_or_false(path, frame, row, "included") or not frame["included"][row] for row in frame.index]
        ]
    if frame.empty:
        raise InputError(path, "", "every row is excluded", "export a study with included submissions")
    columns = {
        "story": frame["story"].astype(str),
        "writer": frame["worker"].astype(str),
        "turn": [whole_number(path, frame, row, "turn") for row in frame.index],
        "round": [whole_number(path, frame, row, "round") for row in frame.index],
        "author": frame["author"],
        "text": frame["text"],
        "chosen": [true_or_false(path, frame, row, "chosen") for row in frame.index],
        "submitted": frame["submitted"],
    }
    lines = pd.DataFrame(columns, columns=list(LINE_COLUMNS))
    empty = lines.index[lines["text"] == ""]
    if len(empty):
        raise InputError(path, f'row {empty[0]}, column "text"', "the cell is empty", "leave out lines without a text")
    return lines


def whole_number(path: str, frame: pd.DataFrame, row: int, column: str) -> int:
    cell = str(frame[column][row])
    if not cell.isdecimal():
        raise InputError(path, f'row {row}, column "{column}"', f"{shown(cell)} is not a whole number", "count from 1")
    return int(cell)


def true_or_false(path: str, frame: pd.DataFrame, row: int, column: str) -> bool:
    cell = str(frame[column][row]).lower()
    if cell not in YES_NO:
        raise InputError(
            path, f'row {row}, column "{column}"', f"{shown(cell)} is not true or false", "write true or false"
        )
    return YES_NO[cell]
