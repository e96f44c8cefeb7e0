"""The data of one study, from which every section of a report is made, and its file format, the bundle.

A bundle is a folder or a zip archive: ``study.json`` (format, version, the description, rows and SHA-256 of every file)
and ``items.csv``, ``submissions.csv``, ``ratings.csv``, ``flags.csv``; ``offers.csv`` if pages showed live suggestions;
``own_ratings.csv`` if the items are texts that their writers rated; ``adjudications.csv`` if people settled differences
between answers; ``stopped.csv`` if workers stopped early for part pay. The CSV files are UTF-8 with the columns below.
Lists and objects are JSON in a cell, an empty cell means that the number is missing, and cells are not escaped for
spreadsheets. Numbers stay exact, so a report from a bundle has the same numbers as one from the database.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, BinaryIO

import pandas as pd

from analysis.archive import ArchiveError, read_files
from analysis.bundle_cells import CELL_OF, TEXT, Cell, refuse_strangers
from analysis.bundle_cells import BundleError as BundleError
from analysis.description import StudyDescription
from analysis.description_json import DescriptionError, description_from_json, description_to_json
from analysis.quality_control.exclusion import Exclusion, excluded_by
from analysis.quality_control.work import Check, gold_tally
from common.csv_files import csv_text
from common.files import replaced, write_whole

ITEM_COLUMNS = (
    "item",
    "role",
    "context",
    "parameter",
    "parameter_value",
    "texts",
    "responses",
    "metrics",
    "wanted",
    "cells",
    "check",
)
SUBMISSION_COLUMNS = (
    *("submission", "worker", "synthetic", "profile", "arm", "hit", "seconds", "received_at"),
    *("has_feedback", "decision", "reward"),
)
RATING_COLUMNS = ("submission", "item", "question", "target", "scale", "value", "text", "seconds")
FLAG_COLUMNS = ("submission", "reason", "detail", "value", "threshold")
OFFER_COLUMNS = (
    *("submission", "item", "step", "round", "side", "number", "suggester", "model", "decoder", "seed"),
    *("source", "latency", "asked_at", "shown_at", "text", "chosen", "switches"),
)
#: What a writer said about the text that became an item, in the study where it was written.
OWN_COLUMNS = ("item", "writer", "question", "value")
#: The final answers, where people settled differences: for each option (target), whether it is chosen (1 or 0).
ADJUDICATION_COLUMNS = ("item", "question", "target", "value")
#: A hit that somebody stopped for part pay: steps sent and in all, what was promised and what was paid (USD).
STOPPED_COLUMNS = ("worker", "synthetic", "arm", "hit", "steps_done", "steps_in_all", "owed", "paid", "stopped_at")

STUDY, FORMAT, BUNDLE_VERSION = "study.json", "hitserver-bundle", 1
#: The log of edits while workers typed, if the study records one.
EVENTS = "events.csv"
#: No figure includes a submission with one of these decisions: that of the latest review, or `EXTRA` for work that was
#: finished late, when somebody else had the place, and that no review has included.
EXCLUDE, EXTRA = "exclude", "extra"
#: Rows of a table that are in memory while it is written.
ROWS_AT_ONCE = 2_000
Record = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class StudyData:
    """Everything that the analysis uses of a study. Make it with `make_study_data`, which sets the types and ``n``.

    ``items``: ITEM_COLUMNS in the order of the file, with ``n``, the number of included submissions with ratings of it.
    ``submissions``: SUBMISSION_COLUMNS, including excluded submissions; ``decision`` is that of the latest review.
    ``all_ratings``: RATING_COLUMNS in the given order, including those of excluded submissions. ``item`` is empty if
    the question is not about an item; ``value`` and ``seconds`` are NaN if missing.
    ``items`` has the right answers of a gold or attention item in ``check`` (see `quality_control.work.Check`; an empty
    object otherwise). ``flags``: FLAG_COLUMNS, of all submissions; ``value`` and ``threshold`` are NaN if not recorded.
    ``offers``: OFFER_COLUMNS, the live suggestions that the pages of all submissions showed; ``step`` is the page, from
    0, ``seed`` is text, and ``latency`` is NaN if no text arrived.
    ``own_ratings``: OWN_COLUMNS, the ratings that the writers of items gave their own texts.
    ``adjudications``: ADJUDICATION_COLUMNS, the newest final answers to questions with several choices.
    ``stopped``: STOPPED_COLUMNS, hits stopped for part pay; ``steps_in_all`` is NaN if it depended on the answers.
    """

    description: StudyDescription
    items: pd.DataFrame
    submissions: pd.DataFrame
    all_ratings: pd.DataFrame
    flags: pd.DataFrame
    offers: pd.DataFrame
    own_ratings: pd.DataFrame
    adjudications: pd.DataFrame
    stopped: pd.DataFrame

    @cached_property
    def reviewed(self) -> pd.DataFrame:
        """The submissions that no review excluded, without extra ones."""
        return self.submissions[~self.submissions["decision"].isin([EXCLUDE, EXTRA])]

    @cached_property
    def excluded_by_rule(self) -> dict[int, list[str]]:
        """By submission, the study's rules that exclude it, whether or not a review excludes it as well."""
        rules = Exclusion.of(self.description.exclude)
        if not rules:
            return {}
        return excluded_by(
            rules,
            worker_of=dict(zip(self.submissions["submission"], self.submissions["worker"], strict=True)),
            flags=zip(self.flags["submission"], self.flags["reason"], strict=True),
            gold=self.gold_answers,
        )

    @cached_property
    def gold_answers(self) -> dict[str, tuple[int, int]]:
        """By worker, how many answers to gold items are right and how many there are, in all submissions."""
        gold = self.items[self.items["role"] == "gold"]
        checks = {
            item: check for item, stored in zip(gold["item"], gold["check"], strict=True) if (check := Check.of(stored))
        }
        rows = self.all_ratings[self.all_ratings["item"].isin(checks)]
        worker_of = dict(zip(self.submissions["submission"], self.submissions["worker"], strict=True))
        columns = rows[["submission", "item", "question", "target", "value", "text"]]
        judged = (
            (worker_of[submission], checks[item].is_right(question, target, None if math.isnan(value) else value, text))
            for submission, item, question, target, value, text in columns.itertuples(index=False, name=None)
        )
        return gold_tally((worker, right) for worker, right in judged if right is not None)

    @cached_property
    def used(self) -> pd.DataFrame:
        """The submissions included in the analysis: neither a review nor a rule excludes them."""
        return self.reviewed[~self.reviewed["submission"].isin(self.excluded_by_rule)]

    def without_rules(self) -> StudyData:
        """The same study as if it had no exclusion rules."""
        return _counted(replace(self, description=replace(self.description, exclude={}), items=self.items.copy()))

    @cached_property
    def ratings(self) -> pd.DataFrame:
        """The ratings of included submissions, with their ``worker``, ``synthetic`` and ``arm``.

        If a worker rated a main item in several submissions, only the first of them counts.
        """
        with_repeats = self._with_repeats
        return with_repeats[~with_repeats["repeated"]].drop(columns="repeated").reset_index(drop=True)

    @cached_property
    def _with_repeats(self) -> pd.DataFrame:
        """The ratings of included submissions, with ``repeated``: the same worker's later rating of a main item."""
        by_submission = self.used.set_index("submission")
        ratings = self.all_ratings[self.all_ratings["submission"].isin(by_submission.index)].reset_index(drop=True)
        joined = {name: ratings["submission"].map(by_submission[name]) for name in ("worker", "synthetic", "arm")}
        ratings = ratings.assign(**joined).astype({"synthetic": bool})
        first = ratings.groupby(["worker", "item"], sort=False)["submission"].transform("min")
        main = ratings["item"].isin(self.items.loc[self.items["role"] == "main", "item"])
        return ratings.assign(repeated=main & (ratings["submission"] != first))

    @property
    def left_out(self) -> dict[str, int]:
        """What no figure includes, by reason: numbers of submissions, and of ratings for ``repeated_ratings``.

        A submission counts once, under the first reason: not confirmed by its platform (then it is not in the data),
        excluded by a person, extra, excluded by a rule.
        """
        decisions = self.submissions["decision"]
        repeats = self._with_repeats
        return {
            "unconfirmed": self.description.unconfirmed,
            "excluded": int((decisions == EXCLUDE).sum()),
            "extra": int((decisions == EXTRA).sum()),
            "excluded_by_rule": len(self.reviewed) - len(self.used),
            "repeated_ratings": int((repeats["repeated"] & repeats["value"].notna()).sum()),
        }

    @property
    def excluded(self) -> int:
        """How many submissions a review or a rule excluded."""
        return len(self.submissions) - len(self.used)

    @property
    def synthetic(self) -> int:
        """How many of the included ratings come from simulated workers."""
        return int(self.ratings["synthetic"].sum())


def make_study_data(
    description: StudyDescription,
    *,
    items: Iterable[Record],
    submissions: Iterable[Record],
    ratings: Iterable[Record],
    flags: Iterable[Record] = (),
    offers: Iterable[Record] = (),
    own_ratings: Iterable[Record] = (),
    adjudications: Iterable[Record] = (),
    stopped: Iterable[Record] = (),
) -> StudyData:
    """The study from records in the order of the columns above (or mappings by column). Counts ``n`` of the items."""
    data = StudyData(
        description,
        _frame(items, ITEM_COLUMNS).astype({"parameter_value": float, "wanted": int}),
        _frame(submissions, SUBMISSION_COLUMNS).astype({"synthetic": bool, "has_feedback": bool, "seconds": float}),
        _frame(ratings, RATING_COLUMNS).astype({"value": float, "seconds": float}),
        _frame(flags, FLAG_COLUMNS).astype({"value": float, "threshold": float}),
        _frame(offers, OFFER_COLUMNS).astype({"latency": float, "chosen": bool}),
        _frame(own_ratings, OWN_COLUMNS).astype({"value": float}),
        _frame(adjudications, ADJUDICATION_COLUMNS).astype({"value": float}),
        _frame(stopped, STOPPED_COLUMNS).astype({"synthetic": bool, "steps_done": int, "steps_in_all": float}),
    )
    return _counted(data)


def _counted(data: StudyData) -> StudyData:
    """Set ``n`` of the items."""
    rated = data.ratings.drop_duplicates(["item", "submission"])["item"].value_counts()
    data.items["n"] = data.items["item"].map(rated).fillna(0).astype(int)
    return data


#: Columns that older bundles and short records lack, with what a missing cell means.
MISSING: dict[str, Any] = {"check": {}, "value": math.nan, "threshold": math.nan}


def _frame(records: Iterable[Record], columns: Sequence[str]) -> pd.DataFrame:
    """A frame that has its columns even without rows. A record may lack the last columns that MISSING names."""
    rows = []
    for record in records:
        if isinstance(record, Mapping):
            rows.append([record[name] if name in record or name not in MISSING else MISSING[name] for name in columns])
        else:
            rows.append([*record, *(MISSING[name] for name in columns[len(record) :])])
    return pd.DataFrame.from_records(rows, columns=list(columns))


# --- the bundle ---


def write_bundle(data: StudyData, out: BinaryIO) -> None:
    """Write the bundle as a zip archive. The same data give the same bytes."""
    write_bundle_tables(data.description, _rows_of(data), out)


def write_bundle_tables(
    description: StudyDescription,
    tables: Mapping[str, Iterable[Sequence[Any]]],
    out: BinaryIO,
    files: Mapping[str, Iterable[bytes]] | None = None,
) -> int:
    """Write a bundle from rows in the order of TABLES' columns, one at a time. Returns the number of ratings.

    ``tables`` has the rows of every file of TABLES; its order is the order of the files. Nothing is held in memory, so
    ``study.json``, which contains the files' hashes, comes last in the archive. ``files``, such as the images
    that items show, are put beside the tables under their names. `read_bundle` does not read them; see `read_events`.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        written = {}
        for name, rows in _present(tables):
            with archive.open(_member(name), "w", force_zip64=True) as file:
                written[name] = _write_table(TABLES[name], rows, file)
        for name, pieces in (files or {}).items():
            with archive.open(_member(name), "w", force_zip64=True) as file:
                for piece in pieces:
                    file.write(piece)
        archive.writestr(_member(STUDY), _head(description, written))
    return int(written["ratings.csv"]["rows"])


def _present(tables: Mapping[str, Iterable[Sequence[Any]]]) -> Iterator[tuple[str, Iterable[Sequence[Any]]]]:
    """The tables that belong in the bundle. Whether an optional one has rows is only known when its turn comes."""
    for name, rows in tables.items():
        remaining = iter(rows)
        first = list(islice(remaining, 1))
        if first or name not in OPTIONAL:
            yield name, chain(first, remaining)


def write_bundle_folder(data: StudyData, folder: Path) -> None:
    """Write the bundle as files in ``folder``, which is created if missing. ``study.json`` is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, rows in _present(_rows_of(data)):
        with replaced(folder / name) as file:
            written[name] = _write_table(TABLES[name], rows, file)
    write_whole(folder / STUDY, _head(data.description, written))


def read_bundle(path: str | Path, *, accept_edited: bool = False) -> StudyData:
    """The study in a folder or zip archive. ``accept_edited``: CSV files may have changed since they were written.

    Raises BundleError: no such file or folder, unsafe or oversized archive, file or column missing, another version,
    edited rows, a cell that is not valid in its column, a rating of a submission or item that does not exist.
    """
    try:
        files = read_files(Path(path), (STUDY, *TABLES))
        head = _read_head(files)
        tables: dict[str, list[list[Any]]] = {}
        for name in TABLES:
            if name not in files and name in OPTIONAL and name not in head["files"]:
                tables[name] = []
                continue
            if name not in files:
                raise BundleError(f"{name} is missing")
            edited = hashlib.sha256(files[name]).hexdigest() != head["files"].get(name, {}).get("sha256")
            if edited and not accept_edited:
                raise BundleError(f"{name} was changed since the bundle was written; accept it with --accept-edited")
            tables[name] = _read_table(name, files.pop(name))
        refuse_strangers(tables)
        description = description_from_json(head.get("study"))
        return make_study_data(description, **{name.removesuffix(".csv"): rows for name, rows in tables.items()})
    except (ArchiveError, BundleError) as error:
        raise BundleError(f"{path}: {error}") from None
    except DescriptionError as error:
        raise BundleError(f"{path}: {STUDY}: {error}") from None


def read_events(path: str | Path) -> pd.DataFrame:
    """The log of edits in a bundle: one row per change of a text box, with the columns of the export “events”.

    It can be much larger than all answers, so only this function reads it. Cells are texts; empty without a log.
    Raises BundleError.
    """
    try:
        content = read_files(Path(path), [EVENTS]).get(EVENTS)
    except ArchiveError as error:
        raise BundleError(f"{path}: {error}") from None
    return pd.DataFrame() if content is None else pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def _member(name: str) -> zipfile.ZipInfo:
    """A member dated 1980, which zip uses for a file without a date."""
    member = zipfile.ZipInfo(name)
    member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return member


def _rows_of(data: StudyData) -> dict[str, Iterable[Sequence[Any]]]:
    frames = {
        "submissions.csv": data.submissions,
        "items.csv": data.items,
        "ratings.csv": data.all_ratings,
        "flags.csv": data.flags,
    }
    frames |= zip(OPTIONAL, (data.offers, data.own_ratings, data.adjudications, data.stopped), strict=True)
    return {name: frame[list(TABLES[name])].itertuples(index=False, name=None) for name, frame in frames.items()}


def _head(description: StudyDescription, files: Mapping[str, Mapping[str, Any]]) -> bytes:
    head = {"format": FORMAT, "version": BUNDLE_VERSION, "files": files, "study": description_to_json(description)}
    return json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1).encode()


def _read_head(files: Mapping[str, bytes]) -> dict[str, Any]:
    if STUDY not in files:
        raise BundleError(f"{STUDY} is missing: this is not a bundle of a study")
    try:
        head = json.loads(files[STUDY])
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{STUDY} is not JSON ({error})") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise BundleError(f"{STUDY} is not that of a bundle: its format is not “{FORMAT}”")
    if head.get("version") != BUNDLE_VERSION:
        version = str(head.get("version"))[:20]
        raise BundleError(f"the bundle has version {version}; this program reads version {BUNDLE_VERSION}")
    listed_files = head.get("files")
    if not isinstance(listed_files, dict) or not all(isinstance(file, dict) for file in listed_files.values()):
        raise BundleError(f"{STUDY}: files is not a list of files with their rows and sha256")
    return head


#: The files of a bundle except ``study.json``, with their columns.
TABLES: dict[str, tuple[str, ...]] = {
    "items.csv": ITEM_COLUMNS,
    "submissions.csv": SUBMISSION_COLUMNS,
    "ratings.csv": RATING_COLUMNS,
    "flags.csv": FLAG_COLUMNS,
    "offers.csv": OFFER_COLUMNS,
    "own_ratings.csv": OWN_COLUMNS,
    "adjudications.csv": ADJUDICATION_COLUMNS,
    "stopped.csv": STOPPED_COLUMNS,
}
#: A bundle omits these files if they have no rows.
OPTIONAL = ("offers.csv", "own_ratings.csv", "adjudications.csv", "stopped.csv")
#: Columns that bundles of earlier releases lack.
ADDED = {("items.csv", "check"), ("flags.csv", "value"), ("flags.csv", "threshold")}


def _write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], file: IO[bytes]) -> dict[str, Any]:
    """Write a table. Returns the number of rows and the SHA-256 of the file."""
    digest, count = hashlib.sha256(), 0
    writers = [CELL_OF.get(column, TEXT).write for column in columns]
    cells = ([write(value) for write, value in zip(writers, row, strict=True)] for row in rows)
    lines: Iterator[Sequence[str]] = chain([columns], cells)
    while batch := list(islice(lines, ROWS_AT_ONCE)):
        content = csv_text(batch, line_end="\r\n").encode()
        digest.update(content)
        file.write(content)
        count += len(batch)
    return {"rows": count - 1, "sha256": digest.hexdigest()}


def _read_table(name: str, content: bytes) -> list[list[Any]]:
    """The rows of a file, in the order of its columns here, whatever their order in the file. Ignores other columns."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BundleError(f"{name} is not UTF-8 (byte {error.start:,})") from None
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        records = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(records, [])
        missing = [column for column in TABLES[name] if column not in header and (name, column) not in ADDED]
        if missing:
            raise BundleError(f"{name} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}")
        place_of = {column: header.index(column) for column in TABLES[name] if column in header}
        places = [(column, place_of.get(column), CELL_OF.get(column, TEXT)) for column in TABLES[name]]
        return [_read_row(name, number, row, len(header), places) for number, row in enumerate(records, 1) if row]
    except csv.Error as error:
        raise BundleError(f"{name} is not valid CSV ({error})") from None
    finally:
        # The limit applies to the whole process, so it is restored at once. A cell may be as long as the file.
        csv.field_size_limit(limit)


def _read_row(
    name: str, number: int, row: Sequence[str], width: int, places: Sequence[tuple[str, int | None, Cell]]
) -> list[Any]:
    if len(row) != width:
        raise BundleError(f"{name}, row {number} has {len(row)} cells, the header {width}")
    values = []
    for column, position, cell in places:
        if position is None:
            values.append(MISSING[column])
            continue
        try:
            values.append(cell.read(row[position]))
        except (ValueError, KeyError):
            raise BundleError(f"{name}, row {number}, {column} is {row[position][:40]!r}, not {cell.what}") from None
    return values
