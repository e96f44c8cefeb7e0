"""Build a report: the page and its numbers."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.data import StudyData
from analysis.plots.files import png, standalone_svg
from analysis.report import (
    answers,
    arms,
    choices,
    coding,
    detection,
    diversity,
    edits,
    exclusions,
    overview,
    people,
    preference,
    stopped,
    systems,
    times,
    waiting,
)
from analysis.report import arm_tests as arm_tests_section
from analysis.report import own_ratings as own_ratings_section
from analysis.report import productions as productions_section
from analysis.report import scales as scales_section
from analysis.report import story_texts as story_texts_section
from analysis.report import variability as variability_section
from analysis.report.blocks import Figure, Figures, Note, Section, Table, plain
from analysis.report.failures import in_words, log_failed, made_or_failed
from analysis.report.files import NUMBERS, PAGE, VERSION
from analysis.report.source import Source
from common.files import write_whole
from common.left_out import left_out_in_words
from common.words import counted, moment_in_utc

#: Sections that a task type can declare, by the name of its `ReportSection`. Parameters are passed by name.
SECTIONS: dict[str, Callable[..., Section | None]] = {
    "diversity": diversity.diversity,
    "scales": scales_section.scales,
    "preference": preference.preference,
    "productions": productions_section.productions,
    "choices": choices.choices,
    "edits": edits.edits,
    "story_texts": story_texts_section.story_texts,
    "waiting": waiting.waiting,
    "arm_tests": arm_tests_section.arm_tests,
    "variability": variability_section.variability,
    "systems": systems.systems,
    "human_or_machine": detection.detection,
    "coding": coding.coding,
}
#: Key, title and maker of a section. The title is for its place if it fails.
Maker = tuple[str, str, Callable[[Source], Section | None]]
PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


def downloads(figure: Figure) -> list[tuple[str, str, str]]:
    """The plot as files within the page: format, file name, address."""
    files = {"svg": ("image/svg+xml", standalone_svg(figure.svg).encode()), "png": ("image/png", png(figure.svg))}
    return [
        (kind.upper(), f"{figure.key}.{kind}", f"data:{media};base64,{b64encode(content).decode()}")
        for kind, (media, content) in files.items()
    ]


PAGES.globals["downloads"] = downloads


def write(
    data: StudyData,
    *,
    out_dir: Path,
    draws: int,
    seed: int,
    made_at: datetime | None,
    stops: tuple[type[Exception], ...] = (),
) -> Path:
    """See `analysis.report.write_report`."""
    source, sections, moment = _made(data, draws, seed, made_at, stops)
    page = as_page(source, sections, moment)
    write_files(out_dir, page=page, numbers=as_json(source, sections, moment))
    return out_dir / PAGE


def numbers_of(data: StudyData, *, draws: int, seed: int, made_at: datetime | None) -> dict[str, Any]:
    """See `analysis.report.report_numbers`."""
    return as_json(*_made(data, draws, seed, made_at))


def _made(
    data: StudyData, draws: int, seed: int, made_at: datetime | None, stops: tuple[type[Exception], ...] = ()
) -> tuple[Source, list[Section], datetime]:
    if draws < 1:
        raise ValueError("a report's intervals need at least one draw")
    source = Source(data, draws, seed, stops)
    sections = make_sections(source)
    log_failed(sections, data.description.slug)
    return source, sections, made_at or datetime.now(UTC)


def make_sections(source: Source) -> list[Section]:
    """Design and data, what exclusion rules leave out, the sections that the type declares, then the general ones.

    A section that fails shows its error in its place.
    """
    before: list[Maker] = [("design", "What was asked", overview.design), ("data", "Data", overview.data)]
    if source.description.has_arms:
        before.append(("arms", "Arms", arms.arms))
    before.append(("stopped", "Stopped early", stopped.stopped))
    general = _made_or_failed(source, before)
    results = results_of(source)
    rules = _made_or_failed(
        source,
        [("exclusions", "Exclusion rules", lambda source: exclusions.exclusions(source, results, results_of))],
    )
    after: list[Maker] = [
        ("workers", "Workers", people.workers),
        ("time", "Time", times.times),
        ("texts", "Texts by workers", people.texts),
        ("wording", "What workers read", overview.wording),
    ]
    return [*general, *rules, *results, *_made_or_failed(source, after)]


def results_of(source: Source) -> list[Section]:
    """The sections with the study's results: those that the type declares, and the answers to each question."""
    makers: list[Maker] = [
        (
            section.name,
            section.name.replace("_", " ").capitalize(),
            partial(declared, name=section.name, parameters=dict(section.parameters)),
        )
        for section in source.description.sections
    ]
    makers.append(("own_ratings", "Writers and third parties", own_ratings_section.own_ratings))
    makers.append(("answers", "Answers", answers.answers))
    return _made_or_failed(source, makers)


def _made_or_failed(source: Source, makers: Sequence[Maker]) -> list[Section]:
    sections = [made_or_failed(source, key, title, make) for key, title, make in makers]
    return [section for section in sections if section is not None]


def declared(source: Source, name: str, parameters: dict[str, Any]) -> Section | None:
    """The section with that name; a warning if it does not exist or its parameters are wrong."""
    make = SECTIONS.get(name)
    if make is None:
        return _warning(source, name, f"The task type asks for a section “{name}”, which this program does not have.")
    try:
        signature(make).bind(source, **parameters)
    except TypeError as error:
        return _warning(source, name, f"The task type gives the section “{name}” wrong parameters: {error}.")
    return make(source, **parameters)


def _warning(source: Source, name: str, text: str) -> Section:
    return Section(source.key(name), name.capitalize(), [Note(text, "warning")])


def as_json(source: Source, sections: list[Section], made_at: datetime) -> dict[str, Any]:
    """Every section's data by its key, and each table as the page shows it."""
    study, ratings = source.description, source.data.ratings
    return {
        "version": VERSION,
        "study": {"slug": study.slug, "title": study.title, "status": study.status},
        "made_at": made_at.isoformat(timespec="seconds"),
        "draws": source.draws,
        "seed": source.seed,
        "left_out": source.data.left_out,
        "rejected": study.rejected,
        "simulated_share": float(ratings["synthetic"].mean()) if len(ratings) else None,
        "sections": sections_json(sections),
    }


def sections_json(sections: Sequence[Section]) -> dict[str, Any]:
    return {
        section.key: plain(section.data) | _error_json(section) | {"tables": [table_json(t) for t in tables(section)]}
        for section in sections
    }


def _error_json(section: Section) -> dict[str, str]:
    return {} if section.error is None else {"title": section.title, "error": in_words(section.error)}


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


def as_page(source: Source, sections: list[Section], made_at: datetime) -> str:
    ratings = source.data.ratings
    share = float(ratings["synthetic"].mean()) if len(ratings) else 0.0
    return render_page(
        subject=f"Report of the study {source.description.slug}",
        kind="report",
        title=source.description.title,
        sections=sections,
        made_at=made_at,
        draws=source.draws,
        seed=source.seed,
        left_out=left_out_lines(source),
        simulated=("All" if share == 1 else f"{100 * share:.1f}% of the") if share else "",
    )


def left_out_lines(source: Source) -> list[str]:
    """What the figures leave out, and what they include that a reader may not expect."""
    lines = [left_out_in_words(source.data.left_out)]
    if rejected := source.description.rejected:
        lines.append(f"The figures include {counted(rejected, 'submission')} whose pay was refused.")
    used = source.data.used
    if simulated := int(used["synthetic"].sum()):
        lines.append(f"They include {simulated:,} of {counted(len(used), 'submission')} by simulated workers.")
    if stopped := len(source.data.stopped):
        lines.append(f"{counted(stopped, 'hit')} that workers stopped for part pay gave no ratings.")
    return lines


def render_page(*, sections: Sequence[Section], made_at: datetime, **context: object) -> str:
    highlights = [highlight for section in sections for highlight in section.highlights]
    page = PAGES.get_template("page.html")
    return page.render(sections=sections, highlights=highlights, made_at=moment_in_utc(made_at), **context)


def write_files(out_dir: Path, *, page: str, numbers: dict[str, Any]) -> None:
    """Both files, each replaced whole; the folder is created if missing."""
    out_dir.mkdir(parents=True, exist_ok=True)
    write_whole(out_dir / NUMBERS, json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1))
    write_whole(out_dir / PAGE, page)
