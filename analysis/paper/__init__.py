"""The part of a study that goes into a paper: methods, tables, figures, pages, references, datasheets.

`write_paper` makes a folder of a bundle. Importing this package loads nothing.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["PaperFolderError", "refuse_used", "write_paper"]


class PaperFolderError(ValueError):
    """The folder cannot be written: ``what`` is wrong with it, and how to ``fix`` that."""

    def __init__(self, folder: Path, what: str, fix: str) -> None:
        super().__init__(f"{folder}: {what}; {fix}")
        self.what, self.fix = what, fix


def refuse_used(folder: Path) -> None:
    """Raises PaperFolderError for a file, and for a folder that is not empty: files of another study must not stay."""
    if folder.is_dir() and any(folder.iterdir()):
        raise PaperFolderError(folder, "the folder is not empty", "choose a new folder, or delete what is in it")
    if folder.exists() and not folder.is_dir():
        raise PaperFolderError(folder, "it is a file", "choose a folder")


def write_paper(
    bundle: str | Path,
    folder: Path,
    *,
    out_dir: Path | None = None,
    draws: int = 1000,
    seed: int = 1,
    accept_edited: bool = False,
    pictures: bool = True,
    stops: tuple[type[Exception], ...] = (),
) -> list[str]:
    """Write the paper's part of a bundle to ``folder``, which must be new or empty.

    ``out_dir``: write the report there as well, from the same computation. ``pictures``: also of the pages, where
    Chromium is installed, which takes seconds for each. Returns a line for each section that an error kept out; the
    rest stands. The same bundle, draws and seed give the same bytes, except pictures of pages. Raises
    BundleError, PaperFolderError; ValueError for draws below 1.
    """
    from analysis.paper.making import make_paper

    return make_paper(
        bundle,
        folder,
        out_dir=out_dir,
        draws=draws,
        seed=seed,
        accept_edited=accept_edited,
        pictures=pictures,
        stops=stops,
    )
