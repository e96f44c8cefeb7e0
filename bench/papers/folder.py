"""The folder of one paper: its studies' reports, a file for every table and figure by the paper's name, a README."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from analysis.data import StudyData, write_bundle_folder
from analysis.paper.table_files import TableFile
from analysis.report.blocks import Figure, Figures, Part, Section
from analysis.report.build import as_json, as_page, make_sections, source_of
from analysis.report.files import PAGE, write_files
from analysis.report.png_files import draw, save_pngs
from analysis.report.tables import Table
from bench.papers.published import Published
from common.files import write_whole

TABLES, FIGURES, REPORTS = "tables", "figures", "reports"


@dataclass(frozen=True, slots=True)
class Missing:
    """A table or figure of the paper that no report had, with why."""

    published: Published
    why: str


def write_folder(
    out: Path,
    studies: Iterable[tuple[str, StudyData | list[Section]]],
    tables: Sequence[Published],
    *,
    title: str,
    size: str,
    seed: int,
    draws: int,
) -> list[Missing]:
    """Write everything about one paper. Returns what is missing, which the README names, too."""
    sizes: dict[str, str] = {}
    files: dict[Published, Path] = {}
    names: list[str] = []
    for name, data in studies:
        names.append(name)
        if isinstance(data, StudyData):
            sections = write_report(data, out / REPORTS / slug(name), seed=seed, draws=draws)
            used = data.submissions
            sizes[name] = (
                f"{len(data.items):,} items, {used['worker'].nunique():,} workers, {len(used):,} submissions, "
                f"{len(data.ratings):,} ratings"
            )
        else:
            sections = data
        by_key = {section.key: section for section in sections}
        for published in (one for one in tables if one.study == name):
            if file := write_one(out, published, by_key):
                files[published] = file
    out.mkdir(parents=True, exist_ok=True)
    missing = [Missing(one, why_missing(one, names)) for one in tables if one not in files]
    readme = readme_of(tables, files, sizes, missing, out=out, title=title, size=size, seed=seed)
    write_whole(out / "README.md", readme)
    return missing


def write_report(data: StudyData, report: Path, *, seed: int, draws: int) -> list[Section]:
    """The study's report with its figures, and its bundle. Returns the sections."""
    source = source_of(data, draws, seed)
    sections, made_at = make_sections(source), datetime.now(UTC)
    write_files(report, page=as_page(source, sections, made_at), numbers=as_json(source, sections, made_at))
    save_pngs(report)
    write_bundle_folder(data, report / "bundle")
    return sections


def why_missing(published: Published, studies: Collection[str]) -> str:
    if published.study not in studies:
        return f"the study “{published.study}” was not made"
    return f"the report of “{published.study}” has no “{published.caption}”"


def write_one(out: Path, published: Published, sections: Mapping[str, Section]) -> Path | None:
    """The file of one table (CSV, unrounded, with a Markdown twin) or figure (PNG, with its numbers)."""
    section = sections.get(published.section)
    if section is None:
        return None
    if published.kind == "figure":
        figures = [one for one in figures_in(section.parts) if published.caption.lower() in one.caption.lower()]
        figure = min(figures, key=lambda one: len(one.caption), default=None)
        if figure is None:
            return None
        file = out / FIGURES / f"{slug(published.name)}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        draw(figure.svg, file)
        write_whole(file.with_suffix(".csv"), TableFile(slug(published.name), figure.table, section.title).csv)
        return file
    tables = [one for one in section.tables if published.caption in one.caption and one.rows]
    table = min(tables, key=lambda one: len(one.caption), default=None)
    if table is None:
        return None
    file = out / TABLES / f"{slug(published.name)}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file.with_suffix(".csv"), TableFile(slug(published.name), table, section.title).csv)
    write_whole(file, f"# {published.name}: {published.subject}\n\n{markdown(table)}\n\n{published.differs}\n")
    return file


def figures_in(parts: Iterable[Part]) -> Iterator[Figure]:
    for part in parts:
        if isinstance(part, Figure):
            yield part
        elif isinstance(part, Figures):
            yield from part.figures


def markdown(table: Table) -> str:
    """The table as the report shows it, rounded."""
    rows = [[column.title for column in table.columns], ["---"] * len(table.columns)]
    rows += [[cell.text or "; ".join(cell.texts) for cell in row] for row in table.body]
    lines = ["| " + " | ".join(re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([f"**{table.caption}**", "", *lines, "", table.note])


def readme_of(
    tables: Sequence[Published],
    files: Mapping[Published, Path],
    sizes: Mapping[str, str],
    missing: Sequence[Missing],
    *,
    out: Path,
    title: str,
    size: str,
    seed: int,
) -> str:
    lines = [
        f"# {title}",
        "",
        "Lay this folder beside the paper: every table and figure has the paper's name. **All answers are by simulated "
        "workers**, drawn with chosen effects, so the numbers are not the paper's; the layout, the tests and the sizes "
        f"are. Size: {size}. Seed: {seed}.",
        "",
        "| In the paper | What it shows | Our file | What differs |",
        "|---|---|---|---|",
    ]
    for one in tables:
        if file := files.get(one):
            path = file.relative_to(out).as_posix()
            lines.append(f"| {one.name} | {one.subject} | [{path}]({path}) | {one.differs} |")
    lines += [
        "",
        "Tables are Markdown, rounded as in the report, with a CSV file of the same name that has every number "
        "unrounded with the ends of intervals. Figures are PNG, with their numbers as CSV.",
        "",
    ]
    if sizes:
        lines += ["| Study | Size | Report | Its data |", "|---|---|---|---|"]
    for name, facts in sizes.items():
        folder = f"{REPORTS}/{slug(name)}"
        lines.append(f"| {name} | {facts} | [{PAGE}]({folder}/{PAGE}) | [bundle]({folder}/bundle) |")
    if missing:
        lines += ["", "Missing:", "", *(f"- {one.published.name}: {one.why}." for one in missing)]
    return "\n".join(lines) + "\n"


def slug(name: str) -> str:
    """The name as a file name: “Table 6.1” is ``table-6.1``."""
    return re.sub(r"[^a-z0-9.=]+", "-", name.lower().replace("κ", "kappa")).strip("-")
