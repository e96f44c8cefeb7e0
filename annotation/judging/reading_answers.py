"""Reads what a judge wrote. It may be anything; what counts has passed the checks that a worker's answers pass."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.judging.rendered_page import AskedQuestion
from annotation.models import JudgeAnswer
from annotation.task_types.base import Answers, Page
from annotation.task_types.for_judges import NoAnswer
from common.numbers import refuse_constant

Problem = JudgeAnswer.Problem
#: Of a quotation in a message.
SHOWN = 120


@dataclass(frozen=True, slots=True)
class Read:
    """The answers by question key, or the problem with them and its detail."""

    answers: Answers = field(default_factory=dict)
    problem: str = ""
    detail: str = ""


def read_answer(raw: str, page: Page, asked: Sequence[AskedQuestion], *, was_cut: bool = False) -> Read:
    """The answers in what a judge wrote about a page. ``was_cut``: it ended at the limit of tokens."""
    text = raw.strip()
    if not text:
        return Read(problem=Problem.EMPTY, detail="The model wrote nothing.")
    start = text.find("{")
    if start < 0:
        return Read(problem=Problem.CUT if was_cut else Problem.PROSE, detail=f"It begins: {text[:SHOWN]}")
    try:
        values, _ = json.JSONDecoder(parse_constant=refuse_constant).raw_decode(text[start:])
    except (ValueError, RecursionError):
        problem = Problem.CUT if was_cut else Problem.BROKEN
        return Read(problem=problem, detail=f"It ends: {text[-SHOWN:]}")
    return read_values(values, page, asked)


def read_values(values: Mapping[str, Any], page: Page, asked: Sequence[AskedQuestion]) -> Read:
    """The answers in an object that a judge gave, by the names of the prompt."""
    form: dict[str, str] = {}
    for one in asked:
        value = values.get(one.name)
        if value is None:
            continue  # whether it may be missing, the page decides
        if isinstance(value, float) and not math.isfinite(value):
            return Read(problem=Problem.OFF, detail=f"{one.question.topic}: not a number.")
        try:
            form |= one.task.read(value)
        except NoAnswer as error:
            wrote = json.dumps(value, ensure_ascii=False)[:SHOWN]
            detail = f"{one.question.topic}: {wrote} is no answer. Expected: {error}."
            return Read(problem=Problem.OFF, detail=detail)
    answers, errors = page.clean(form)
    for one in asked:
        if one.question.key in errors:
            is_missing = values.get(one.name) is None
            problem = Problem.MISSING if is_missing else Problem.OFF
            return Read(problem=problem, detail=f"{one.question.topic}: {errors[one.question.key]}")
    return Read(answers=answers)
