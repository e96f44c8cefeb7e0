"""Settles a question about an item that people answered differently. The newest decision counts."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction

from annotation.audit import record
from annotation.instrument import Instrument
from annotation.models import Adjudication, Item, Study
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from annotation.work.coded_items import coded_items
from common.problems import Problem, invalid, refuse_if_any

MAX_NOTE = 500


def adjudicated_question(study: Study) -> ChoicesQuestion | None:
    """The question whose answers are compared and settled; None if the type has none."""
    topic = get_type(study.task_type).adjudicates
    if not topic:
        return None
    instrument = Instrument.of(study)
    questions = instrument.task.questions(instrument.config, instrument.texts)
    return next(
        (question for question in questions if question.topic == topic and isinstance(question, ChoicesQuestion)), None
    )


@transaction.atomic
def settle(*, item: Item, chosen: Collection[str], note: str, user: User) -> Adjudication | None:
    """Append the final answer about an item. Returns None if the newest one is the same. Raises Invalid."""
    study = Study.objects.select_for_update(no_key=True).get(pk=item.study_id)
    question = adjudicated_question(study)
    if question is None:
        raise invalid("study", "This type of study has no answers to settle.")
    note = clean_text(note)
    option_keys = [option.key for option in question.options]
    problems = [
        Problem("chosen", f"There is no label “{key[:40]}”.", "Reload the page and choose again.")
        for key in sorted(set(chosen) - set(option_keys))
    ]
    if len(chosen) < question.least:
        problems.append(Problem("chosen", "No label is chosen.", "Choose at least one final label."))
    if len(note) > MAX_NOTE:
        problems.append(Problem("note", f"The note is {len(note):,} characters long.", f"Use at most {MAX_NOTE}."))
    refuse_if_any(problems)
    now = coded_items(study, only=item.pk)[0]
    if now.state == "waiting":
        what = f"{item.external_id} does not have all its codes yet, so there is nothing to settle."
        raise invalid("item", what, "Wait until every coder has sent it.")
    final = [key for key in option_keys if key in chosen]
    if now.settled and now.settled.chosen == frozenset(final) and now.settled.note == note:
        return None
    adjudication = Adjudication.objects.create(
        study=study, item=item, question=question.topic, chosen=final, note=note, user=user
    )
    record(study=study, actor=user.get_username(), action="settle", item=item.external_id, chosen=final, note=note)
    return adjudication
