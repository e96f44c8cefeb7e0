"""A study's description, as reports, exports and bundles contain it. Quick to import: nothing here needs pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from analysis.description import TEXT, ArmDescription, QuestionDescription, ReportSection, Score, StudyDescription
from annotation.instrument import Instrument, whole_texts
from annotation.models import Arm, Study
from annotation.queries.left_out import left_out_submissions
from annotation.queries.pay_states import in_state
from annotation.queries.platforms import claimed_submissions, unconfirmed_submissions
from annotation.queries.progress import states_now
from annotation.task_types.base import Text

#: The heading of texts to which the type gives no group.
DEFAULT_GROUP = Text("", "", "").group


def describe_study(study: Study) -> StudyDescription:
    """Everything about the study that is not data."""
    arms = list(study.arms.all())
    instruments = instruments_of(study, arms)
    whole, task = instruments[0], instruments[0].task
    questions = questions_of(instruments)
    return StudyDescription(
        slug=study.slug,
        title=study.title,
        status=study.status,
        task_type=task.name,
        task_title=task.title,
        summary=task.summary,
        source=task.source,
        ratings_per_item=study.ratings_per_item,
        items_per_hit=study.items_per_hit,
        hits_per_worker=study.hits_per_worker,
        reward=study.reward,
        time_limit_minutes=study.time_limit_minutes,
        access=study.get_access_display(),
        seed=study.seed,
        live_at=study.live_at,
        closed_at=study.closed_at,
        config=whole.config,
        settings=labelled_settings(task.config_form.base_fields, whole.config),
        arms=[_arm(arm, study) for arm in arms],
        questions=questions,
        scores=scores_of(instruments),
        sections=_sections(instruments),
        texts=_texts(study, whole, questions),
        assignments=states_now(study),
        claimed=claimed_submissions(study).count(),
        unconfirmed=unconfirmed_submissions(study).order_by().values("pk").distinct().count(),
        rejected=in_state(study, "rejected").exclude(pk__in=left_out_submissions(study)).count(),
        quality_control=study.quality_control,
        exclude=study.exclusion,
        own_work=task.own_work,
    )


def instruments_of(study: Study, arms: Sequence[Arm]) -> list[Instrument]:
    """The study's own instrument, without the arms' changes, then each arm's instrument if there are several arms."""
    if len(arms) < 2:
        return [Instrument.of(study, arms[0] if arms else None)]
    first, *others = (Instrument.of(study, arm) for arm in arms)
    texts = whole_texts(first.task, study.config, study.texts)
    # What the first arm shows was fixed when the study went live, even if the type has new wording now.
    fixed = {name: first.texts[name] for name in texts if name in first.texts and name not in arms[0].texts}
    return [Instrument(first.task, study.config, texts | fixed), first, *others]


def questions_of(instruments: Sequence[Instrument]) -> list[QuestionDescription]:
    """One question per topic that any of them asks about, in the wording of the first that asks."""
    found: dict[str, QuestionDescription] = {}
    for instrument in instruments:
        for question in instrument.task.describe_questions(instrument.config, instrument.texts):
            found.setdefault(question.topic, question)
    return list(found.values())


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


def labelled_settings(fields: Mapping[str, forms.Field], config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The type's settings as pairs of label and value, in the words of its form."""
    told = []
    for name, value in config.items():
        field = fields.get(name)
        told.append((str(field.label) if field and field.label else name, _in_words(field, value)))
    return told


def _in_words(field: forms.Field | None, value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(field, forms.ChoiceField):
        choices: Any = field.choices
        return {str(key): str(label) for key, label in choices}.get(str(value), str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(_in_words(None, each) for each in value)
    if isinstance(value, dict):
        return " · ".join(str(each) for each in value.values() if each)
    return str(value)


def _texts(study: Study, whole: Instrument, questions: Sequence[QuestionDescription]) -> list[tuple[str, str]]:
    """What workers read besides the questions and their scales. Those are in `questions`, word for word."""
    told = {text for each in questions for text in (each.label, each.help)}
    told |= {text for each in questions for point in each.scale.points for text in (point.label, point.description)}
    found = {"Consent": study.consent} if study.consent.strip() else {}
    for text in whole.task.texts(whole.config):
        wording = whole.texts.get(text.name, text.default)
        label = text.label if text.group == DEFAULT_GROUP else f"{text.group}: {text.label}"
        if wording not in told:
            found[text.name if label in found else label] = wording
    return list(found.items())


def _arm(arm: Arm, study: Study) -> ArmDescription:
    reward = study.reward if arm.reward is None else arm.reward
    return ArmDescription(arm.name, reward, arm.wanted, arm.config, arm.texts)


def _sections(instruments: Sequence[Instrument]) -> list[ReportSection]:
    found: list[ReportSection] = []
    for instrument in instruments:
        found += [each for each in instrument.task.sections(instrument.config) if each not in found]
    return found
