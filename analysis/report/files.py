"""The files of a report: their names, their version, and how they are written and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.files import write_whole

PAGE, NUMBERS = "report.html", "report.json"
#: Raise this when the content or look of a report changes, so that stored reports are made again.
VERSION = 5


def write_files(out_dir: Path, *, page: str, numbers: dict[str, Any]) -> None:
    """Both files, each replaced whole; the folder is created if missing."""
    out_dir.mkdir(parents=True, exist_ok=True)
    write_whole(out_dir / NUMBERS, json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1))
    write_whole(out_dir / PAGE, page)


def failed_sections(out_dir: Path) -> list[str]:
    """A line for each section that an error kept out of the report in this folder."""
    sections = json.loads((out_dir / NUMBERS).read_text("utf-8"))["sections"].values()
    return [
        f"The section “{section['title']}” could not be made: {section['error']}."
        for section in sections
        if "error" in section
    ]
