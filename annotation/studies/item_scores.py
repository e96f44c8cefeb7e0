"""Scores of some items from their ratings, as the console, the API and the exports show them.

The rule is `analysis.scores.item_scores`. The report uses it too, so an item has the same figures everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from analysis.description import Score
from annotation.many_ids import among
from annotation.models import Rating

if TYPE_CHECKING:
    import pandas as pd

#: Characters of a score's title that fit above a column of figures.
LONGEST_HEAD = 16
_COLUMNS = ("item", "submission", "worker", "synthetic", "arm", "question", "target", "value")


@dataclass(frozen=True, slots=True)
class ItemScore:
    """One score of one item, or of its ``part``, as `item_scores` defines it. A figure that cannot be computed is None.

    ``n`` counts ratings; ``low`` and ``high`` are the 95% interval of ``score``.
    """

    topic: str
    title: str
    score: float | None = None
    sd: float | None = None
    n: int = 0
    workers: int = 0
    low: float | None = None
    high: float | None = None
    part: str = ""

    @property
    def head(self) -> str:
        """A head for a column: the title, or for a whole sentence its topic."""
        is_sentence = len(self.title) > LONGEST_HEAD or self.title.endswith((".", "?", "!"))
        return self.topic.replace("_", " ") if is_sentence else self.title


def rating_frame(items: Collection[int], *, left_out: Collection[int], simulated: bool | None = None) -> pd.DataFrame:
    """The ratings of these items, except those in the submissions ``left_out``. One query. The columns are item,
    submission, worker, synthetic, arm (all but the fourth as database ids), question, target, value.

    Memory grows with the items given. ``simulated``: None for everybody, True for simulated workers only, False for
    people only.
    """
    import pandas as pd  # here, because a worker's request must not wait for this import

    rows: QuerySet[Rating, Any] = Rating.objects.filter(item__in=among(items))
    if simulated is not None:
        rows = rows.filter(participant__synthetic=simulated)
    columns = rows.order_by("pk").values_list(
        *("item_id", "submission_id", "participant_id", "participant__synthetic", "participant__arm_id"),
        *("question", "target", "value"),
    )
    included = [row for row in columns.iterator(10_000) if row[1] not in left_out]
    return pd.DataFrame.from_records(included, columns=list(_COLUMNS)).astype({"value": float, "synthetic": bool})


def scores_by_item(ratings: pd.DataFrame, score: Score) -> dict[int, list[ItemScore]]:
    """By item id, the score of every item that has a rating on its topic; several if the score is over parts.
    ``ratings`` comes from `rating_frame`."""
    from analysis.scores import item_scores

    rows: dict[Any, dict[str, Any]] = item_scores(ratings, score).to_dict("index")  # type: ignore[assignment]
    scores: dict[int, list[ItemScore]] = {}
    for key, row in rows.items():
        item, part = key if score.over == "part" else (key, "")
        # None instead of NaN, and no minus before a zero.
        figures = {
            name: None if math.isnan(row[name]) else float(row[name]) + 0.0 for name in ("score", "sd", "low", "high")
        }
        n, workers = int(row["n"]), int(row["workers"])
        scores.setdefault(item, []).append(
            ItemScore(score.topic, score.title, n=n, workers=workers, part=part, **figures)
        )
    return scores
