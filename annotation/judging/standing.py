"""How far a judge has come: places by state, what went wrong, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Sum

from annotation.judging.forecast import cost_of
from annotation.models import Judge, JudgeAnswer, JudgePlace, JudgeRating


@dataclass(frozen=True, slots=True)
class Standing:
    """``places`` by state; ``problems``: answers that did not count, by reason; ``reasons``: why places have no answer,
    with how many. ``asked``: calls, ``again`` of them because an answer before did not count."""

    places: Mapping[str, int]
    problems: Mapping[str, int]
    reasons: Mapping[str, int]
    asked: int
    again: int
    ratings: int
    tokens_in: int
    tokens_out: int
    seconds: float
    cost: Decimal

    @property
    def n_places(self) -> int:
        return sum(self.places.values())

    @property
    def settled(self) -> int:
        return self.n_places - self.places["waiting"]


def standing_of(judge: Judge) -> Standing:
    """Read from what is stored; a few queries whatever the number of answers."""
    counts = dict(JudgePlace.objects.filter(judge=judge).values_list("state").annotate(n=Count("pk")).order_by())
    without = JudgePlace.objects.filter(judge=judge, state__in=["invalid", "refused"])
    reasons = without.values_list("reason").annotate(n=Count("pk")).order_by("-n", "reason")
    answers = JudgeAnswer.objects.filter(place__judge=judge)
    problems = dict(answers.exclude(problem="").values_list("problem").annotate(n=Count("pk")).order_by())
    sums = answers.aggregate(Count("pk"), Sum("tokens_in"), Sum("tokens_out"), Sum("seconds"))
    tokens_in, tokens_out = sums["tokens_in__sum"] or 0, sums["tokens_out__sum"] or 0
    return Standing(
        {state: counts.get(state, 0) for state in JudgePlace.State.values},
        {name: problems[name] for name in JudgeAnswer.Problem.values if name in problems},
        dict(reasons[:20]),
        sums["pk__count"],
        answers.filter(attempt__gt=1).count(),
        JudgeRating.objects.filter(judge=judge).count(),
        tokens_in,
        tokens_out,
        sums["seconds__sum"] or 0.0,
        cost_of(judge, tokens_in, tokens_out),
    )
