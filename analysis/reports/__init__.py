"""Reports of studies: ``build_report`` writes one page and its numbers.

Importing this package loads neither pandas nor SciPy, which take seconds: a web process that shows a report made
before needs neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from annotation.models import Study

PAGE, NUMBERS = "report.html", "report.json"
#: Raised when what a report says or looks like changes, so that kept ones are made anew.
VERSION = 2

__all__ = ["NUMBERS", "PAGE", "VERSION", "build_report"]


def build_report(study: Study, *, out_dir: Path, draws: int = 1000, seed: int = 1) -> Path:
    """Write ``report.html`` and ``report.json`` into ``out_dir`` (made if need be); returns the page's path.

    Both are replaced whole. ``draws`` resamples make each bootstrapped interval; the same data and seed give the same
    numbers. A study without data gives a report that says so. ValueError: draws below 1. UnknownTaskType: the study's
    type is not installed.
    """
    from analysis.reports.build import write_report

    return write_report(study, out_dir=out_dir, draws=draws, seed=seed)
