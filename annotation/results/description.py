"""A study's description, as reports, exports and bundles contain it. Quick to import: nothing here needs pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import Any

from django import forms
from django.conf import settings
from django.db.models import Count

from analysis.description import ArmDescription, QuestionDescription, StudyDescription
from annotation.instrument import Instrument
from annotation.models import Arm, Assignment, Study
from annotation.recruiting.pay_states import in_state
from annotation.results.answers_around_tasks import describe_questionnaires, screening_of, turned_away
from annotation.results.recruitment import conditions_of, recruitment_of
from annotation.results.tried_answers import describe_training
from annotation.review.progress import states_now
from annotation.studies.declared_factors import declared_factors
from annotation.studies.declared_scores import instruments_of, questions_of, scores_of, sections_of
from annotation.studies.stopping_rule import rule_of
from annotation.task_types.base import Text
from annotation.work.confirmation import claimed_submissions, unconfirmed_submissions
from annotation.work.left_out import left_out_submissions, not_left_out

#: The heading of texts to which the type gives no group.
DEFAULT_GROUP = Text("", "", "").group


def describe_study(study: Study) -> StudyDescription:
    """Everything about the study that is not data."""
    arms = list(study.arms.all())
    instruments = instruments_of(study, arms)
    whole_study, task = instruments[0], instruments[0].task
    questions, questionnaires = questions_of(instruments), describe_questionnaires(whole_study.asked)
    topics = [question.topic for question in chain(questions, *(around.questions for around in questionnaires))]
    ways_in = recruitment_of(study)
    description = StudyDescription(
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
        config=whole_study.config,
        settings=labelled_settings(task.config_form.base_fields, whole_study.config),
        arms=[describe_arm(study, arm) for arm in arms],
        questions=questions,
        scores=scores_of(instruments),
        sections=sections_of(instruments),
        texts=_texts(study, whole_study, questions),
        assignments=_assignments(study),
        claimed=claimed_submissions(study).count(),
        unconfirmed=unconfirmed_submissions(study).order_by().values("pk").distinct().count(),
        rejected=in_state(study, "rejected").filter(not_left_out(left_out_submissions(study))).count(),
        quality_control=study.quality_control,
        exclude=study.exclusion,
        stopping=rule_of(study.stopping),
        own_work=task.own_work,
        factors=declared_factors(study, arms, topics),
        suggested_factors=task.factors(whole_study.config),
        recruitment=ways_in,
        conditions=conditions_of(study, ways_in),
        balance=task.balance,
        minimum_hourly_pay=Decimal(settings.MINIMUM_HOURLY_PAY),
        for_members=task.for_members,
        questionnaires=questionnaires,
        screening=screening_of(whole_study.asked),
        turned_away=turned_away(study),
        training=describe_training(study, whole_study.asked.training),
    )
    return of_imported_ratings(description, study.imported) if study.imported else description


def of_imported_ratings(description: StudyDescription, imported: Mapping[str, Any]) -> StudyDescription:
    """The same without what is not true of ratings that another tool collected: nobody read the study's texts, its
    rules checked nothing, and its terms and pay were nobody's."""
    tool, dated = imported["tool"], imported.get("dated", True)
    came_from = f"The ratings come from {imported['file']}, an export of {tool}."
    return replace(
        description,
        imported_from=tool,
        summary=" ".join([came_from, *imported["notes"]]),
        access=f"Imported from {tool}",
        live_at=description.live_at if dated else None,
        closed_at=description.closed_at if dated else None,
        texts=[],
        quality_control={},
        conditions=[],
        balance="",
        minimum_hourly_pay=None,
    )


def _assignments(study: Study) -> dict[str, int]:
    """By state. Those of people who were turned away are counted with those people, not here."""
    states = states_now(study)
    rows = Assignment.objects.filter(hit__study=study, participant__turned_away__isnull=False)
    for state, count in rows.order_by().values_list("state").annotate(n=Count("pk")):
        states[state] = states.get(state, 0) - count
    return {state: count for state, count in states.items() if count}


def describe_arm(study: Study, arm: Arm) -> ArmDescription:
    reward = study.reward if arm.reward is None else arm.reward
    return ArmDescription(arm.name, reward, arm.wanted, arm.config, arm.texts, dict(sorted(arm.factors.items())))


def labelled_settings(fields: Mapping[str, forms.Field], config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The type's settings as pairs of label and value, in the words of its form."""
    pairs = []
    for name, value in config.items():
        field = fields.get(name)
        pairs.append((str(field.label) if field and field.label else name, _in_words(field, value)))
    return pairs


def _in_words(field: forms.Field | None, value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(field, forms.ChoiceField):
        choices: Any = field.choices
        return {str(key): str(label) for key, label in choices}.get(str(value), str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(_in_words(None, part) for part in value)
    if isinstance(value, dict):
        return " · ".join(str(part) for part in value.values() if part)
    return str(value)


def _texts(study: Study, whole_study: Instrument, questions: Sequence[QuestionDescription]) -> list[tuple[str, str]]:
    """What workers read besides the questions and their scales. Those are in `questions`, word for word."""
    told_elsewhere = {text for question in questions for text in (question.label, question.help)}
    told_elsewhere |= {
        text for question in questions for point in question.scale.points for text in (point.label, point.description)
    }
    texts = {"Consent": study.consent} if study.consent.strip() else {}
    for text in whole_study.task.texts(whole_study.config):
        wording = whole_study.texts.get(text.name, text.default)
        label = text.label if text.group == DEFAULT_GROUP else f"{text.group}: {text.label}"
        if wording not in told_elsewhere:
            texts[text.name if label in texts else label] = wording
    return list(texts.items())
