"""The part of a study that goes into a paper: methods, tables, figures, pages, references, datasheets.

`write_paper` makes a folder of a bundle. Importing this package loads nothing.
"""

from __future__ import annotations

from pathlib import Path

from analysis.paper.empty_folder import PaperFolderError, refuse_used

__all__ = ["PaperFolderError", "refuse_used", "write_paper"]


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
