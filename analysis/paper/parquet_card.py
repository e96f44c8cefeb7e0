"""The card of a study's tables as Parquet: what Hugging Face's `datasets` and people read first.

Sources: Hugging Face, “Dataset Cards” and “Manual Configuration” (``configs``, ``dataset_info``). What the study does
not know is marked as a blank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.description import StudyDescription
from analysis.paper.dataset import size_of, summary_of
from analysis.paper.methods import question_sentences, task_sentences
from analysis.paper.participants import recruitment_sentences
from analysis.paper.prose import as_plain
from common.words import counted, money

#: What one row of each table is.
ONE_ROW = {
    "long": "one answer, with all columns of its item",
    "wide": "one item, with mean, standard deviation and number of ratings",
    "outputs": "one text, or set of texts, that a worker wrote",
    "offers": "one live suggestion on one page",
    "turns": "one line of a story, or one suggestion for it",
    "events": "one change of a text while it was written",
    "final": "one label of one item after adjudication",
}
CARD = """\
---
pretty_name: {pretty_name}
license: other
license_name: to-be-chosen
tags:
- human-evaluation
- {tag}
size_categories:
- {size}
configs:
{configs}dataset_info:
{features}---

# {title}

{summary}

## To fill in before you publish it

- Licence (`license` above): **[…]**
- Language of the texts (add `language` above): **[…]**
- Authors, paper and address: **[…]**
- Approval by an ethics committee, and whether workers agreed to publication: **[…]**

Workers appear under pseudonyms that other studies do not share. What they wrote, and the items' texts, may still name
people: read the columns with texts first.

## How it was collected

{collected}

## Tables

| configuration | one row is | rows |
|---|---|---|
{rows}
`included` in `long` marks the answers that the figures use, `why_not` says why others are not, and `synthetic` marks
simulated workers. An empty value means that there is none.

```python
from datasets import load_dataset

answers = load_dataset("path/to/this/folder", "long", split="train")
```
"""


@dataclass(frozen=True, slots=True)
class CardTable:
    """A table: its file below the folder, its number of rows, and the type of each column as `datasets` names it."""

    name: str
    file: str
    rows: int
    types: Mapping[str, str]


def parquet_card(study: StudyDescription, tables: Sequence[CardTable]) -> str:
    """The text of README.md."""
    configs = "".join(
        f"- config_name: {table.name}\n"
        f"  data_files:\n  - split: train\n    path: {table.file}\n" + ("  default: true\n" if number == 0 else "")
        for number, table in enumerate(tables)
    )
    features = "".join(
        f"- config_name: {table.name}\n  features:\n"
        + "".join(f"  - name: {json.dumps(name)}\n    dtype: {dtype}\n" for name, dtype in table.types.items())
        for table in tables
    )
    collected = [*task_sentences(study), *question_sentences(study)[:-1], *recruitment_sentences(study)]
    if not study.imported_from:
        collected.append(
            f"Each item was to get {counted(study.ratings_per_item, 'rating')}; a hit had "
            f"{counted(study.items_per_hit, 'item')} and paid {money(study.reward)}."
        )
    if study.live_at and not study.imported_from:
        closed = f" and closed on {study.closed_at:%-d %B %Y}" if study.closed_at else ""
        collected.append(f"The study opened on {study.live_at:%-d %B %Y}{closed}.")
    rows = "".join(f"| `{table.name}` | {ONE_ROW.get(table.name, '')} | {table.rows:,} |\n" for table in tables)
    return CARD.format(
        pretty_name=json.dumps(study.title, ensure_ascii=False),
        tag=json.dumps(study.task_type.replace("_", "-")),
        size=size_of(max((table.rows for table in tables), default=0)),
        configs=configs,
        features=features,
        title=" ".join(study.title.split()),
        summary=summary_of(study),
        collected=as_plain(" ".join(collected)),
        rows=rows,
    )
