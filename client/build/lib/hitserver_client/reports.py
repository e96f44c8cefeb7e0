"""The report of a study: its numbers, its page, and how a notebook shows it."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEIGHT = 640


@dataclass(frozen=True, repr=False)
class Report:
    """The report of a study at one moment: its ``numbers``, and its ``page`` as one HTML file without scripts."""

    study: str
    numbers: Mapping[str, Any]
    page: str

    def save(self, folder: str | Path) -> Path:
        """Write ``report.html`` and ``report.json`` into a folder. Returns the folder."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        (target / "report.html").write_text(self.page, encoding="utf-8")
        text = json.dumps(self.numbers, ensure_ascii=False, indent=2)
        (target / "report.json").write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"<Report of {self.study}>"

    def _repr_html_(self) -> str:
        """The page in a frame that cannot run scripts or reach the notebook."""
        page = html.escape(self.page, quote=True)
        return (
            f'<iframe sandbox title="Report of {html.escape(self.study)}" srcdoc="{page}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #ccc"></iframe>'
        )
