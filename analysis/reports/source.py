"""What every section of a report is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from analysis.diversity.resampling import Bootstrap
from analysis.frames import StudyFrames, study_frames
from annotation.instrument import Instrument
from annotation.models import Study
from annotation.task_types.questions import TEXT, Question, Scale


@dataclass(frozen=True)
class Source:
    """A study with its frames, its questions by topic, and how to resample."""

    study: Study
    instrument: Instrument
    frames: StudyFrames
    draws: int = 1000
    seed: int = 1
    unknown: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, study: Study, *, draws: int = 1000, seed: int = 1) -> Source:
        return cls(study, Instrument.of(study), study_frames(study), draws, seed)

    @property
    def plan(self) -> Bootstrap:
        return Bootstrap(draws=self.draws, seed=self.seed)

    @cached_property
    def questions(self) -> dict[str, Question]:
        """By topic, in the type's order; last those that only the ratings know, on a scale made from them."""
        questions = dict(self.instrument.task.question_topics(self.instrument.config))
        for topic, rows in self.frames.ratings.groupby("question", sort=False):
            name = str(topic)
            if name not in questions:
                texts = bool(rows["value"].isna().all())
                scale = TEXT if texts else Scale(str(rows["scale"].iloc[0]), "interval")
                questions[name] = Question(name, name, name, scale)
                self.unknown.append(name)
        return questions

    def ratings_on(self, topic: str) -> pd.DataFrame:
        """The ratings of one question that are numbers, with ``unit``: a number per item and target.

        A worker's second rating of one unit, which only an item in two hits can bring about, is left out.
        """
        ratings = self.frames.ratings
        rows = ratings[(ratings["question"] == topic) & ratings["value"].notna()]
        rows = rows.assign(unit=rows.groupby(["item", "target"], sort=False).ngroup())
        return rows.drop_duplicates(["unit", "worker"])

    def texts_on(self, topic: str) -> pd.DataFrame:
        """The answers in words to one question."""
        ratings = self.frames.ratings
        return ratings[(ratings["question"] == topic) & (ratings["text"] != "")]

    @property
    def scored_topics(self) -> list[str]:
        """The topics that make items' scores; where the type has none, all that were rated in numbers."""
        scored = [score.topic for score in self.instrument.task.scores()]
        return scored or [topic for topic, question in self.questions.items() if question.scale.level != "text"]
