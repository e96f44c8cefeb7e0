"""The items of a form: one per row, or one per document with a row for each segment."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.task_types.described_questions import build
from annotation.task_types.form.form_settings import ID, MEDIA, NOUNS
from annotation.task_types.items import Column, ItemData, Json, Role, Row, RowProblem
from annotation.task_types.labels import LABEL_COLUMNS
from annotation.task_types.questions import Question
from annotation.task_types.reading import LONGEST_ID, read_rows

MOST_SEGMENTS = 100
#: The end of the name of the column with what made a text.
SYSTEM = "_system"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a chat: who wrote it, and what."""

    speaker: str
    text: str


def columns_of(config: Json) -> list[Column]:
    """The columns of an items file with these settings."""
    texts, document = config["texts"], config["document"]
    columns = [Column(ID, "the id of the segment" if document else "the item's id", example="s1")]
    if document:
        columns.append(Column(document, "the document to which the row belongs", example="d1"))
    checks = {"chat": check_chat, "table": check_table}
    for row in config["shown"]:
        if row["as"] in MEDIA:
            columns += media_columns(row["field"], row["as"], row["heading"] or "shown above the texts", required=False)
            continue
        example = {"chat": "User: Hello.\nAssistant: Good morning!", "table": "city,rain\nBergen,2250"}
        shown_as = row["as"]
        meaning = row["heading"] or "shown above the texts"
        columns.append(
            Column(row["field"], meaning, False, checks.get(shown_as), example.get(shown_as, "A story about an owl."))
        )
    texts_as = config.get("texts_as", "text")
    for name in texts:
        if texts_as in MEDIA:
            columns += media_columns(name, texts_as, f"a file to judge: {NOUNS[texts_as]}", required=True)
        else:
            columns.append(Column(name, "a text to judge", example="The owl waited until the rain had stopped."))
    columns += given_columns(config)
    if len(texts) > 1:
        columns += [Column(name + SYSTEM, f"what wrote {name}; never shown to workers", False) for name in texts]
    return columns if document else [*columns, *LABEL_COLUMNS]


def media_columns(name: str, shown_as: str, meaning: str, *, required: bool) -> list[Column]:
    """A column with names of media, and those that say the same in words."""
    example = {"audio": "clips/owl-1.wav", "video": "clips/owl-1.webm", "image": "pictures/owl.png"}[shown_as]
    column = Column(name, meaning, required, example=example, media=shown_as)
    if shown_as == "image":
        return [column, Column(f"{name}_alt", f"what the image in {name} shows, in a few words", False)]
    captions = Column(
        f"{name}_captions",
        f"captions for {name}: a WebVTT file, or WebVTT itself",
        False,
        media="captions",
    )
    return [column, captions, Column(f"{name}_transcript", f"what is said in {name}", False)]


def given_column(question: Question, text_name: str, config: Json) -> str:
    """The column with the answers to this question that pages show at the beginning. Of several texts, each has one."""
    column = question.given_column
    return f"{text_name}_{column}" if column and len(config["texts"]) > 1 else column


def given_columns(config: Json) -> list[Column]:
    """The columns with such answers, each once."""
    names = {given_column(question, name, config): name for question in _with_given(config) for name in config["texts"]}
    return [Column(column, f"the answers about {name} to begin with", False) for column, name in names.items()]


def _with_given(config: Json) -> list[Question]:
    """The questions whose answers a file can bring."""
    return [question for record in config["questions"] for question in build(record).questions if question.given_column]


def read_form_items(rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
    """Items from all rows: one per row, or one per document with a segment for each of its rows."""
    items, problems = read_rows(rows, columns_of(config))
    problems += [
        RowProblem(row.number, column, *wrong)
        for row in rows
        for question in _with_given(config)
        for name in config["texts"]
        if (cell := row.cells.get(column := given_column(question, name, config), "")).strip()
        if (wrong := question.of_item({name: row.cells.get(name, "")}).check_given(cell))
    ]
    column = config["document"]
    if not column:
        return [_item(item.external_id, [item], config) for item in items], problems
    documents: dict[str, list[ItemData]] = {}
    for item in items:
        documents.setdefault(item.payload[column].strip(), []).append(item)
    for name, segments in documents.items():
        first = segments[0].rows[0]
        if len(name) > LONGEST_ID:
            what = f"This name of a document has {len(name):,} characters; at most {LONGEST_ID} fit."
            problems.append(RowProblem(first, column, what, "Shorten it."))
        if len(segments) > MOST_SEGMENTS:
            what = f"The document “{name[:60]}” has {len(segments):,} segments; at most {MOST_SEGMENTS} fit."
            problems.append(RowProblem(first, column, what, "Split it into several documents."))
    return [_item(name, segments, config) for name, segments in documents.items()], problems


def _item(name: str, segments: Sequence[ItemData], config: Json) -> ItemData:
    """An item with the columns of its texts, whether it is a document, and the payloads of its rows."""
    role: Role = next((segment.role for segment in segments if segment.role != "main"), "main")
    payload: Json = {
        "texts": config["texts"],
        "document": bool(config["document"]),
        "segments": [segment.payload for segment in segments],
    }
    return ItemData(name, payload, role, tuple(number for segment in segments for number in segment.rows))


def segments_of(payload: Json) -> list[dict[str, str]]:
    """The cells of each row of the item by column, in the order of the file."""
    rows: list[Json] = payload["segments"]
    return [{name: str(row[name]) for name in row["columns"]} | dict(row["extra"]) for row in rows]


def texts_of(payload: Json) -> list[list[str]]:
    """The words of each text, one for each segment."""
    segments = segments_of(payload)
    return [[cells.get(name, "") for cells in segments] for name in payload["texts"]]


def columns_of_item(payload: Json) -> dict[str, str]:
    """The item as one row of an export. What differs between segments is in numbered columns, such as ``text_1``."""
    segments = segments_of(payload)
    if len(segments) == 1:
        return segments[0]
    columns: dict[str, str] = {}
    for name in dict.fromkeys(name for segment in segments for name in segment):
        cells = [segment.get(name, "") for segment in segments]
        if len(set(cells)) == 1:
            columns[name] = cells[0]
        else:
            columns |= {f"{name}_{number}": cell for number, cell in enumerate(cells, start=1)}
    return columns


# --- cells with a form of their own ---


def turns_in(cell: str) -> list[Turn]:
    """The messages of a chat: JSON records with ``role`` and ``content``, or lines ``Speaker: text``.

    A line without a speaker continues the message above it. Raises ValueError if a JSON list has other entries.
    """
    if cell.lstrip().startswith("["):
        records = json.loads(cell)
        try:
            return [Turn(str(record["role"]), str(record["content"])) for record in records]
        except (TypeError, KeyError):
            raise ValueError("each entry needs role and content") from None
    turns: list[Turn] = []
    for line in cell.splitlines():
        speaker, colon, text = line.partition(":")
        if colon and len(speaker) <= 40 and speaker.strip():
            turns.append(Turn(speaker.strip(), text.strip()))
        elif turns:
            turns[-1] = Turn(turns[-1].speaker, f"{turns[-1].text}\n{line}".strip())
        elif line.strip():
            turns.append(Turn("", line.strip()))
    return turns


def check_chat(cell: str) -> tuple[str, str] | None:
    try:
        turns_in(cell)
    except ValueError:
        what = "This is not a chat."
        return (
            what,
            'Write lines such as “User: Hello.”, or a JSON list such as [{"role": "user", "content": "Hello."}].',
        )
    return None


def table_in(cell: str) -> list[list[str]]:
    """The rows of a table in CSV, with its header first. Cells are separated by tabs if the header has one."""
    header = cell.partition("\n")[0]
    return list(csv.reader(io.StringIO(cell), delimiter="\t" if "\t" in header else ","))


def check_table(cell: str) -> tuple[str, str] | None:
    try:
        widths = {len(row) for row in table_in(cell) if row}
    except csv.Error:
        widths = set()
    if len(widths) == 1:
        return None
    return (
        "This is not a table: its rows have different numbers of cells.",
        "Write CSV with a header, one row per line.",
    )
