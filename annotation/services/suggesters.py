"""The suggesters that a study needs: checks that they are ready before it goes live, and locks them from then on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from annotation.models import Arm, Study
from annotation.task_types.items import Json
from annotation.task_types.offers import SuggesterNeed
from annotation.task_types.registry import get_type
from common.problems import Problem, unknown
from common.words import counted
from generation.decoding.prompts import TemplateError, fields_of
from generation.models import Suggester
from generation.suggestions.holding import hold_suggesters, release_suggesters
from generation.suggestions.monitoring import pool_rounds
from generation.suggestions.pool import EVERY_ROUND

WHERE = "suggesters"


def needs_of(study: Study, arms: Sequence[Arm]) -> list[SuggesterNeed]:
    """What the arms need. Each suggester appears once, with the number of texts of the arm that needs the most."""
    configs: list[Json] = [study.config | arm.config for arm in arms] or [study.config]
    found: dict[str, SuggesterNeed] = {}
    for config in configs:
        for need in get_type(study.task_type).suggesters(config):
            known = found.get(need.name, need)
            found[need.name] = replace(
                need,
                rounds=max(need.rounds, known.rounds),
                per_round=max(need.per_round, known.per_round),
                fields=tuple(name for name in need.fields if name in known.fields),
            )
    return list(found.values())


def active_suggesters() -> list[str]:
    """The names of all active suggesters."""
    return list(Suggester.objects.filter(active=True).order_by("name").values_list("name", flat=True))


def suggester_problems(study: Study) -> list[Problem]:
    """What is missing from the study's suggesters before it can go live."""
    needs = needs_of(study, list(study.arms.all()))
    there = Suggester.objects.select_related("model").in_bulk([need.name for need in needs], field_name="name")
    problems: list[Problem] = []
    for need in needs:
        if need.name in there:
            problems += _problems(need, there[need.name])
        else:
            known = Suggester.objects.order_by("name").values_list("name", flat=True)
            problem = unknown(WHERE, need.name, known)
            fix = f"{problem.fix} Make it on the page Suggesters, or with: manage.py suggester add {need.name}"
            problems.append(Problem(WHERE, f"There is no suggester “{need.name}”.", fix))
    return problems


def _problems(need: SuggesterNeed, suggester: Suggester) -> Iterator[Problem]:
    name = suggester.name
    if not suggester.active:
        fix = f"Activate it: manage.py suggester change {name} --activate"
        yield Problem(WHERE, f"Suggester {name} is not active: writers would only get texts from its pool.", fix)
    if suggester.model.retired:
        yield Problem(WHERE, f"The model {suggester.model.name} of suggester {name} is retired.", "Use it again.")
    try:
        strange = [each for each in fields_of(suggester.template) if each not in need.fields]
    except TemplateError as error:
        yield Problem(WHERE, f"The template of suggester {name} cannot be used: {error}")
        return
    if strange:
        what = f"The template of suggester {name} uses {{{'}, {'.join(strange)}}}, which this study does not have."
        yield Problem(WHERE, what, f"Use {{{'}, {'.join(need.fields)}}}.")
    yield from _pool_problems(need, suggester)


def _pool_problems(need: SuggesterNeed, suggester: Suggester) -> Iterator[Problem]:
    """The pool must be large enough: if all suggestions of one story are late, each needs a different pool text."""
    texts = {each.round: each.texts for each in pool_rounds(suggesters=[suggester])}
    lacking = {at: need.per_round - texts.get(at, 0) for at in range(1, need.rounds + 1)}
    lacking = {at: count for at, count in lacking.items() if count > 0}
    missing = sum(lacking.values()) - texts.get(EVERY_ROUND, 0)
    if missing > 0:
        rounds = ", ".join(map(str, lacking))
        what = (
            f"The pool of suggester {suggester.name} lacks {counted(missing, 'text')} for a story in which all of its "
            f"suggestions come too late (round{'s' if len(lacking) > 1 else ''} {rounds})."
        )
        fix = f"Fill it on the page Suggesters, or with: manage.py suggester pool-fill {suggester.name}"
        yield Problem(WHERE, what, fix)


def hold_for(study: Study, arms: Sequence[Arm]) -> None:
    """Lock the suggesters, so that they do not change from now on. Raises Invalid."""
    if needs := needs_of(study, arms):
        hold_suggesters(names=[need.name for need in needs], user=study.slug)


def release_for(study: Study) -> None:
    """Unlock the suggesters of a study that has ended. They may change again."""
    release_suggesters(user=study.slug)
