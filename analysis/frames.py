"""A study's data as frames: the one place where the analysis asks the database.

Shapes: one row per rating, per item and per submission. Workers appear under their pseudonym in the study. Whatever
the number of rows, a study takes five queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from django.db.models import Count, OuterRef, QuerySet, Subquery

from annotation.models import Assignment, Flag, Item, Rating, Review, Study, Submission
from generation.models import GenerationRun, Sample

RATING_COLUMNS = ("submission", "item", "question", "target", "scale", "value", "text", "seconds")
ITEM_COLUMNS = ("item", "payload")
SUBMISSION_COLUMNS = (
    "submission",
    "worker",
    "synthetic",
    "profile",
    "hit",
    "seconds",
    "received_at",
    "has_feedback",
    "decision",
)
FLAG_COLUMNS = ("submission", "reason", "detail")
SAMPLE_COLUMNS = (
    "context",
    "model",
    "decoder",
    "number",
    "text",
    "n_tokens",
    "log_p",
    "log_q",
    "finish_reason",
    "seconds",
)


@dataclass(frozen=True, slots=True)
class StudyFrames:
    """All of a study that the analysis uses.

    ``ratings``: RATING_COLUMNS, then ``worker`` and ``synthetic``; in the order in which they were given. ``item`` is
    the external id; ``value`` and ``seconds`` are NaN where there is none.
    ``items``: ITEM_COLUMNS in the order of the file, with ``n``, how many submissions that count rated the item.
    ``submissions``: SUBMISSION_COLUMNS, those left out of the analysis too: ``decision`` is that of the latest review
    (empty: none). ``flags``: FLAG_COLUMNS, of all submissions.
    ``excluded`` counts the submissions whose ratings are not in ``ratings``; ``assignments`` the assignments by state.
    """

    ratings: pd.DataFrame
    items: pd.DataFrame
    submissions: pd.DataFrame
    flags: pd.DataFrame
    excluded: int
    assignments: dict[str, int]

    @property
    def used(self) -> pd.DataFrame:
        """The submissions whose ratings are in ``ratings``."""
        if not self.excluded:
            return self.submissions
        return self.submissions[self.submissions["decision"] != Review.Decision.EXCLUDE]

    @property
    def synthetic(self) -> int:
        """How many ratings come from simulated workers."""
        return int(self.ratings["synthetic"].sum())


def study_frames(study: Study, *, include_excluded: bool = False) -> StudyFrames:
    """The study's frames. A submission whose latest review says "exclude" gives no ratings unless told to.

    What arrives while this runs is left out whole: a rating enters only with its submission.
    """
    submissions = _submissions(study)
    items, item_names = _items(study)
    kept = submissions
    if not include_excluded:
        kept = submissions[submissions["decision"] != Review.Decision.EXCLUDE]
    ratings = _ratings(study, kept, item_names)
    rated = ratings.drop_duplicates(["item", "submission"])["item"].value_counts()
    items["n"] = items["item"].map(rated).fillna(0).astype(int)
    flags = Flag.objects.filter(submission__study=study).order_by("pk")
    states = Assignment.objects.filter(hit__study=study).values_list("state").annotate(n=Count("pk")).order_by("state")
    return StudyFrames(
        ratings=ratings,
        items=items,
        submissions=submissions,
        flags=_frame(flags.values_list("submission_id", "reason", "detail"), FLAG_COLUMNS),
        excluded=len(submissions) - len(kept),
        assignments=dict(states),
    )


def sample_frame(run: GenerationRun) -> pd.DataFrame:
    """SAMPLE_COLUMNS of every sample that the run has, by context, model, decoder and number. One query.

    ``context`` is the external id, ``model`` and ``decoder`` are names; ``log_p`` and ``log_q`` are NaN where there is
    none.
    """
    rows: QuerySet[Sample, Any] = (
        Sample.objects.filter(run=run)
        .order_by("context__number", "model__name", "pk")
        .values_list("context__external_id", "model__name", *SAMPLE_COLUMNS[2:])
    )
    frame = _frame(rows.iterator(chunk_size=10_000), SAMPLE_COLUMNS)
    frame = frame.astype({"log_p": float, "log_q": float, "seconds": float, "n_tokens": int})
    return frame.sort_values(["context", "model", "decoder", "number"], kind="stable", ignore_index=True)


def _submissions(study: Study) -> pd.DataFrame:
    latest = Review.objects.filter(submission=OuterRef("pk")).order_by("-pk").values("decision")[:1]
    rows: QuerySet[Submission, Any] = (
        Submission.objects.filter(study=study)
        .annotate(decision=Subquery(latest))
        .order_by("pk")
        .values_list(
            "pk",
            "participant__pseudonym",
            "participant__synthetic",
            "participant__profile",
            "assignment__hit_id",
            "seconds",
            "received_at",
            "feedback",
            "decision",
        )
    )
    told = ((*row[:7], bool(row[7].strip()), row[8] or "") for row in rows.iterator(chunk_size=10_000))
    return _frame(told, SUBMISSION_COLUMNS).astype({"synthetic": bool, "has_feedback": bool, "seconds": float})


def _items(study: Study) -> tuple[pd.DataFrame, dict[int, str]]:
    """The frame, and external ids by database id."""
    rows = list(Item.objects.filter(study=study).order_by("position").values_list("pk", "external_id", "payload"))
    return _frame((row[1:] for row in rows), ITEM_COLUMNS), {row[0]: row[1] for row in rows}


def _ratings(study: Study, submissions: pd.DataFrame, item_names: dict[int, str]) -> pd.DataFrame:
    rows: QuerySet[Rating, Any] = (
        Rating.objects.filter(study=study)
        .order_by("pk")
        .values_list("submission_id", "item_id", "question", "target", "scale", "value", "text", "seconds")
    )
    frame = _frame(rows.iterator(chunk_size=10_000), RATING_COLUMNS).astype({"value": float, "seconds": float})
    by_submission = submissions.set_index("submission")
    frame = frame[frame["submission"].isin(by_submission.index)].reset_index(drop=True)
    frame["item"] = frame["item"].map(item_names)
    frame["worker"] = frame["submission"].map(by_submission["worker"])
    frame["synthetic"] = frame["submission"].map(by_submission["synthetic"]).astype(bool)
    return frame


def _frame(rows: Iterable[tuple[Any, ...]], columns: Sequence[str]) -> pd.DataFrame:
    """A frame that has its columns even without rows."""
    return pd.DataFrame.from_records(list(rows), columns=list(columns))
