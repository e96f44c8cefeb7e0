"""The questions, scores and sections of a study, over all its arms."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.description import TEXT, QuestionDescription, ReportSection, Score
from annotation.instrument import Instrument, whole_texts
from annotation.models import Arm, Study


def instruments_of(study: Study, arms: Sequence[Arm]) -> list[Instrument]:
    """The study's own instrument, without the arms' changes, then each arm's instrument if there are several arms."""
    if len(arms) < 2:
        return [Instrument.of(study, arms[0] if arms else None)]
    first, *others = (Instrument.of(study, arm) for arm in arms)
    texts = whole_texts(first.task, study.config, study.texts)
    # What the first arm shows was fixed when the study went live, even if the type has new wording now.
    fixed = {name: first.texts[name] for name in texts if name in first.texts and name not in arms[0].texts}
    return [Instrument(first.task, study.config, texts | fixed, asked=first.asked), first, *others]


def questions_of(instruments: Sequence[Instrument]) -> list[QuestionDescription]:
    """One question per topic that any of them asks about, in the wording of the first that asks."""
    question_by_topic: dict[str, QuestionDescription] = {}
    for instrument in instruments:
        for question in instrument.task.describe_questions(instrument.config, instrument.texts):
            question_by_topic.setdefault(question.topic, question)
    return list(question_by_topic.values())


def sections_of(instruments: Sequence[Instrument]) -> list[ReportSection]:
    """The sections of the report that any of them asks for, each once."""
    sections: list[ReportSection] = []
    for instrument in instruments:
        sections += [section for section in instrument.task.sections(instrument.config) if section not in sections]
    return sections


def scores_of(instruments: Sequence[Instrument]) -> list[Score]:
    """One score per topic that has a score in any of them, with the limits of its ratings in all of them."""
    scores: dict[str, Score] = {}
    for instrument in instruments:
        questions = instrument.task.describe_questions(instrument.config, instrument.texts)
        scales = {question.topic: question.ratings_scale for question in questions}
        for score in instrument.task.scores(instrument.config):
            scores[score.topic] = scores.get(score.topic, score).within(scales.get(score.topic, TEXT))
    return list(scores.values())


def study_scores(study: Study) -> tuple[list[Arm], list[Score]]:
    """The study's arms (none if it has only the unnamed one) and the scores of its items. One query."""
    arms = list(study.arms.all())
    return (arms if len(arms) > 1 else []), scores_of(instruments_of(study, arms))
