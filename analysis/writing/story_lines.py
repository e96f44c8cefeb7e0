"""The lines of stories: what was suggested for each turn, what was chosen, what was submitted.

A *turn* is one line of a story, numbered from 1. In studies with suggestions at every k-th turn, the suggestions of
round r are for turn r·k. A turn without any suggestion is *written alone*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import pandas as pd

#: The columns of a frame of lines. ``story`` names a story; a ``writer`` may write several.
LINE_COLUMNS = ("story", "writer", "turn", "round", "author", "text", "chosen", "submitted")


@dataclass(frozen=True, slots=True)
class Offered:
    """One suggestion that a page showed. ``text`` is empty if none came; ``number`` counts requests for a side."""

    round: int
    side: str
    number: int
    suggester: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A suggestion (``author`` is its suggester), or what a writer wrote (``author`` is empty).

    ``round`` is 0 if the turn was written alone. ``submitted`` is the turn as submitted: of the chosen suggestion and
    of what a writer wrote; empty for the other suggestions.
    """

    turn: int
    round: int
    author: str
    text: str
    chosen: bool
    submitted: str


@dataclass(frozen=True, slots=True)
class Contest:
    """Two suggesters in the same rounds. ``chosen`` (1 for ``first``), ``writers`` and ``rounds``: one per choice."""

    first: str
    second: str
    chosen: list[int]
    writers: list[str]
    rounds: list[int]


def story_lines(turns: Mapping[int, str], offers: Iterable[Offered], *, every: int = 2) -> list[Line]:
    """The lines of one story in order, from its submitted turns and all its suggestions.

    Of several requests for one side in a round, only the newest counts, as on the page. ValueError: ``every`` below 1.
    """
    if every < 1:
        raise ValueError(f"suggestions are at every turn or less often, not at every {every}")
    newest: dict[tuple[int, str], Offered] = {}
    for offer in sorted(offers, key=lambda offer: offer.number):
        newest[offer.round, offer.side] = offer
    by_turn: dict[int, list[Offered]] = {}
    for _, offer in sorted(newest.items()):
        if offer.text:
            by_turn.setdefault(offer.round * every, []).append(offer)
    lines = []
    for turn, text in sorted(turns.items()):
        shown = by_turn.get(turn, [])
        for suggestion in shown:
            submitted = text if suggestion.chosen else ""
            lines.append(
                Line(turn, suggestion.round, suggestion.suggester, suggestion.text, suggestion.chosen, submitted)
            )
        if not any(suggestion.chosen for suggestion in shown):
            lines.append(Line(turn, shown[0].round if shown else 0, "", text, False, text))
    return lines


def lines_frame(stories: Iterable[tuple[str, str, Sequence[Line]]]) -> pd.DataFrame:
    """One row per line with LINE_COLUMNS, from (story, writer, lines)."""
    rows = [{"story": story, "writer": writer} | asdict(line) for story, writer, lines in stories for line in lines]
    frame = pd.DataFrame(rows, columns=list(LINE_COLUMNS))
    return frame.astype({"turn": int, "round": int, "chosen": bool})


def authors_of(lines: pd.DataFrame) -> list[str]:
    """The suggesters in alphabetical order."""
    return sorted(set(lines["author"]) - {""})


def contests(lines: pd.DataFrame) -> list[Contest]:
    """For every pair of suggesters, the rounds in which both suggested a text and one of the two was chosen.

    Rounds in which one suggester had several texts, or neither was chosen, are left out.
    """
    suggested = lines[lines["author"] != ""]
    names = authors_of(lines)
    contest_of: dict[tuple[str, str], Contest] = {
        (first, second): Contest(first, second, [], [], []) for first, second in combinations(names, 2)
    }
    for (_, number), rows in suggested.groupby(["story", "round"], sort=False):
        chosen = rows.loc[rows["chosen"], "author"].tolist()
        shown = rows["author"].tolist()
        if len(set(shown)) < len(shown) or len(chosen) != 1:
            continue
        for first, second in combinations(sorted(shown), 2):
            if chosen[0] in (first, second):
                contest = contest_of[first, second]
                contest.chosen.append(int(chosen[0] == first))
                contest.writers.append(str(rows["writer"].iloc[0]))
                contest.rounds.append(int(str(number)))
    return [contest for contest in contest_of.values() if contest.chosen]


def written_alone(lines: pd.DataFrame) -> pd.DataFrame:
    """The lines of turns without any suggestion."""
    return lines[(lines["author"] == "") & (lines["round"] == 0)]


def accepted(lines: pd.DataFrame) -> pd.DataFrame:
    """The suggestions that were chosen, edited or not."""
    return lines[(lines["author"] != "") & lines["chosen"]]
