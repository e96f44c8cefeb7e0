"""How a notebook shows a study: its state, its progress and what it costs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BAR = "height: .6em; background: #ddd; border-radius: .3em; max-width: 24em"
FILLED = "height: 100%; background: #2a6f4e; border-radius: .3em; width: {share}%"


@dataclass(frozen=True)
class Overview:
    """What is known about a study at one moment. ``progress`` and ``cost`` are None if they could not be read."""

    study: Mapping[str, Any]
    progress: Mapping[str, Any] | None = None
    cost: str | None = None

    def lines(self) -> list[str]:
        """In words."""
        study, progress = self.study, self.progress
        lines = [f"{study['title']} ({study['slug']}): {study['status']}, {study['task_type']}"]
        if progress is None:
            lines.append(f"{study['items']:,} items; {study['submitted']:,} of {study['wanted']:,} submissions")
        else:
            lines.append(f"{progress['items_done']:,} of {progress['items']:,} items have all their ratings")
            count, simulated = progress.get("workers", 0), progress.get("workers_synthetic", 0)
            people = f"by {count:,} worker{'' if count == 1 else 's'}"
            people += f" ({simulated:,} of them simulated)" if simulated else ""
            lines.append(f"{progress['submitted']:,} of {progress['wanted']:,} submissions, {people}")
        return [*lines, f"Cost: {self.cost}"] if self.cost else lines

    def html(self) -> str:
        wanted, sent = self.study["wanted"], self.study["submitted"]
        share = min(100, round(100 * sent / wanted)) if wanted else 0
        bar = f'<div style="{BAR}"><div style="{FILLED.format(share=share)}"></div></div>'
        title, *rest = map(html.escape, self.lines())
        return f"<div><b>{title}</b>{bar}{'<br>'.join(rest)}</div>"
