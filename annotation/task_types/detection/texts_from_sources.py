"""Detection items from a run's samples and from texts by people, by the published rules (Clark 2021, §6.2.2, app. C).

A text has at least ``min_words`` words and ends with the sentence that reaches that number. Machine texts that copy the
text that primed the model are left out. Texts by people come from a file, or from the run's contexts (``human_text``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django import forms

from annotation.task_types.detection.detection_plan import HUMAN
from annotation.task_types.items import Json, Row, RowProblem, SourceRow
from annotation.task_types.settings import ConfigForm
from annotation.task_types.sources import sample_text
from common.problems import invalid
from common.text_length import count_words
from common.words import counted
from generation.decoding.sentences import first_sentence_end

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow

#: Overlap counts sequences of this many words, because any two texts share single words, such as “the”.
RUN = 3


class SampleOptions(ConfigForm):
    """Which samples become items."""

    min_words = forms.IntegerField(
        label="Least words in a text",
        min_value=1,
        max_value=2000,
        initial=100,
        help_text="A text ends with the sentence that passes this number. Samples that stop before are left over.",
    )
    max_overlap = forms.IntegerField(
        label="Greatest overlap with the priming text, in percent",
        min_value=0,
        max_value=100,
        initial=80,
        help_text="The share of a sample’s three-word sequences that the priming text contains. Samples above it are "
        "left over.",
    )


def cut(text: str, min_words: int) -> str:
    """The text up to the end of the first sentence that ends at or after its ``min_words``-th word; empty if none."""
    end = first_sentence_end(text, min_words=min_words)
    return "" if end is None else text[:end].strip()


def overlap(text: str, priming: str) -> float:
    """The share, from 0 to 1, of the three-word sequences of ``text`` that ``priming`` contains. Case is ignored.

    A text of one or two words counts as one sequence. An empty text or an empty ``priming`` gives 0.
    """
    runs, priming_runs = _runs(text), set(_runs(priming))
    return sum(run in priming_runs for run in runs) / len(runs) if runs and priming_runs else 0.0


def _runs(text: str) -> list[tuple[str, ...]]:
    words = [word.strip(".,;:!?\"'“”‘’()").casefold() for word in text.split()]
    words = [word for word in words if word]
    return [tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))] if words else []


def rows_from_samples(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """A row per sample that fits, a row for the context's ``human_text`` if it has one, and how many were left over.

    Raises Invalid if a ``human_text`` is too short.
    """
    rows: list[SourceRow] = []
    for sample in samples:
        text = cut(sample_text(sample.text), options["min_words"])
        if not text or 100 * overlap(text, sample.priming) > options["max_overlap"]:
            continue
        name = f"{sample.context_id}-{sample.model}-{sample.decoder}-{sample.number}"
        rows.append(SourceRow(_cells(sample, name, text, sample.model) | {"decoder": sample.decoder}, (sample.id,)))
    left_out = len(samples) - len(rows)
    first = samples[0]
    if first.fields.get("human_text", "").strip():
        text, (what, fix) = _by_person(first.fields["human_text"], options["min_words"])
        if what:
            where = f"The context {first.context_id} of the run"
            raise invalid("items", f"{where} has a human_text that cannot be used. {what}", fix)
        rows.append(SourceRow(_cells(first, f"{first.context_id}-{HUMAN}", text, HUMAN), ()))
    return rows, left_out


def _cells(sample: SampleRow, name: str, text: str, source: str) -> dict[str, str]:
    domain = str(sample.fields.get("domain", ""))
    return {"sample_id": name, "prompt": sample.context, "text": text, "source": source, "domain": domain}


def _by_person(text: str, min_words: int) -> tuple[str, tuple[str, str]]:
    """A person's text, cut, with its problem and the fix (both empty if there is none)."""
    words = count_words(text)
    if words < min_words:
        what = f"It has {counted(words, 'word')}; a text needs at least {min_words:,}."
        return "", (what, "Use a longer text, or lower the least number of words.")
    cut_text = cut(text.strip(), min_words)
    if not cut_text:
        return "", (f"No sentence ends after word {min_words:,}.", "Complete its last sentence, or use another text.")
    return cut_text, ("", "")


# --- texts by people from a file ---


def rows_from_file(
    sample_rows: Sequence[SourceRow], rows: Sequence[Row], options: Json
) -> tuple[list[SourceRow], list[RowProblem]]:
    """The file's texts by people, cut as machine texts are, and its practice texts as they are, with all problems.

    Every domain needs as many texts by people as by machines, because half of each task is by people.
    """
    file_rows: list[SourceRow] = []
    problems: list[RowProblem] = []
    for row in rows:
        cells = dict(row.cells)
        if cells.get("role", "").strip() != "practice":
            source = cells.get("source", "").strip()
            if source not in ("", HUMAN):
                what = f"The source is “{source[:40]}”, but this file holds texts by people."
                fix = f"Write {HUMAN}, or leave the cell empty."
                problems.append(RowProblem(row.number, "source", what, fix))
            text, (what, fix) = _by_person(cells.get("text", ""), options["min_words"])
            if what:
                problems.append(RowProblem(row.number, "text", what, fix))
            cells |= {"source": HUMAN, "text": text}
        file_rows.append(SourceRow(cells, ()))
    return file_rows, problems or _too_few([*sample_rows, *file_rows])


def _too_few(rows: Sequence[SourceRow]) -> list[RowProblem]:
    people, machines = Counter[str](), Counter[str]()
    for row in rows:
        if row.cells.get("role", "").strip() != "practice":
            kind = people if row.cells["source"] == HUMAN else machines
            kind[row.cells.get("domain", "").strip()] += 1
    unknown_domains = sorted(set(people) - set(machines))
    problems = []
    for domain, n_machine in machines.items():
        n_human = people[domain]
        if n_human >= n_machine:
            continue
        start = f"The domain “{domain}” has" if domain else "There are"
        counts = f"{counted(n_machine, 'machine text')} and {n_human:,} by people"
        fix = f"Add {counted(n_machine - n_human, 'text')} by people, or make the run with fewer samples."
        if unknown_domains:
            fix = f"Check the column domain: the run has no machine texts of “{unknown_domains[0][:40]}”."
        problems.append(RowProblem(0, "domain", f"{start} {counts}. Half of all texts are by people.", fix))
    return problems
