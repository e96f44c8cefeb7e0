"""The record of how a recording was played, as a page sends it.

A browser sends ``{"length": 4.2, "seconds": 8.4, "starts": 2, "ends": 1, "parts": [[0, 4.2]]}``: how long the recording
is, how many seconds of it were played altogether, how many times play was pressed, how many times the end was reached
while playing, and which parts were played at least once. A part that somebody skips is in none of them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

#: Browsers report the places in a recording to about a tenth of a second. What may be missing altogether: this many
#: seconds, and this share of a short recording.
SLACK_SECONDS, SLACK_SHARE = 0.5, 0.1
#: How much the lengths that a browser and the file report may differ.
LENGTH_SLACK = 0.5
MOST_SECONDS, MOST_TIMES, MOST_PARTS, MOST_CHARS = 1e6, 100_000, 500, 20_000


@dataclass(frozen=True, slots=True)
class PlayRecord:
    """What was played. Times are in seconds, rounded to hundredths; ``parts`` are in order and do not overlap."""

    length: float
    seconds: float
    starts: int
    ends: int
    parts: tuple[tuple[float, float], ...]

    @property
    def covered(self) -> float:
        """How many seconds of the recording were played at least once."""
        return round(sum(end - start for start, end in self.parts), 2)

    def missing(self, length: float = 0.0) -> float:
        """How many seconds were never played; 0 if that is within what browsers report exactly. ``length``: of the
        recording, where the file says so; 0: as the browser reports it."""
        whole = length if length and abs(length - self.length) > LENGTH_SLACK else self.length
        missing = max(0.0, whole - self.covered)
        return 0.0 if whole > 0 and missing <= min(SLACK_SECONDS, SLACK_SHARE * whole) else max(missing, 0.1)

    def as_json(self) -> str:
        """The record as it is stored, which `read_record` reads again."""
        return json.dumps(
            {
                "length": self.length,
                "covered": self.covered,
                "seconds": self.seconds,
                "starts": self.starts,
                "ends": self.ends,
                "parts": [list(part) for part in self.parts],
            }
        )


def whole_record(length: float) -> PlayRecord:
    """The record of somebody who plays everything once."""
    return PlayRecord(round(length, 2), round(length, 2), 1, 1, ((0.0, round(length, 2)),))


def read_record(text: str) -> PlayRecord | None:
    """The record in a form field; None if it is empty or no page of ours could have made it."""
    if not text.strip() or len(text) > MOST_CHARS:
        return None
    try:
        sent = json.loads(text)
        length, seconds = (_number(sent[name], MOST_SECONDS) for name in ("length", "seconds"))
        starts, ends = (int(_number(sent[name], MOST_TIMES)) for name in ("starts", "ends"))
        parts = [(_number(start, MOST_SECONDS), _number(end, MOST_SECONDS)) for start, end in sent["parts"]]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if len(parts) > MOST_PARTS:
        return None
    inside = [(start, min(end, length)) for start, end in parts if start < min(end, length)]
    joined: list[tuple[float, float]] = []
    for start, end in sorted(inside):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return PlayRecord(length, seconds, starts, ends, tuple(joined))


def _number(value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a number")
    if not 0 <= value <= most:
        raise ValueError("out of range")
    return round(float(value), 2)
