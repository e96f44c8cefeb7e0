"""One table or figure of a paper, and the part of our report that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Published:
    """``name``: as in the paper. ``study``: the simulated study that has it; ``section`` and ``caption``: where in its
    report, by the key of the section and a part of the caption. ``differs``: what a reader of both should know."""

    name: str
    subject: str
    study: str
    section: str
    caption: str
    differs: str
    kind: Literal["table", "figure"] = "table"
