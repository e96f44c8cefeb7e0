"""Bundles and the papers' parts made of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from analysis.data import Page, StudyData, read_bundle, write_bundle
from analysis.paper import write_paper
from analysis.report import report_numbers

PAGES = {"pages/01-start.html": Page("Start page", b"<!doctype html><title>Start</title><p>Hello</p>")}


def a_bundle(path: Path, data: StudyData, pages: Mapping[str, Page] = PAGES) -> Path:
    with path.open("wb") as file:
        write_bundle(data, file, pages)
    return path


def paper_of(data: StudyData, folder: Path, *, draws: int = 40) -> dict[str, str]:
    """Every text file of the paper's part, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle = a_bundle(folder / "bundle.zip", data)
    write_paper(bundle, folder / "paper", draws=draws, pictures=False)
    return texts_in(folder / "paper")


def texts_in(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.suffix in (".tex", ".md", ".csv", ".bib", ".json", ".svg")]
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in paths}


def report_of(folder: Path, *, draws: int = 40) -> dict[str, object]:
    """The content of report.json for the bundle that `paper_of` made, as JSON has it."""
    numbers: dict[str, object] = json.loads(json.dumps(report_numbers(read_bundle(folder / "bundle.zip"), draws=draws)))
    return numbers


def changed_bundle(data: StudyData, path: Path, change: Mapping[str, bytes]) -> Path:
    """The bundle with other contents of some files."""
    whole = io.BytesIO()
    write_bundle(data, whole, PAGES)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, change.get(name, source.read(name)))
    return path
