"""Progress bars in terminals and notebooks."""

from __future__ import annotations

import sys
from typing import Any

from tqdm.auto import tqdm


class Bar:
    """How far something is. ``shown`` None: only where somebody looks, that is in a terminal or a notebook."""

    def __init__(self, title: str, total: int, unit: str, *, shown: bool | None = None) -> None:
        shell = sys.modules.get("IPython")
        in_notebook = shell is not None and shell.get_ipython() is not None
        visible = shown if shown is not None else sys.stderr.isatty() or in_notebook
        scale = unit == "B"
        self.bar: Any = tqdm(
            desc=title, total=total or None, unit=unit, unit_scale=scale, disable=not visible, leave=False
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def add(self, count: int) -> None:
        self.bar.update(count)

    def at(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done; a total of 0 is not known."""
        self.bar.total = total or self.bar.total
        self.bar.update(done - self.bar.n)
