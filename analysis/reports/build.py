"""Puts a report together: one page that needs no other file, and its numbers as JSON."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone

from analysis.reports import NUMBERS, PAGE, VERSION, answers, diversity, overview, people
from analysis.reports.blocks import Figure, Figures, Note, Section, Table, plain
from analysis.reports.source import Source
from annotation.models import Study

#: What task types may name in ``report_sections``.
SPECIAL: dict[str, Callable[[Source], Section]] = {"diversity": diversity.diversity}


def write_report(study: Study, *, out_dir: Path, draws: int, seed: int) -> Path:
    """See `analysis.reports.build_report`."""
    if draws < 1:
        raise ValueError("a report's intervals need at least one draw")
    source = Source.of(study, draws=draws, seed=seed)
    sections = make_sections(source)
    out_dir.mkdir(parents=True, exist_ok=True)
    numbers = json.dumps(as_json(source, sections), ensure_ascii=False, allow_nan=False, indent=1)
    write_whole(out_dir / NUMBERS, numbers)
    write_whole(out_dir / PAGE, as_page(source, sections))
    return out_dir / PAGE


def make_sections(source: Source) -> list[Section]:
    """The general sections, with those that the type asks for before the answers."""
    sections = [overview.design(source), overview.data(source)]
    for name in source.instrument.task.report_sections:
        make = SPECIAL.get(name)
        if make is None:
            missing = Note(f"The task type asks for a section “{name}”, which this server does not have.", "warning")
            sections.append(Section(name, name.capitalize(), [missing]))
        else:
            sections.append(make(source))
    found = [answers.answers(source), people.workers(source), people.times(source), people.texts(source)]
    sections += [section for section in found if section is not None]
    return [*sections, overview.wording(source)]


def as_json(source: Source, sections: list[Section]) -> dict[str, Any]:
    """Every section's data by its key, and each table as the page shows it."""
    study, ratings = source.study, source.frames.ratings
    return {
        "version": VERSION,
        "study": {"slug": study.slug, "title": study.title, "status": study.status},
        "made_at": timezone.now().isoformat(timespec="seconds"),
        "draws": source.draws,
        "seed": source.seed,
        "simulated_share": float(ratings["synthetic"].mean()) if len(ratings) else None,
        "sections": {
            section.key: plain(section.data) | {"tables": [table_json(table) for table in tables(section)]}
            for section in sections
        },
    }


def tables(section: Section) -> Iterator[Table]:
    for block in section.blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Figure):
            yield block.table
        elif isinstance(block, Figures):
            yield from (figure.table for figure in block.figures)


def table_json(table: Table) -> dict[str, Any]:
    return {
        "caption": table.caption,
        "columns": [column.title for column in table.columns],
        "rows": plain(table.rows),
        "note": table.note,
    }


def as_page(source: Source, sections: list[Section]) -> str:
    ratings = source.frames.ratings
    simulated = float(ratings["synthetic"].mean()) if len(ratings) else 0.0
    return render_to_string(
        "analysis/report.html",
        {
            "study": source.study,
            "sections": sections,
            "highlights": [highlight for section in sections for highlight in section.highlights],
            "made_at": timezone.now(),
            "simulated": simulated,
            "simulated_share": "All" if simulated == 1 else f"{100 * simulated:.1f}% of the",
            "draws": source.draws,
            "seed": source.seed,
        },
    )


def write_whole(path: Path, text: str) -> None:
    """The old file stays until the new one is complete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
