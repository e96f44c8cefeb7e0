"""Studies as the analysis sees them, written as small tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from analysis.data import StudyData, make_study_data
from analysis.description import (
    TEXT,
    ArmDescription,
    Point,
    QuestionDescription,
    ReportSection,
    Scale,
    Score,
    StudyDescription,
)

#: (item, worker) → value, or target → value where parts of the item are rated.
Values = Mapping[tuple[str, str], float | Mapping[str, float]]
#: (item, worker) → text by question, or several texts by question.
Texts = Mapping[tuple[str, str], Mapping[str, str | Sequence[str]]]
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

NINE_POINTS = Scale.of(
    "diversity",
    "ordinal",
    ["Very diverse", "Diverse", "Slightly diverse", "Almost not diverse", "Not diverse at all"],
    half_steps=True,
)
SIMILARITY = Scale.of(
    "similarity",
    "ordinal",
    ["Very similar", "Similar", "Slightly similar", "Almost not similar", "Not similar at all"],
    half_steps=True,
)
SIDES = Scale.of(
    "ranking", "ordinal", ["Set A is much more", "Set A is more", "Similar", "Set B is more", "Set B is much more"]
)
STORED_SIDES = replace(
    SIDES,
    points=tuple(replace(p, label=p.label.replace("Set A", "Set 1").replace("Set B", "Set 2")) for p in SIDES.points),
)
PAIRWISE = Scale("preference", "pairwise", (Point(1.0, "Text 1"), Point(0.0, "No difference"), Point(-1.0, "Text 2")))

DIVERSITY = QuestionDescription("diversity", "How diverse is this set of replies?", NINE_POINTS)
ABS_HDS: dict[str, Any] = {
    "task_type": "abs_hds",
    "questions": (DIVERSITY,),
    "scores": (Score("diversity", "absHDS"),),
    "sections": (ReportSection("diversity"),),
}
SIM_HDS: dict[str, Any] = {
    "task_type": "sim_hds",
    "questions": (QuestionDescription("similarity", "How similar are these two replies?", SIMILARITY),),
    "scores": (Score("similarity", "simHDS", -1),),
    "sections": (ReportSection("diversity"),),
}
RNK_HDS: dict[str, Any] = {
    "task_type": "rnk_hds",
    "questions": (QuestionDescription("ranking", "Which set is more diverse?", SIDES, stored_scale=STORED_SIDES),),
    "scores": (Score("ranking", "rnkHDS", middle=3.0),),
    "sections": (ReportSection("diversity"),),
}
SEVEN_POINTS = Scale.numbered("agree", 7, low="Strongly disagree", high="Strongly agree")
LIKERT: dict[str, Any] = {
    "task_type": "likert",
    "questions": (
        QuestionDescription("creative", "This story is creative.", SEVEN_POINTS),
        QuestionDescription("coherent", "This story is coherent.", SEVEN_POINTS),
    ),
    "scores": (Score("creative", "creative"), Score("coherent", "coherent")),
    "sections": (ReportSection("scales", {"by": "parameter"}),),
}
CHOICE: dict[str, Any] = {
    "task_type": "pairwise",
    "questions": (QuestionDescription("overall", "Which text is better?", PAIRWISE),),
    "scores": (Score("overall", "overall"),),
    "sections": (ReportSection("preference", {"systems": ["system_1", "system_2"]}),),
}
TEXTS_ONLY: dict[str, Any] = {
    "task_type": "production",
    "questions": (QuestionDescription("own", "Write something.", TEXT, "text", bounds={"min_words": 2}),),
    "scores": (),
    "sections": (),
}
WRITTEN: dict[str, Any] = {
    "task_type": "con_test",
    "questions": (
        QuestionDescription("high", "Write five different replies.", TEXT, "text"),
        QuestionDescription("low", "Rephrase one of them five times.", TEXT, "text"),
    ),
    "scores": (),
    "sections": (ReportSection("productions"),),
}


def describe(**values: Any) -> StudyDescription:
    """A live study that rates sets on nine points, except for ``values``."""
    usual: dict[str, Any] = {
        "slug": "pilot",
        "title": "A pilot",
        "status": "Live",
        "task_type": "abs_hds",
        "task_title": "absHDS",
        "summary": "How diverse is a set?",
        "source": "Tevet & Berant 2021",
        "ratings_per_item": 20,
        "items_per_hit": 1,
        "hits_per_worker": None,
        "reward": Decimal("0.10"),
        "time_limit_minutes": 30,
        "access": "whoever has the link",
        "seed": 7,
    }
    return StudyDescription(**(usual | ABS_HDS | values))


def arm(name: str, reward: str = "0.10", **values: Any) -> ArmDescription:
    return ArmDescription(name, Decimal(reward), **values)


def a_set(
    name: str,
    *,
    label: float | None = None,
    label_name: str = "temp",
    responses: Sequence[str] = ("One answer here.", "Another answer there.", "Something else."),
    context: str = "",
    **values: Any,
) -> dict[str, Any]:
    """An item that is one set of texts."""
    return {
        "item": name,
        "role": "main",
        "context": context or f"Context of {name}",
        "parameter": "" if label is None else label_name,
        "parameter_value": label,
        "texts": [list(responses)],
        "responses": list(responses),
        "metrics": {},
        "wanted": 20,
        "cells": {"sample_id": name},
    } | values


def a_pair(name: str, labels: tuple[float, float]) -> dict[str, Any]:
    """An item that compares two sets of one context, labelled with the difference of their parameters."""
    apart = round(labels[0] - labels[1], 12)
    one = a_set(name, label=apart, label_name="temp (set 1 − set 2)", context="The same", responses=[])
    return one | {"texts": [["One answer.", "Another."], ["Something.", "Else."]]}


def study_data(
    items: Iterable[Mapping[str, Any] | str],
    values: Values = {},  # noqa: B006 - never changed
    *,
    question: str = "",
    texts: Texts = {},  # noqa: B006
    synthetic: Sequence[str] = (),
    arm_of: Mapping[str, str] = {},
    excluded: Sequence[int] = (),
    flags: Sequence[tuple[int, str]] = (),
    seconds: float = 40.0,
    wording: Sequence[tuple[str, str]] = (),
    **description: Any,
) -> StudyData:
    """A study in which each worker rated each item of ``values`` on ``question`` (default: the first one described).

    Every (item, worker) is a separate submission, numbered from 1 in the order of ``values``, then ``texts``.
    ``arm_of`` puts workers into arms.
    """
    told = describe(texts=tuple(wording), **description)
    asked = question or next((each.topic for each in told.questions if each.scale != TEXT), "diversity")
    scale = next((each.scale.name for each in told.questions if each.topic == asked), asked)
    rows = [a_set(each) if isinstance(each, str) else each for each in items]
    keys = list(dict.fromkeys([*values, *texts]))
    rewards = {each.name: each.reward for each in told.arms}
    submissions = [
        (
            number,
            worker,
            worker in synthetic,
            "careful" if worker in synthetic else "",
            arm_of.get(worker, ""),
            number,
            seconds,
            NOON,
            False,
            "exclude" if number in excluded else "",
            str(rewards.get(arm_of.get(worker, ""), told.reward)),
        )
        for number, (_, worker) in enumerate(keys, start=1)
    ]
    ratings: list[tuple[Any, ...]] = []
    for number, key in enumerate(keys, start=1):
        given = values.get(key, {})
        parts = given if isinstance(given, Mapping) else {"": given}
        ratings += [(number, key[0], asked, target, scale, value, "", 8.0) for target, value in parts.items()]
        for topic, words in text_answers(texts.get(key, {})):
            ratings.append((number, key[0], topic, "", "text", None, words, 12.0))
    return make_study_data(
        told,
        items=rows,
        submissions=submissions,
        ratings=ratings,
        flags=[(submission, reason, "") for submission, reason in flags],
    )


def text_answers(given: Mapping[str, str | Sequence[str]]) -> Iterable[tuple[str, str]]:
    """Topic and text of each answer in words."""
    for topic, words in given.items():
        yield from ((topic, each) for each in ([words] if isinstance(words, str) else words))
