"""Reports of studies: ``build_report`` writes one page and its numbers."""

from analysis.reports.build import NUMBERS, PAGE, build_report

__all__ = ["NUMBERS", "PAGE", "build_report"]
