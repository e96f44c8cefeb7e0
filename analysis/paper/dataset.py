"""A bundle as a data set that can be published: its metadata in Croissant 1.0, and its card for people.

Sources: MLCommons, “Croissant Format Specification”, version 1.0; Hugging Face, “Dataset Cards”. What the study does
not know (licence, authors, address) is left out of the metadata and marked as a blank in the card.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from analysis.description import StudyDescription
from analysis.paper.columns import COLUMNS_IN_WORDS, REFERENCES, TABLES_IN_WORDS
from analysis.study_tables import TABLES
from common.words import counted

CROISSANT, CARD = "croissant.json", "README.md"
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_DATA_TYPES: dict[Any, str] = {str: "sc:Text", int: "sc:Integer", float: "sc:Float", bool: "sc:Boolean"}
CARD_TEXT = """\
---
pretty_name: {pretty_name}
license: unknown
tags:
- human-evaluation
- {tag}
size_categories:
- {size}
configs:
{configs}---

# {title}

{summary}

{answers} in all, simulated and excluded ones included: `synthetic` in `submissions.csv` marks
simulated workers, `decision` what a person excluded, and `exclude` in `study.json` the rules that the report applies.

## To fill in before you publish it

- Licence (`license` above): **[…]**
- Language of the texts (`language` above): **[…]**
- Authors, paper and address: **[…]**
- Approval by an ethics committee, and whether workers agreed to publication: **[…]**

Workers appear under pseudonyms that other studies do not share. What they wrote, and the items' texts, may still name
people: read `text` in `ratings.csv` first.

## Files

`study.json` describes the study: questions, scales, wording, settings, and the SHA-256 of every file.{pages}
`croissant.json` describes the tables for programs (Croissant 1.0).

| file | contents | rows |
|---|---|---|
{rows}
The files are UTF-8 with a heading line. An empty cell means that there is no value; lists and objects are JSON.

## All numbers again

In a checkout of HITServer, with `{slug}` as the name of this folder or zip file:

```
pip install -r requirements-analysis.txt
python -m analysis report {slug} --out report --paper paper
```

`report/report.html` and `report/report.json` have every figure; `paper/` has the methods, tables and figures of a
paper, made from the same numbers.

## Columns
{columns}"""
#: Sizes as Hugging Face names them, each with its upper end.
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
#: Rows and SHA-256 of the files of a bundle, by name.
Files = Mapping[str, Mapping[str, Any]]


def dataset_files(study: StudyDescription, files: Files) -> dict[str, bytes]:
    """What makes a bundle a data set, by file name. ``files``: its CSV files."""
    metadata = json.dumps(croissant(study, files), ensure_ascii=False, indent=1)
    return {CROISSANT: f"{metadata}\n".encode(), CARD: dataset_card(study, files).encode()}


def croissant(study: StudyDescription, files: Files) -> dict[str, Any]:
    """The metadata. Identifiers of files and record sets are their names."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": study.slug,
        "description": summary_of(study),
        **({"dateCreated": study.live_at.date().isoformat()} if study.live_at else {}),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "description": TABLES_IN_WORDS[name.removesuffix(".csv")],
                "contentUrl": name,
                "encodingFormat": "text/csv",
                "sha256": file["sha256"],
            }
            for name, file in files.items()
        ],
        "recordSet": [_record_set(name.removesuffix(".csv"), name) for name in files],
    }


def _record_set(table: str, file: str) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    for column, kind in TABLES[table].types.items():
        data_type = "sc:DateTime" if kind is datetime else _DATA_TYPES.get(kind, "sc:Text")
        described: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{table}/{column}",
            "name": column,
            "description": COLUMNS_IN_WORDS[table][column],
            "dataType": data_type,
            "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
        }
        if target := REFERENCES.get((table, column)):
            described["references"] = {"field": {"@id": target}}
        fields.append(described)
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": TABLES_IN_WORDS[table],
        **({"key": {"@id": f"{table}/{table[:-1]}"}} if table in ("submissions", "items") else {}),
        "field": fields,
    }


def size_of(rows: int) -> str:
    """The size as Hugging Face names it."""
    return next((name for most, name in _SIZES if rows < most), "n>1M")


def summary_of(study: StudyDescription) -> str:
    """One sentence on what the study is."""
    if study.imported_from:
        return f"{study.title}: a human evaluation. {study.summary}"
    source = f" (instrument after {study.source})" if study.source else ""
    return f"{study.title}: a human evaluation with the task type {study.task_title}{source}. {study.summary}"


def dataset_card(study: StudyDescription, files: Files) -> str:
    """A README with the metadata that Hugging Face reads at its top."""
    n_ratings = int(files.get("ratings.csv", {}).get("rows", 0))
    configs = "".join(
        f"- config_name: {name.removesuffix('.csv')}\n  data_files: {name}\n" for name, file in files.items()
    )
    rows = "".join(
        f"| `{name}` | {TABLES_IN_WORDS[name.removesuffix('.csv')]} | {file['rows']:,} |\n"
        for name, file in files.items()
    )
    columns = "".join(
        f"\n### {name}\n\n"
        + "".join(f"- `{column}`: {words}\n" for column, words in COLUMNS_IN_WORDS[name.removesuffix(".csv")].items())
        for name in files
    )
    return CARD_TEXT.format(
        pretty_name=json.dumps(study.title, ensure_ascii=False),
        tag=json.dumps(study.task_type.replace("_", "-")),
        size=size_of(n_ratings),
        configs=configs,
        title=study.title,
        pages="" if study.imported_from else " `pages/` has the\npages that workers saw.",
        summary=summary_of(study),
        answers=counted(n_ratings, "answer"),
        slug=study.slug,
        rows=rows,
        columns=columns,
    )
