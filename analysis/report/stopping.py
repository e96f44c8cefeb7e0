"""Whether a study can stop now by the rule that it declared: see `analysis.description.StoppingRule`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from analysis.data import StudyData
from analysis.description import Factor, StoppingRule
from analysis.factors import arm_levels, item_levels, levels_without
from analysis.findings import compare_levels
from analysis.findings.answers import names_in_words
from analysis.findings.looks import Look, differences_so_far, look_at
from analysis.report.sections.findings import Criterion, as_accuracy, codes_of, criterion_of
from analysis.report.sections.findings_of_pairs import choices_so_far, topics_of_pairs
from analysis.report.sections.looks import shares_by_level
from analysis.report.source import Source


def looks_now(data: StudyData, rule: StoppingRule) -> list[Look]:
    """What the rule's differences show with the answers that count now.

    ValueError: the factor or the criterion is not there, or nothing can be compared yet.
    """
    source = Source(data)
    factor = next((factor for factor in source.factors if factor.name == rule.factor), None)
    if factor is None:
        raise ValueError(f"the study has no factor {rule.factor}")
    if source.ratings.empty:
        raise ValueError("there are no answers yet")
    shares = shares_by_level(source, factor)
    if rule.criterion in topics_of_pairs(source, factor):
        differences = choices_so_far(source, factor, rule.criterion, shares)
        rated = {name for difference in differences for name in (difference.first, difference.second)}
        refuse_unrated(source, factor, rated)
    else:
        criterion = criterion_named(source, rule.criterion)
        codes, names = codes_of(source, factor, criterion)
        refuse_unrated(source, factor, names)
        reference = factor.reference if factor.reference in names else ""
        comparison = compare_levels(criterion.answers, codes, names, reference=reference)
        differences = differences_so_far(comparison, criterion.answers.bounds, shares)
    return look_at(differences, smallest=rule.smallest)


def refuse_unrated(source: Source, factor: Factor, rated: Collection[str]) -> None:
    """ValueError: a level has no answers yet, so its differences would be missing."""
    if unrated := levels_without(source.data, factor, rated):
        raise ValueError(f"there are no answers yet on {names_in_words(unrated)}")


def criterion_named(source: Source, name: str) -> Criterion:
    """ValueError: nobody has answered on it, or the study asks nothing of that name whose answers have a mean."""
    for score in source.scores:
        criterion = criterion_of(source, score)
        if criterion is not None and name in (criterion.name, (criterion := as_accuracy(source, criterion)).name):
            return criterion
    raise ValueError(f"nobody has answered on {name} yet")


def all_settled(looks: Sequence[Look]) -> bool:
    return bool(looks) and all(look.settled for look in looks)


def settled_levels(looks: Sequence[Look]) -> set[str]:
    """The levels of which every difference is settled, so that no more ratings of them are needed."""
    named = {name for look in looks for name in (look.first, look.second)}
    return named - {name for look in looks if not look.settled for name in (look.first, look.second)}


def needs_no_more(data: StudyData, rule: StoppingRule, settled: Collection[str]) -> tuple[set[str], set[str]]:
    """The main items all of whose levels are ``settled``, and the arms with such a level; by their names."""
    factor = next(factor for factor in Source(data).factors if factor.name == rule.factor)
    if factor.of == "arm":
        of_arms = arm_levels(data.description, factor.name)
        return set(), {arm for arm, level in of_arms.items() if level in settled}
    main = data.items[data.items["role"] == "main"]
    columns = [factor.name] if factor.of == "item" else list(factor.parts.values())
    levels = [item_levels(main, column) for column in columns]
    items = {str(item) for item in main["item"] if levels and all(level[item] in settled for level in levels)}
    return items, set()
