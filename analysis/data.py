"""The data of one study, from which every section of a report is made, and its file format, the bundle.

A bundle is a folder or a zip archive: ``study.json`` (format, version, the description, rows and SHA-256 of every file)
and ``items.csv``, ``submissions.csv``, ``ratings.csv``, ``flags.csv``; ``offers.csv`` if pages showed live suggestions;
``own_ratings.csv`` if the items are texts that their writers rated; ``adjudications.csv`` if people settled differences
between answers; ``stopped.csv`` if workers stopped early for part pay;
``questionnaires.csv`` if people were asked before or after their tasks; ``tries.csv`` if they had a training, or items
explained what was not right; ``judges.csv`` and ``judge_ratings.csv`` if language models judged the items, too. For
people who publish it, there are also
``croissant.json``, ``README.md`` and the pages that workers saw, in ``pages/`` (`read_pages`). The CSV files are UTF-8
with the columns of `analysis.study_tables`. Lists and objects are JSON in a cell, an empty cell means that the number
is missing, and cells are not escaped for spreadsheets. Numbers stay exact, so a report from a bundle has the same
numbers as one from the database.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.archive import ArchiveError, read_files
from analysis.bundle_cells import CELL_OF, refuse_strangers
from analysis.bundle_cells import BundleError as BundleError
from analysis.bundle_tables import frame_of, read_table
from analysis.description import StudyDescription
from analysis.description_json import DescriptionError, description_from_json, description_to_json
from analysis.paper.dataset import dataset_files
from analysis.quality_control.answer_rules import Rated
from analysis.quality_control.exclusion import Exclusion, excluded_by
from analysis.quality_control.work import Check, gold_tally
from analysis.rating_codes import RatingCodes, repeated_ratings, submissions_by_item
from analysis.study_tables import TABLES, Record, Table
from common.csv_files import csv_text
from common.files import replaced, write_whole

STUDY, FORMAT, BUNDLE_VERSION = "study.json", "hitserver-bundle", 1
#: The log of edits while workers typed, if the study records one.
EVENTS = "events.csv"
#: No figure includes a submission with one of these decisions: that of the latest review, or `EXTRA` for work that was
#: finished late, when somebody else had the place, and that no review has included.
EXCLUDE, EXTRA = "exclude", "extra"
#: Rows of a table that are in memory while it is written.
ROWS_AT_ONCE = 2_000
Flags = npt.NDArray[np.bool_]
#: Names of pages. A bundle may come from anybody, and the names become those of files.
_PAGE = re.compile(r"pages/[a-z0-9][a-z0-9-]{0,80}\.html")


class Page(NamedTuple):
    """A page that workers saw, as an HTML file that needs no other."""

    title: str
    content: bytes


@dataclass(frozen=True)
class StudyData:
    """Everything that the analysis uses of a study: its tables as frames with the columns that TABLES gives them.

    Make it with `make_study_data`, which sets the types and ``n``.
    ``items`` are in the order of the file, with ``n``, the number of included submissions with ratings of each.
    ``submissions`` and ``flags`` include excluded submissions, and ``all_ratings`` theirs, in the given order.
    ``offers`` are what the pages of all submissions showed, ``own_ratings`` what the writers of items
    said about their own texts, and ``adjudications`` the newest final answers to questions with several choices.
    ``questionnaires`` are all answers to questions around the tasks, also of people who could not take part, and
    ``tries`` all answers of the training and those to items that explain. ``judges`` and their ``judge_ratings`` are of
    language models. No figure of people's answers includes them.
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
    questionnaires: pd.DataFrame
    judges: pd.DataFrame
    judge_ratings: pd.DataFrame
    tries: pd.DataFrame

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
        """By worker, how many first answers to gold items are right and how many there are, in all submissions."""
        gold = self.items[self.items["role"] == "gold"]
        checks = {
            item: check for item, stored in zip(gold["item"], gold["check"], strict=True) if (check := Check.of(stored))
        }
        rows = self.all_ratings[self.all_ratings["item"].isin(checks)]
        worker_of = dict(zip(self.submissions["submission"], self.submissions["worker"], strict=True))
        columns = rows[["submission", "item", "question", "target", "value", "text"]]
        rated = (
            (
                submission,
                worker_of[submission],
                item,
                Rated(topic, target, None if math.isnan(value) else value, text),
            )
            for submission, item, topic, target, value, text in columns.itertuples(index=False, name=None)
        )
        return gold_tally(rated, checks, self.tries_of_tasks)

    @cached_property
    def tries_of_tasks(self) -> dict[tuple[int, Any], list[tuple[int, Rated]]]:
        """By submission and item, the ratings of every try at pages that can come back with an explanation."""
        rows = self.tries[(self.tries["submission"] != 0) & (self.tries["question"] != "")]
        columns = rows[["submission", "item", "attempt", "question", "target", "value", "text"]]
        tries: dict[tuple[int, Any], list[tuple[int, Rated]]] = {}
        for submission, item, attempt, topic, target, value, text in columns.itertuples(index=False, name=None):
            rated = Rated(topic, target, None if math.isnan(value) else value, text)
            tries.setdefault((submission, item), []).append((attempt, rated))
        return tries

    @cached_property
    def used(self) -> pd.DataFrame:
        """The submissions included in the analysis: neither a review nor a rule excludes them."""
        return self.reviewed[~self.reviewed["submission"].isin(self.excluded_by_rule)]

    def without_rules(self) -> StudyData:
        """The same study as if it had no exclusion rules."""
        data = replace(self, description=replace(self.description, exclude={}), items=self.items.copy())
        return _counted(data, self.all_codes)

    @cached_property
    def all_codes(self) -> RatingCodes:
        """The columns of ``all_ratings`` as codes."""
        return RatingCodes(self.all_ratings)

    @cached_property
    def ratings(self) -> pd.DataFrame:
        """The ratings of included submissions, with their ``worker``, ``synthetic`` and ``arm``.

        If a worker rated a main item in several submissions, only the first of them counts.
        """
        return self.rating_codes.frame

    @cached_property
    def rating_codes(self) -> RatingCodes:
        """The columns of `ratings` as codes."""
        codes, repeated = self._with_repeats
        if not repeated.any():
            return codes
        return codes.chosen(~repeated, codes.frame[~repeated].reset_index(drop=True))

    @cached_property
    def _with_repeats(self) -> tuple[RatingCodes, Flags]:
        """The ratings of included submissions as codes, and which of them (N,) are the same worker's later rating of a
        main item."""
        ratings = self.all_ratings
        codes = self.all_codes
        submissions = codes.of("submission")
        places = pd.Index(self.used["submission"]).get_indexer(pd.Index(submissions.names))[submissions.codes]
        used = places >= 0
        if not used.all():
            ratings, places = ratings[used], places[used]
        ratings = ratings.reset_index(drop=True)
        joined = {name: self.used[name].take(places).array for name in ("worker", "synthetic", "arm")}
        codes = codes.chosen(used, ratings.assign(**joined))
        main = self.items.loc[self.items["role"] == "main", "item"]
        return codes, repeated_ratings(codes, pd.factorize(self.used["worker"])[0][places], main)

    @property
    def left_out(self) -> dict[str, int]:
        """What no figure includes, by reason: numbers of submissions, and of ratings for ``repeated_ratings``.

        A submission counts once, under the first reason: not confirmed by its platform (then it is not in the data),
        excluded by a person, extra, excluded by a rule.
        """
        decisions = self.submissions["decision"]
        codes, repeated = self._with_repeats
        return {
            "unconfirmed": self.description.unconfirmed,
            "excluded": int((decisions == EXCLUDE).sum()),
            "extra": int((decisions == EXTRA).sum()),
            "excluded_by_rule": len(self.reviewed) - len(self.used),
            "repeated_ratings": int((repeated & codes.frame["value"].notna()).sum()),
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
    items: Iterable[Record] | pd.DataFrame,
    submissions: Iterable[Record] | pd.DataFrame,
    ratings: Iterable[Record] | pd.DataFrame,
    read_codes: RatingCodes | None = None,
    **others: Iterable[Record] | pd.DataFrame,
) -> StudyData:
    """The study from the records of its tables, each by its name in TABLES, or their frames (`analysis.bundle_tables`).

    Counts ``n`` of the items. ``read_codes``: columns of the frame ``ratings`` that are codes already.

    The records are read in the order of TABLES. TypeError for the name of no table.
    """
    records = {"items": items, "submissions": submissions, "ratings": ratings, **others}
    if strangers := records.keys() - TABLES.keys():
        raise TypeError(f"make_study_data() knows no table {', '.join(sorted(strangers))}")
    frames = {}
    for name, table in TABLES.items():
        rows = records.get(name, ())
        frames[table.attribute] = rows if isinstance(rows, pd.DataFrame) else frame_of(table, rows)
    return _counted(StudyData(description, **frames), read_codes)


def _counted(data: StudyData, codes: RatingCodes | None = None) -> StudyData:
    """Set ``n`` of the items. ``codes``: those of all ratings, if they are known."""
    if codes is not None:
        vars(data)["all_codes"] = codes
    rated = submissions_by_item(data.rating_codes)
    data.items["n"] = data.items["item"].map(rated).fillna(0).astype(int)
    return data


# --- the bundle ---


def write_bundle(data: StudyData, out: BinaryIO, pages: Mapping[str, Page] | None = None) -> None:
    """Write the bundle as a zip archive, with the ``pages`` that workers saw. The same data give the same bytes."""
    write_bundle_tables(data.description, _rows_of(data), out, pages=pages)


def write_bundle_tables(
    description: StudyDescription,
    tables: Mapping[str, Iterable[Sequence[Any]]],
    out: BinaryIO,
    files: Mapping[str, Iterable[bytes]] | None = None,
    pages: Mapping[str, Page] | None = None,
) -> int:
    """Write a bundle from the rows of every table, by its name in TABLES. Returns the number of ratings.

    The tables are written in the order of TABLES, a row at a time. Nothing is held in memory, so ``study.json``, which
    contains the files' hashes, comes last in the archive. ``files``, such as the images that items show, are put beside
    the tables under their names. `read_bundle` does not read them; see `read_events`. ``pages``: those that workers
    saw, by their names there.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        written = {}
        for name, table, rows in _present(tables):
            with archive.open(_member(name), "w", force_zip64=True) as file:
                written[name] = _write_table(table, rows, file)
        shown = {name: [page.content] for name, page in (pages or {}).items()}
        for name, pieces in {**(files or {}), **shown, **_about(description, written)}.items():
            with archive.open(_member(name), "w", force_zip64=True) as file:
                for piece in pieces:
                    file.write(piece)
        archive.writestr(_member(STUDY), _head(description, written, pages or {}))
    return int(written["ratings.csv"]["rows"])


def _present(
    tables: Mapping[str, Iterable[Sequence[Any]]],
) -> Iterator[tuple[str, Table, Iterable[Sequence[Any]]]]:
    """The files that belong in the bundle. Whether an optional table has rows is only known when its turn comes."""
    for name, table in TABLES.items():
        rows = iter(tables.get(name, ()))
        first = list(islice(rows, 1))
        if first or not table.optional:
            yield f"{name}.csv", table, chain(first, rows)


def write_bundle_folder(data: StudyData, folder: Path) -> None:
    """Write the bundle as files in ``folder``, which is created if missing. ``study.json`` is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, table, rows in _present(_rows_of(data)):
        with replaced(folder / name) as file:
            written[name] = _write_table(table, rows, file)
    for name, pieces in _about(data.description, written).items():
        write_whole(folder / name, b"".join(pieces))
    write_whole(folder / STUDY, _head(data.description, written, {}))


def _about(description: StudyDescription, written: Mapping[str, Mapping[str, Any]]) -> dict[str, list[bytes]]:
    """The files that describe the bundle as a data set."""
    return {name: [content] for name, content in dataset_files(description, written).items()}


def read_bundle(path: str | Path, *, accept_edited: bool = False) -> StudyData:
    """The study in a folder or zip archive. ``accept_edited``: CSV files may have changed since they were written.

    Raises BundleError: no such file or folder, unsafe or oversized archive, file or column missing, another version,
    edited rows, a cell that is not valid in its column, a rating of a submission or item that does not exist.
    """
    try:
        files = read_files(Path(path), (STUDY, *(f"{name}.csv" for name in TABLES)))
        head = _read_head(files)
        tables: dict[str, pd.DataFrame] = {}
        codes: dict[str, RatingCodes] = {}
        for name, table in TABLES.items():
            file = f"{name}.csv"
            if file not in files and table.optional and file not in head["files"]:
                tables[name] = frame_of(table, ())
                codes[name] = RatingCodes(tables[name])
                continue
            if file not in files:
                raise BundleError(f"{file} is missing")
            edited = hashlib.sha256(files[file]).hexdigest() != head["files"].get(file, {}).get("sha256")
            if edited and not accept_edited:
                raise BundleError(f"{file} was changed since the bundle was written; accept it with --accept-edited")
            tables[name], columns = read_table(file, table, files.pop(file))
            codes[name] = RatingCodes(tables[name], columns if name == "ratings" else None)
        refuse_strangers(tables, codes)
        return make_study_data(description_from_json(head.get("study")), **tables, read_codes=codes["ratings"])
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


def read_pages(path: str | Path) -> dict[str, Page]:
    """The pages that workers saw, by their names in the bundle; none in bundles of earlier releases.

    Raises BundleError, also for a name that does not stay in the folder of pages.
    """
    try:
        titles = _read_head(read_files(Path(path), [STUDY])).get("pages") or {}
        if not isinstance(titles, dict) or not all(_PAGE.fullmatch(name) for name in titles):
            raise BundleError(f"{STUDY}: pages is not a list of pages with names such as pages/01-start.html")
        contents = read_files(Path(path), titles)
    except (ArchiveError, BundleError) as error:
        raise BundleError(f"{path}: {error}") from None
    return {name: Page(str(title), contents[name]) for name, title in titles.items() if name in contents}


def files_of(path: str | Path) -> dict[str, dict[str, Any]]:
    """Rows and SHA-256 of the bundle's tables, as ``study.json`` has them. Raises BundleError."""
    try:
        files: dict[str, dict[str, Any]] = _read_head(read_files(Path(path), [STUDY]))["files"]
    except (ArchiveError, BundleError) as error:
        raise BundleError(f"{path}: {error}") from None
    return {name: file for name, file in files.items() if name.removesuffix(".csv") in TABLES}


def _member(name: str) -> zipfile.ZipInfo:
    """A member dated 1980, which zip uses for a file without a date."""
    member = zipfile.ZipInfo(name)
    member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return member


def _rows_of(data: StudyData) -> dict[str, Iterable[Sequence[Any]]]:
    frames = {name: getattr(data, table.attribute)[list(table.types)] for name, table in TABLES.items()}
    return {name: frame.itertuples(index=False, name=None) for name, frame in frames.items()}


def _head(description: StudyDescription, files: Mapping[str, Mapping[str, Any]], pages: Mapping[str, Page]) -> bytes:
    head = {
        "format": FORMAT,
        "version": BUNDLE_VERSION,
        "files": files,
        "pages": {name: page.title for name, page in pages.items()},
        "study": description_to_json(description),
    }
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


def _write_table(table: Table, rows: Iterable[Sequence[Any]], file: IO[bytes]) -> dict[str, Any]:
    """Write a table. Returns the number of rows and the SHA-256 of the file."""
    digest, count = hashlib.sha256(), 0
    writers = [CELL_OF[type].write for type in table.types.values()]
    cells = ([write(value) for write, value in zip(writers, row, strict=True)] for row in rows)
    lines: Iterator[Sequence[str]] = chain([list(table.types)], cells)
    while batch := list(islice(lines, ROWS_AT_ONCE)):
        content = csv_text(batch, line_end="\r\n").encode()
        digest.update(content)
        file.write(content)
        count += len(batch)
    return {"rows": count - 1, "sha256": digest.hexdigest()}
