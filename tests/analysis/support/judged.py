"""Studies in which one submission rates several items: texts shown together, or judged one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.data import StudyData, make_study_data
from analysis.description import QuestionDescription, ReportSection, Scale, Score
from tests.analysis.support.studies import NOON, a_set, describe

LABELS = Scale.of("quality", "ordinal", ["High Quality", "Decent", "Passable", "Bad", "Terrible"])
ORIGIN = Scale.of(
    "origin",
    "ordinal",
    [
        "Definitely machine-generated",
        "Possibly machine-generated",
        "Possibly human-written",
        "Definitely human-written",
    ],
)
QUALITY: dict[str, Any] = {
    "task_type": "quality",
    "questions": (QuestionDescription("quality", "How good is it?", LABELS),),
    "scores": (Score("quality", "Quality"),),
    "sections": (ReportSection("systems"),),
}
DETECTION: dict[str, Any] = {
    "task_type": "detection",
    "questions": (QuestionDescription("judgement", "Who wrote it?", ORIGIN),),
    "scores": (),
    "sections": (ReportSection("human_or_machine"),),
}


def an_item(name: str, context: str = "c1", **cells: str) -> dict[str, Any]:
    """An item with these cells in the items file."""
    return a_set(name, context=context, cells={"sample_id": name, **cells}, texts=[["A text."]], responses=[])


def rated_together(
    items: Sequence[Mapping[str, Any]],
    submissions: Sequence[tuple[str, int, Mapping[str, float | Mapping[str, float]]]],
    *,
    arm_of: Mapping[str, str] = {},
    **description: Any,
) -> StudyData:
    """A study of submissions (worker, hit, value by item, or values by target by item)."""
    told = describe(**description)
    question = told.questions[0]
    rows, ratings = [], []
    for number, (worker, hit, values) in enumerate(submissions, start=1):
        arm = arm_of.get(worker, "")
        rows.append((number, worker, False, "", arm, hit, 60.0, NOON, False, "", "0.10"))
        for item, value in values.items():
            parts = value if isinstance(value, Mapping) else {"": value}
            for target, given in parts.items():
                ratings.append((number, item, question.topic, target, question.scale.name, given, "", 8.0))
    return make_study_data(told, items=items, submissions=rows, ratings=ratings)
