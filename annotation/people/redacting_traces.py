"""What identifies a worker or repeats their words: collected before a redaction, looked for everywhere afterwards.

Most of a worker's data are in separate rows and are removed whatever they contain. Their words and names may also
be in other rows: an item made of their text, a log entry, a platform's answer. Those are found by content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import QuerySet

from annotation.models import (
    Assignment,
    Draft,
    EventBatch,
    Invitation,
    Offer,
    Output,
    Participant,
    Pull,
    QuestionnaireDraft,
    QuestionnaireReply,
    Rating,
    Step,
    Submission,
    TriedPage,
)

REMOVED = "[removed]"
#: The beginning of the ids and pseudonyms of people whose data were deleted.
NOBODY = "deleted-"
#: Shorter texts, such as “no idea”, also occur in other people's answers by chance.
LEAST_TEXT = 12
#: Shorter names are parts of ordinary words.
LEAST_NAME = 4
#: How many texts to look for in the whole database: the longest ones.
MOST_TEXTS = 50
_TEXT_FIELDS = ("CharField", "TextField", "JSONField", "SlugField", "URLField")
#: Answers to questions with options are stored under the options' keys.
_KEY = re.compile(r"[a-z0-9_.-]+")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Traces:
    """``names`` identify the person: ids, their name, links. ``texts`` are what they wrote, the longest first."""

    names: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.names, *self.texts[:MOST_TEXTS])


@dataclass(frozen=True, slots=True)
class Place:
    """Rows of a table whose column still contains a trace."""

    table: str
    column: str
    rows: int


def traces_of(participants: Sequence[Participant]) -> Traces:
    """The names and texts of these participants, who are one worker."""
    names, texts, suggested = set[str](), set[str](), set[str]()
    for participant in participants:
        worker = participant.worker
        # A panel's id also counts without the panel.
        names |= {participant.pseudonym, worker.platform_id, worker.platform_id.rpartition("/")[2]}
        names.update(*Invitation.objects.filter(worker=worker).values_list("name", "key"))
        texts |= {text.strip() for text in _texts(participant)}
        # Suggestions that were sent as they were are not the worker's words, and others may have got the same.
        shown = Offer.objects.filter(assignment__participant=participant).exclude(text="")
        suggested |= {text.strip() for text in shown.values_list("text", flat=True)}
    texts -= suggested
    names = {name for name in names if len(name) >= LEAST_NAME and not name.startswith(NOBODY) and name != REMOVED}
    texts = {text for text in texts if len(text) >= LEAST_TEXT and not _KEY.fullmatch(text) and text != REMOVED}
    return Traces(
        tuple(sorted(names, key=len, reverse=True)),
        tuple(sorted(texts, key=lambda text: (-len(text), text))),
    )


def _texts(participant: Participant) -> Iterator[str]:
    """Everything that the participant typed, wherever it was stored."""
    mine = Assignment.objects.filter(participant=participant)
    for model, column in ((Step, "answers"), (Draft, "answers"), (Pull, "typed")):
        for value in model.objects.filter(assignment__in=mine).values_list(column, flat=True):
            yield from leaves(value)
    for around in (QuestionnaireReply, QuestionnaireDraft, TriedPage):
        for answers in around._default_manager.filter(participant=participant).values_list("answers", flat=True):
            yield from leaves(answers)
    for edits in EventBatch.objects.filter(assignment__in=mine).values_list("edits", flat=True):
        yield from leaves(edits)
    submissions = Submission.objects.filter(participant=participant)
    for answers, feedback in submissions.values_list("answers", "feedback"):
        yield from (*leaves(answers), feedback)
    yield from Rating.objects.filter(submission__in=submissions).exclude(text="").values_list("text", flat=True)
    for texts in Output.objects.filter(submission__in=submissions).values_list("texts", flat=True):
        yield from leaves(texts)


def leaves(value: Any) -> Iterator[str]:
    """All strings in a JSON value, without the keys of mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)


def without(value: Any, traces: Collection[str]) -> Any:
    """A JSON value or a text with ``REMOVED`` in place of every trace. Spaces and line breaks count as the same."""
    if isinstance(value, str):
        for trace in traces:
            value = value.replace(trace, REMOVED)
            words = _SPACES.split(trace)
            if len(words) > 1 and words[0] in value:
                value = re.sub(r"\s+".join(re.escape(word) for word in words), REMOVED, value)
        return value
    if isinstance(value, Mapping):
        return {key: without(part, traces) for key, part in value.items()}
    return [without(part, traces) for part in value] if isinstance(value, list | tuple) else value


# --- in any column of any table ---


def clean_rows(rows: QuerySet[Any], columns: Sequence[str], traces: Collection[str]) -> int:
    """Replace the traces in these columns of the rows. Returns how many rows changed."""
    changed = 0
    for pk, *values in list(rows.order_by("pk").values_list("pk", *columns)):
        cleaned = [without(value, traces) for value in values]
        if cleaned != values:
            rows.model._default_manager.filter(pk=pk).update(**dict(zip(columns, cleaned, strict=True)))
            changed += 1
    return changed


def find_traces(traces: Collection[str]) -> list[Place]:
    """Where the database still contains one of these strings: every text column of every table, one query each, and
    PostgreSQL's statistics."""
    needles = sorted({spelling for trace in traces for spelling in spellings(trace)})
    if not needles:
        return []
    postgres = connection.vendor == "postgresql"
    tables = [model._meta for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    columns = [
        (table.db_table, str(field.column))
        for table in sorted(tables, key=lambda table: table.db_table)
        for field in table.concrete_fields
        if field.get_internal_type() in _TEXT_FIELDS
    ]
    places = []
    for table, column in columns:
        contains = f'strpos("{column}"::text, %s) > 0' if postgres else f'instr("{column}", %s) > 0'
        n_rows = 0
        # SQLite allows a thousand conditions in a row.
        for start in range(0, len(needles), 200):
            some = needles[start : start + 200]
            where = " OR ".join([contains] * len(some))
            with connection.cursor() as cursor:
                cursor.execute(f'SELECT COUNT(*) FROM "{table}" WHERE {where}', some)  # noqa: S608 - names of models
                n_rows += int(cursor.fetchone()[0])
        if n_rows:
            places.append(Place(table, column, n_rows))
    return places + (_in_statistics(needles) if postgres else [])


def _in_statistics(needles: Sequence[str]) -> list[Place]:
    """Columns of which PostgreSQL's planner remembers a value with one of these strings."""
    # An array shows quotes and backslashes in its elements with a backslash.
    shown = [needle.replace("\\", "\\\\").replace('"', '\\"') for needle in needles]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename, attname FROM pg_stats, "
            "LATERAL (SELECT concat(most_common_vals::text, histogram_bounds::text) AS remembered) AS both_lists "
            "WHERE schemaname = current_schema() AND EXISTS "
            "(SELECT 1 FROM unnest(%s::text[]) AS needle WHERE strpos(remembered, needle) > 0) ORDER BY 1, 2",
            [sorted({*needles, *shown})],
        )
        return [Place("pg_stats", f"{table}.{column}", 1) for table, column in cursor.fetchall()]


def spellings(trace: str) -> set[str]:
    """The string as it is, and as JSON stores it: with and without escapes for letters beyond ASCII."""
    return {trace, json.dumps(trace)[1:-1], json.dumps(trace, ensure_ascii=False)[1:-1]}
