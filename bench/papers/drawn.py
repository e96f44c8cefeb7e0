"""Studies of the published designs with answers by simulated workers, whose true effects are known.

The description of a study (questions, scales, arms, sections of the report) is that of its file in
`examples/published`. Answers are drawn instead of sent through pages: `manage.py simulate` does that.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from analysis.data import StudyData, make_study_data
from analysis.description import StudyDescription
from analysis.study_tables import ItemRow, OfferRow, OwnRatingRow, RatingRow, SubmissionRow

FILES = Path(__file__).parents[2] / "examples" / "published"
BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WORDS = (
    *("the", "a", "one", "every", "small", "old", "green", "quiet", "early", "late", "next", "door", "river", "garden"),
    *("friend", "letter", "window", "train", "story", "morning", "road", "house", "dog", "teacher", "summer", "stone"),
    *("market", "kitchen", "song", "light", "boat", "neighbour", "walked", "opened", "carried", "found", "left"),
    *("waited", "called", "wanted", "turned", "heard", "again", "slowly", "home", "today", "because", "under"),
    *("behind", "without", "before", "after"),
)


def description_of(name: str, **values: Any) -> StudyDescription:
    """The description of the study in ``examples/published/NAME.yaml``. Needs a database with its tables."""
    from django.core.management import call_command

    from annotation.models import Study
    from annotation.results.description import describe_study

    slug = next(
        line.partition(":")[2].strip() for line in (FILES / f"{name}.yaml").read_text("utf-8").splitlines()
        if line.startswith("slug:")
    )  # fmt: skip
    if not Study.objects.filter(slug=slug).exists():
        call_command("study", "apply", str(FILES / f"{name}.yaml"), stdout=io.StringIO())
    described = describe_study(Study.objects.get(slug=slug))
    return replace(described, status="Live", live_at=BEGAN, **values)


@dataclass
class Drawn:
    """A study to which submissions are added one after the other."""

    description: StudyDescription
    items: list[ItemRow] = field(default_factory=list)
    submissions: list[SubmissionRow] = field(default_factory=list)
    ratings: list[RatingRow] = field(default_factory=list)
    offers: list[OfferRow] = field(default_factory=list)
    own_ratings: list[OwnRatingRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scales = {question.topic: question.scale for question in self.description.questions}
        self.rewards = {arm.name: arm.reward for arm in self.description.arms}

    def add_item(
        self,
        name: str,
        *,
        context: str = "",
        texts: Sequence[Sequence[str]] = (),
        parameter: tuple[str, float] | None = None,
        metrics: Mapping[str, float] | None = None,
        cells: Mapping[str, str] | None = None,
    ) -> None:
        wanted, label = self.description.ratings_per_item or 1, parameter or ("", math.nan)
        responses = list(texts[0]) if len(texts) == 1 and parameter else []
        row = (*label, [list(part) for part in texts], responses, dict(metrics or {}), wanted)
        self.items.append(ItemRow(name, "main", context, *row, {"sample_id": name} | dict(cells or {})))

    def submit(self, worker: str, *, arm: str = "", hit: int = 0, hour: float = 0.0, seconds: float = 240.0) -> int:
        """A submission by a simulated worker, ``hour`` hours after the study began. Returns its number."""
        number = len(self.submissions) + 1
        when = BEGAN + timedelta(hours=hour, seconds=number)
        reward = str(self.rewards.get(arm, self.description.reward))
        self.submissions.append(
            SubmissionRow(number, worker, True, "careful", arm, hit or number, seconds, when, False, "", reward)
        )
        return number

    def rate(self, submission: int, item: str, topic: str, value: float, *, target: str = "") -> None:
        self.ratings.append(RatingRow(submission, item, topic, target, self.scales[topic].name, value, "", 8.0))

    def write(self, submission: int, item: str, topic: str, text: str, *, target: str = "") -> None:
        self.ratings.append(RatingRow(submission, item, topic, target, "text", math.nan, text, 20.0))

    @property
    def data(self) -> StudyData:
        return make_study_data(
            self.description,
            items=self.items,
            submissions=self.submissions,
            ratings=self.ratings,
            offers=self.offers,
            own_ratings=self.own_ratings,
        )


def on_scale(value: float, low: int, high: int, *, step: float = 1.0) -> float:
    """The nearest point of a scale."""
    return float(np.clip(round(value / step) * step, low, high))


def sentence(rng: random.Random, words: int, vocabulary: Sequence[str] = WORDS) -> str:
    """A sentence of made-up text. A shorter ``vocabulary`` repeats more."""
    return " ".join(rng.choice(vocabulary) for _ in range(words)).capitalize() + "."
