"""What people answered around their tasks, as descriptions, exports and bundles contain it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.db.models import Count, Q

from analysis.description import QuestionnaireDescription
from analysis.study_tables import QuestionnaireRow
from annotation.instrument import asked_around
from annotation.models import Participant, QuestionnaireReply, Study
from annotation.results.row_pages import pages_by_pk
from annotation.task_types.questionnaires import AFTER, BEFORE, COMPREHENSION, NAMES, TITLES, Questionnaires
from annotation.task_types.questions import Question

CHUNK = 5_000


def describe_questionnaires(asked: Questionnaires) -> list[QuestionnaireDescription]:
    return [
        QuestionnaireDescription(
            name,
            TITLES[name],
            [question.describe() for question in asked.questions(name)],
            asked.tries if name == COMPREHENSION else 1,
        )
        for name in NAMES
        if asked.questions(name)
    ]


def screening_of(asked: Questionnaires) -> list[str]:
    """Whose answers turn them away, in words: one phrase for each condition."""
    questions = {question.topic: question for question in asked.questions(BEFORE)}
    phrases = []
    for condition in asked.conditions:
        question = questions[condition.topic]
        names = question.short_names()
        answers = ", ".join(f"“{names.get(value, value)}”" for value in condition.values)
        wanted = "anything but" if condition.unless else "one of" if len(condition.values) > 1 else ""
        phrases.append(f"“{question.label}”: {wanted} {answers}".replace(":  ", ": "))
    return phrases


def turned_away(study: Study) -> dict[str, int]:
    """Participants whose answers turned them away, by reason, and how many of them are simulated."""
    rows = Participant.objects.filter(study=study, turned_away__isnull=False).order_by()
    counted = rows.values_list("turned_away").annotate(n=Count("pk"), simulated=Count("pk", filter=Q(synthetic=True)))
    counts: dict[str, int] = {}
    for reason, number, simulated in counted:
        counts[str(reason)] = number
        counts["simulated"] = counts.get("simulated", 0) + simulated
    return counts


def questionnaire_rows(study: Study, *, simulated: bool | None = None) -> Iterator[QuestionnaireRow]:
    """One row for each answer, and for each option of a question with several choices. No query if nothing is asked."""
    asked = asked_around(study)
    if not asked:
        return
    questions = {name: asked.questions(name) for name in NAMES}
    replies = QuestionnaireReply.objects.filter(study=study).order_by("pk")
    if simulated is not None:
        replies = replies.filter(participant__synthetic=simulated)
    columns = (
        *("pk", "participant__pseudonym", "participant__synthetic", "participant__arm__name", "questionnaire"),
        *("attempt", "answers", "timing", "passed", "received_at"),
    )
    for batch in pages_by_pk(replies.values_list(*columns), CHUNK):
        for _, worker, synthetic, arm, name, attempt, answers, timing, passed, received_at in batch:
            mark = "" if passed is None else "yes" if passed else "no"
            for question in questions[name]:
                seconds = float(timing.get(question.key, {}).get("seconds", math.nan))
                stored = answers.get(question.key)
                for row in question.stored(stored) if stored is not None else ():
                    value = math.nan if row.value is None else row.value
                    answer = (question.topic, row.target, value, row.text, mark, seconds, received_at)
                    yield QuestionnaireRow(worker, synthetic, arm, name, attempt, *answer)


def worker_factors(study: Study) -> list[Question]:
    """The questions about the workers that have few answers: what they say is a level of the worker."""
    asked = asked_around(study)
    return [question for question in (*asked.questions(BEFORE), *asked.questions(AFTER)) if question.names()]


def levels_of_workers(study: Study, questions: Sequence[Question], workers: Collection[str]) -> dict[str, list[str]]:
    """By pseudonym, the answers to these questions in words; empty where there is none. One query, or none."""
    levels = {worker: [""] * len(questions) for worker in workers}
    if not questions:
        return levels
    replies = QuestionnaireReply.objects.filter(study=study, participant__pseudonym__in=list(workers)).order_by("pk")
    for worker, answers in replies.values_list("participant__pseudonym", "answers"):
        for index, question in enumerate(questions):
            if answers.get(question.key) is not None:
                levels[worker][index] = level_in_words(question, answers[question.key])
    return levels


def level_in_words(question: Question, answer: Any) -> str:
    """The answer as a level of a factor: without numbers before the names of points."""
    names = question.short_names()
    if isinstance(answer, list):
        return "; ".join(str(names.get(key, key)) for key in answer)
    return str(names.get(answer, answer))
