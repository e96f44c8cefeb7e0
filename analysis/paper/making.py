"""From a bundle to the folder of a paper, with the report from the same computation if it is wanted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from analysis.data import files_of, read_bundle, read_pages
from analysis.paper.empty_folder import refuse_used
from analysis.paper.folder import paper_files, write_files
from analysis.paper.screenshots import picture_pages
from analysis.report import files as report_files
from analysis.report.build import as_json, as_page, make_sections, source_of


def make_paper(
    bundle: str | Path,
    folder: Path,
    *,
    out_dir: Path | None,
    draws: int,
    seed: int,
    accept_edited: bool,
    pictures: bool,
    stops: tuple[type[Exception], ...],
) -> list[str]:
    """See `analysis.paper.write_paper`."""
    refuse_used(folder)
    data = read_bundle(bundle, accept_edited=accept_edited)
    pages, tables = read_pages(bundle), files_of(bundle)
    source = source_of(data, draws, seed, stops)
    sections, made_at = make_sections(source), datetime.now(UTC)
    numbers = as_json(source, sections, made_at)
    if out_dir is not None:
        report_files.write_files(out_dir, page=as_page(source, sections, made_at), numbers=numbers)
    contents = paper_files(data.description, sections, numbers, files=tables, pages=pages)
    write_files(folder, contents)
    if pictures:
        picture_pages(folder, list(pages))
    return report_files.failed_lines(numbers)
