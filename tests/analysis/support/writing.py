"""A writing study of three writers whose figures are worked out in the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from analysis.data import StudyData, make_study_data
from analysis.description import TEXT, QuestionDescription, ReportSection, Score
from tests.analysis.support.studies import NOON, SEVEN_POINTS, a_set, arm, describe

CREATIVE = QuestionDescription("creative", "This story is creative.", SEVEN_POINTS)
WRITING: dict[str, Any] = {
    "own_work": True,
    "task_type": "cyoa",
    "questions": (QuestionDescription("turn", "Write a line.", TEXT, "text"), CREATIVE),
    "scores": (Score("creative", "creative"),),
    "sections": tuple(
        ReportSection(name) for name in ("choices", "edits", "story_texts", "scales", "arm_tests", "waiting")
    ),
    "arms": (arm("mil"), arm("solo")),
}
SUGGESTED = {"model-a": "A dog ran home.", "model-b": "It rained. Cats slept."}
#: By writer: for each of two rounds the suggester chosen and the turn as submitted.
CHOSEN: Mapping[str, Sequence[tuple[str, str]]] = {
    "anna": [("model-a", "A dog ran home."), ("model-a", "A cat ran home.")],
    "ben": [("model-a", "A dog ran home!"), ("model-b", "It rained. Cats slept.")],
    "cora": [("model-b", "It snowed. Cats slept."), ("model-b", "It rained. Dogs slept.")],
}
OWN_LINE = "We went in without a word."
CREATIVITY = {"anna": 6.0, "ben": 4.0, "cora": 5.0}


def writing_study(*, excluded: Sequence[str] = (), **values: Any) -> StudyData:
    """Three stories in two rounds: alone, chosen, alone, chosen. Suggestions took 1 s and were shown after 2 s."""
    writers = list(CHOSEN)
    submissions: list[tuple[Any, ...]] = []
    ratings: list[tuple[Any, ...]] = []
    offers: list[tuple[Any, ...]] = []
    for number, writer in enumerate(writers, start=1):
        decision = "exclude" if writer in excluded else ""
        place = "solo" if writer == "ben" else "mil"
        submissions.append((number, writer, False, "", place, number, 60.0, NOON, False, decision, "0.10"))
        for at, (chosen, submitted) in enumerate(CHOSEN[writer], start=1):
            for turn, text in ((2 * at - 1, OWN_LINE), (2 * at, submitted)):
                ratings.append((number, "p1", "turn", str(turn), "text", None, text, 5.0))
            for side, (name, text) in enumerate(SUGGESTED.items(), start=1):
                when = (1.0, NOON, NOON + timedelta(seconds=2))
                source = "pool" if name == "model-b" and at == 2 else "live"
                about = (number, "p1", 2 * at - 1, at, str(side), 1, name, "toy", "top_p", "7", source)
                offers.append((*about, *when, text, name == chosen, 0))
        ratings.append((number, "p1", "creative", "", "agree", CREATIVITY[writer], "", 3.0))
    return make_study_data(
        describe(**(WRITING | values)), items=[a_set("p1")], submissions=submissions, ratings=ratings, offers=offers
    )
