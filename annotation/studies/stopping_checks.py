"""Why a rule for stopping early could never stop a study, or would stop it at once."""

from __future__ import annotations

from analysis.description import QuestionDescription, StoppingRule
from annotation.models import Item, ItemFeed, Study
from annotation.studies.declared_scores import instruments_of, questions_of, scores_of, sections_of
from annotation.studies.factor_notes import factor_notes
from annotation.studies.stopping_rule import rule_of
from annotation.task_types.registry import get_type
from common.problems import Problem, unknown
from common.words import counted

#: With fewer items or contexts, or workers, reports have no interval (`analysis.inference.LEAST_CLUSTERS`).
LEAST_ITEMS = 5
#: What sections on people or machines call their criterion.
ACCURACY = "accuracy"


def stopping_problems(study: Study) -> list[Problem]:
    """Why the rule could never stop this study, or would stop it at once. Reads all items if there is a rule."""
    rule = rule_of(study.stopping)
    if rule is None:
        return []
    problems = factor_problems(study, rule) + criterion_problems(study, rule)
    if ItemFeed.objects.filter(study=study).exists():
        what = "The study gets its items from another one while it is live, and intervals that hold at all times need "
        what += "all items from the start."
        problems.append(Problem("stopping", what, "Take the items once, or remove the rule."))
    n_items = Item.objects.filter(study=study, role=Item.Role.MAIN).count()
    if n_items < LEAST_ITEMS and not get_type(study.task_type).own_work:
        what = f"The study has {counted(n_items, 'item')}, and with fewer than {LEAST_ITEMS} nothing can be tested, "
        what += "so the rule could never stop it."
        problems.append(Problem("stopping", what, "Import more items, or remove the rule."))
    return problems


def factor_problems(study: Study, rule: StoppingRule) -> list[Problem]:
    """Whether the report compares levels of the rule's factor, and more than one is known before the launch."""
    notes = factor_notes(study)
    factors = [*notes.factors, *(factor for factor, _ in notes.suggested)]
    factor = next((factor for factor in factors if factor.name == rule.factor), None)
    where = "stopping.factor"
    if factor is None:
        return [unknown(where, rule.factor, [factor.name for factor in factors])]
    if factor.of == "worker":
        what = f"Workers have the levels of {rule.factor}, and nobody knows before the launch how many of each come."
        return [Problem(where, what, "Name a factor of items, of parts of items or of arms.")]
    problem = notes.incomparable.get(rule.factor)
    return [] if problem is None else [Problem(where, problem.what, problem.fix)]


def criterion_problems(study: Study, rule: StoppingRule) -> list[Problem]:
    """Whether the study asks something of that name that can be compared, and its scale is wider than what matters."""
    arms = list(study.arms.order_by("position"))
    instruments = instruments_of(study, arms)
    questions = {question.topic: question for question in questions_of(instruments)}
    comparable = [topic for topic, question in questions.items() if question.scale.level not in ("text", "nominal")]
    comparable += [score.topic for score in scores_of(instruments) if score.topic not in comparable]
    if any(section.name == "human_or_machine" for section in sections_of(instruments)):
        comparable.append(ACCURACY)
    if rule.criterion not in comparable:
        return [unknown("stopping.criterion", rule.criterion, comparable)]
    most = 1.0 if rule.criterion == ACCURACY else _range_of(questions.get(rule.criterion))
    if rule.smallest is not None and most is not None and rule.smallest >= most:
        what = f"No difference on {rule.criterion} can be larger than {most:g}, so the first look would end the study."
        return [Problem("stopping.smallest", what, "Enter a smaller difference.")]
    return []


def _range_of(question: QuestionDescription | None) -> float | None:
    """The largest difference of two means, or of two shares of choices; None if it is not known."""
    if question is None:
        return None
    if question.scale.level == "pairwise":
        return 1.0
    scale = question.ratings_scale
    return scale.high - scale.low if len(scale.points) > 1 else None
