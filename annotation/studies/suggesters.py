"""The suggesters that a study needs: checks that they are ready before it goes live, and locks them from then on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from annotation.models import Arm, Study
from annotation.task_types.items import Json
from annotation.task_types.offers import SuggesterNeed
from annotation.task_types.registry import get_type
from common.problems import Problem, unknown
from common.words import counted
from generation.decoding.prompts import TemplateError, fields_of
from generation.models import Suggester
from generation.suggestions.pool_shortages import Need, pool_shortages
from generation.suggestions.suggester_uses import hold_suggesters, release_suggesters

WHERE = "suggesters"


def needs_of(study: Study, arms: Sequence[Arm]) -> list[SuggesterNeed]:
    """What the arms need. Each suggester appears once, with the number of texts of the arm that needs the most."""
    need_by_name: dict[str, SuggesterNeed] = {}
    for config in _configs(study, arms):
        for need in get_type(study.task_type).suggesters(config):
            earlier = need_by_name.get(need.name, need)
            need_by_name[need.name] = replace(
                need,
                rounds=max(need.rounds, earlier.rounds),
                per_round=max(need.per_round, earlier.per_round),
                fields=tuple(name for name in need.fields if name in earlier.fields),
            )
    return list(need_by_name.values())


def _configs(study: Study, arms: Sequence[Arm]) -> list[Json]:
    """The settings of each arm; those of the study if it has none."""
    return [study.config | arm.config for arm in arms] or [study.config]


def active_suggesters() -> list[str]:
    """The names of all active suggesters."""
    return list(Suggester.objects.filter(active=True).order_by("name").values_list("name", flat=True))


def suggester_problems(study: Study) -> list[Problem]:
    """What is missing from the study's suggesters before it can go live."""
    needs = needs_of(study, list(study.arms.all()))
    suggesters = Suggester.objects.select_related("model").in_bulk([need.name for need in needs], field_name="name")
    problems: list[Problem] = []
    for need in needs:
        name = need.name
        if name not in suggesters:
            names = Suggester.objects.order_by("name").values_list("name", flat=True)
            problem = unknown(WHERE, name, names)
            fix = f"{problem.fix} Make it on the page Suggesters, or with: manage.py suggester add {name}"
            problems.append(Problem(WHERE, f"There is no suggester “{name}”.", fix))
            continue
        suggester = suggesters[name]
        if not suggester.active:
            instead = "writers would only get texts from its pool" if need.pool else "nobody would get an answer"
            what = f"Suggester {name} is not active: {instead}."
            problems.append(Problem(WHERE, what, f"Activate it: manage.py suggester change {name} --activate"))
        if suggester.model.retired:
            what = f"The model {suggester.model.name} of suggester {name} is retired."
            problems.append(Problem(WHERE, what, "Use it again."))
        try:
            strange = [placeholder for placeholder in fields_of(suggester.template) if placeholder not in need.fields]
        except TemplateError as error:
            problems.append(Problem(WHERE, f"The template of suggester {name} cannot be used: {error}"))
            continue
        if strange:
            what = f"The template of suggester {name} uses {{{'}, {'.join(strange)}}}, which this study does not have."
            problems.append(Problem(WHERE, what, f"Use {{{'}, {'.join(need.fields)}}}."))
    return [*problems, *_pool_problems(study, suggesters)]


def _pool_problems(study: Study, present: Collection[str]) -> list[Problem]:
    """What the pools lack for one story of each arm in which all suggestions come too late."""
    problems: dict[str, Problem] = {}
    for config in _configs(study, list(study.arms.all())):
        places = [
            Need(need.name, round)
            for need in get_type(study.task_type).suggesters(config)
            if need.name in present and need.pool
            for round in range(1, need.rounds + 1)
            for _ in range(need.per_round)
        ]
        for shortage in pool_shortages(places):
            name, texts = shortage.suggester, counted(shortage.texts, "text")
            rounds = f"round{'s' if len(shortage.rounds) > 1 else ''} {', '.join(map(str, shortage.rounds))}"
            what = (
                f"The pool of suggester {name} lacks {texts} for a story in which all suggestions come too late "
                f"({rounds})."
            )
            if shortage.shared:
                are = "is" if shortage.shared == 1 else "are"
                what += (
                    f" {shortage.shared:,} of its texts {are} also in the pool of {' and '.join(shortage.others)}, "
                    "and a story never shows a text twice."
                )
            fix = (
                f"Add {'other texts' if shortage.shared else 'texts'} on the page Suggesters, or with: manage.py "
                f"suggester pool-fill {name} --run RUN or --csv FILE. A run needs samples of its model and decoder, "
                "as in examples/cyoa_pool.run.yaml."
            )
            problems.setdefault(what, Problem(WHERE, what, fix))
    return list(problems.values())


def hold_for(study: Study, arms: Sequence[Arm]) -> None:
    """Lock the suggesters, so that they do not change from now on. Raises Invalid."""
    if needs := needs_of(study, arms):
        hold_suggesters(names=[need.name for need in needs], user=study.slug)


def release_for(study: Study) -> None:
    """Unlock the suggesters of a study that has ended. They may change again."""
    release_suggesters(user=study.slug)
