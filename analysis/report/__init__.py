"""Reports: one self-contained page, and its numbers as JSON.

Importing this package does not load pandas or SciPy, which takes seconds. A web process that shows an existing report
needs neither.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.report.files import NUMBERS, PAGE, VERSION, failed_sections
from analysis.report.png_files import save_pngs

if TYPE_CHECKING:
    from analysis.data import StudyData

__all__ = ["NUMBERS", "PAGE", "VERSION", "failed_sections", "report_numbers", "save_pngs", "write_report"]


def write_report(
    data: StudyData,
    *,
    out_dir: Path,
    draws: int = 1000,
    seed: int = 1,
    made_at: datetime | None = None,
    stops: tuple[type[Exception], ...] = (),
) -> Path:
    """Write ``report.html`` and ``report.json`` to ``out_dir`` (created if missing). Returns the page's path.

    Both are replaced whole. ``draws`` resamples make each bootstrapped interval; the same data and seed give the same
    numbers. ``made_at`` defaults to now. The report of a study without data shows that there are none. A section that
    fails shows its error in its place, except that errors of the kinds in ``stops`` are raised. ValueError: draws below
    1.
    """
    from analysis.report.build import write

    return write(data, out_dir=out_dir, draws=draws, seed=seed, made_at=made_at, stops=stops)


def report_numbers(
    data: StudyData, *, draws: int = 1000, seed: int = 1, made_at: datetime | None = None
) -> dict[str, Any]:
    """The content of ``report.json``, as plain lists and dicts. Arguments and errors as in `write_report`."""
    from analysis.report.build import numbers_of

    return numbers_of(data, draws=draws, seed=seed, made_at=made_at)
