"""The paper's part of a study, made of its bundle, so that anybody who has the bundle can make it again."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

from analysis.paper import refuse_used, write_paper
from analysis.report import NUMBERS, PAGE
from annotation.models import Study
from annotation.results import exports

PAPER = "paper.zip"


def write_study_paper(
    study: Study,
    folder: Path,
    *,
    out_dir: Path | None = None,
    pictures: bool = True,
    stops: tuple[type[Exception], ...] = (),
) -> list[str]:
    """Write the paper's part to ``folder``, which must be new or empty, and the report to ``out_dir``.

    Returns a line for each section that an error kept out. Raises PaperFolderError, OSError.
    """
    refuse_used(folder)
    with tempfile.TemporaryDirectory() as room:
        bundle = Path(room) / "bundle.zip"
        with bundle.open("wb") as file:
            exports.export(study, kind=exports.BUNDLE, out=file)
        return write_paper(bundle, folder, out_dir=out_dir, pictures=pictures, stops=stops)


def save_paper(study: Study, folder: Path, *, stops: tuple[type[Exception], ...] = ()) -> None:
    """Write `PAPER` to ``folder``, then the report that belongs to it: a folder with a whole report is complete."""
    with tempfile.TemporaryDirectory() as room:
        paper, report = Path(room) / f"{study.slug}-paper", Path(room) / "report"
        write_study_paper(study, paper, out_dir=report, stops=stops)
        packed = Path(room) / PAPER
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(path for path in paper.rglob("*") if path.is_file()):
                # A file without a date, as in a bundle: the same paper gives the same bytes.
                member = zipfile.ZipInfo(f"{paper.name}/{path.relative_to(paper)}")
                member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(member, path.read_bytes())
        folder.mkdir(parents=True, exist_ok=True)
        for name in (packed, report / NUMBERS, report / PAGE):
            shutil.move(name, folder / name.name)
