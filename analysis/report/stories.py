"""What the sections of writing studies share: the lines of the stories, from ratings and live suggestions."""

from __future__ import annotations

import pandas as pd

from analysis.report.source import Source
from analysis.writing.story_lines import Offered, lines_frame, story_lines


def lines_of(source: Source, *, topic: str = "turn", every: int = 2) -> pd.DataFrame:
    """The lines of all included submissions (`analysis.writing.story_lines.LINE_COLUMNS`).

    ``topic`` is the question whose ratings hold the turns as submitted, with the turn's number as target. Suggestions
    of round r belong to turn r × ``every``.
    """
    turns = source.ratings[source.ratings["question"] == topic]
    offers: dict[tuple[int, str], list[Offered]] = {}
    for row in source.data.offers.to_dict("records"):
        names = ("round", "side", "number", "suggester", "text", "chosen")
        offer = Offered(**{name: row[name] for name in names})
        offers.setdefault((row["submission"], row["item"]), []).append(offer)
    stories = []
    for (submission, item), rows in turns.groupby(["submission", "item"], sort=False):
        key = int(str(submission)), str(item)
        texts = {
            int(turn): text for turn, text in zip(rows["target"], rows["text"], strict=True) if str(turn).isdecimal()
        }
        lines = story_lines(texts, offers.get(key, []), every=every)
        stories.append((f"{submission} {item}".strip(), str(rows["worker"].iloc[0]), lines))
    return lines_frame(stories)


def used_offers(source: Source) -> pd.DataFrame:
    """The live suggestions of included submissions."""
    offers = source.data.offers
    return offers[offers["submission"].isin(source.data.used["submission"])]
