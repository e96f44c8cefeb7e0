"""The training at the launch: settings without items, items that nobody can pass, and studies without a training."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.instrument import Instrument, asked_around, item_data
from annotation.models import Arm, Item, Study
from annotation.task_types.items import ItemData
from annotation.task_types.registry import get_type
from annotation.work.right_answers import best_attempt
from common.problems import Problem
from common.words import counted


def training_problems(study: Study) -> list[Problem]:
    """Everything that makes the training impossible, or its settings useless."""
    rows = Item.objects.filter(study=study, role=Item.Role.TRAINING).order_by("position")
    items = [item_data(row) for row in rows]
    training, asked = asked_around(study).training, study.questionnaires
    if not items:
        names = ("training_needed", "training_message", "training_show_right", "training_skip_if_passed")
        return [
            Problem(name, "The study has no training items.", "Import items with training:TOPIC, or remove this.")
            for name in names
            if asked.get(name)
        ]
    problems: list[Problem] = []
    if training.needed is not None and training.needed > len(items):
        what = f"{counted(training.needed, 'training item')} must be right, but the study has only {len(items)}."
        fix = f"Write a number from 1 to {len(items)}, or import more training items."
        problems.append(Problem("training_needed", what, fix))
    for slug in training.skip_if_passed:
        if not Item.objects.filter(study__slug=slug, role=Item.Role.TRAINING).exists():
            what = f"The study “{slug}” has no training, so nobody can have passed it."
            problems.append(Problem("training_skip_if_passed", what, "Name another study, or remove it."))
    arms: list[Arm | None] = [*study.arms.order_by("position")]
    for arm in arms or [None]:
        problems += _item_problems(Instrument.of(study, arm), items)
    return problems


def _item_problems(instrument: Instrument, items: list[ItemData]) -> Iterator[Problem]:
    """What prevents people who know all right answers from passing, in one arm."""
    task = get_type(instrument.task.name)
    arm = f" in the arm “{instrument.arm}”" if instrument.arm else ""
    if task.own_work or task.suggesters(instrument.config):
        why = "they write with live suggestions" if task.suggesters(instrument.config) else "they write texts"
        what = f"Workers of this type cannot be trained{arm}: {why}, so that no answer is right or wrong beforehand."
        yield Problem("items", what, "Remove the columns training:TOPIC from the items.")
        return
    for item in items:
        attempt = best_attempt(instrument, item)
        if attempt is None:
            what = f"The training item “{item.external_id[:60]}” cannot be shown by itself{arm}."
            yield Problem("items", what, "Remove its right answers, or make it an item of another role.")
            continue
        for name in sorted(attempt.wrong):
            what = f"Nobody can answer “{name}” rightly in the training item “{item.external_id[:60]}”{arm}."
            yield Problem("items", what, "Check its right answers: they must be possible together.")
        for name in sorted(attempt.unasked):
            what = (
                f"The training item “{item.external_id[:60]}” has a right answer to “{name}”, but nobody is asked that"
                f" after its other right answers{arm}."
            )
            fix = "Remove this right answer, or the one that hides the question (see its shown_if)."
            yield Problem("items", what, fix)
