"""What the page on stopping early simulates. Only the view imports this: it loads pandas, which takes a second."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict

from analysis.description import StoppingRule
from analysis.planning.aims import ONE_SHARE
from analysis.planning.scales import Scale
from analysis.planning.stopping import StoppingForecast, forecast
from analysis.planning.study_design import design_for
from analysis.planning.variances import Variances, published_for
from analysis.planning.words import percent
from annotation.models import Study
from annotation.results.plan_form import EARLIER, earlier_studies, variances_for
from annotation.results.study_plans import StudyFacts, facts_of

#: Simulated studies for each true difference, the seconds that they may take, and the largest design on a page.
SIMULATIONS, SECONDS, MOST_ANSWERS = 200, 4.0, 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """One true difference in the table: cells as people read them."""

    effect: str
    cells: list[str] = field(default_factory=list)


class ForecastForm(forms.Form):
    """What is assumed about the answers."""

    size = forms.FloatField(
        label="A difference worth finding",
        min_value=1e-6,
        help_text="In points of the scale. The simulation also tries no difference, and twice as much.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    variances = forms.ChoiceField(
        label="How much answers vary", help_text="An earlier study of yours is the better guide, if there is one."
    )

    def __init__(self, data: QueryDict | None, scale: Scale, rule: StoppingRule, earlier: list[Study]) -> None:
        pilots = [(f"{EARLIER}{study.slug}", f"As in {study.title}") for study in earlier]
        variances = [*pilots, *published_for(scale)]
        usual = rule.smallest or round(scale.range * 0.075, 2)
        super().__init__(data, initial={"size": usual, "variances": variances[0][0]})
        self.fields["variances"].choices = variances  # type: ignore[attr-defined]


def form_and_forecasts(study: Study, rule: StoppingRule, user: User, asked: QueryDict) -> dict[str, Any]:
    """What the page shows; ``why_not`` if this study cannot be simulated."""
    facts = facts_of(study)
    if facts.goal in ONE_SHARE or rule.criterion not in facts.scales:
        return {"why_not": "Only ratings on a scale with points can be simulated, and this criterion has none."}
    if rule.factor != facts.factor:
        return {"why_not": f"The simulation is by the study’s first factor of items or arms, which is {facts.factor}."}
    if not facts.items:
        return {"why_not": "The study has no items yet."}
    scale = facts.scales[rule.criterion]
    form = ForecastForm(asked if "size" in asked else None, scale, rule, earlier_studies(study, user))
    context: dict[str, Any] = {"forecast_form": form}
    if not form.is_bound or not form.is_valid():
        return context
    try:
        variances = variances_for(user, facts, form.cleaned_data["variances"], rule.criterion)
        return context | {"rows": rows(facts, rule, variances, form.cleaned_data["size"]), "variances": variances}
    except ValueError as error:
        form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    return context


def rows(facts: StudyFacts, rule: StoppingRule, variances: Variances, size: float) -> list[Row]:
    """No difference, the one worth finding, and twice as much. ValueError: what no study can be."""
    if facts.systems * facts.items * facts.raters > MOST_ANSWERS:
        raise ValueError("the study is too large to simulate on a page: use python -m analysis plan-looks")
    design = design_for(
        facts.systems,
        facts.items,
        facts.raters,
        texts_per_worker=facts.texts_per_worker or 2 * facts.items * facts.systems,
        crossing=facts.crossing,
        same_items=facts.same_items,
    )
    effects = [effect for effect in (0.0, size, 2 * size) if effect < variances.scale.range]
    return [
        row_of(
            forecast(
                rule,
                design,
                variances.scale,
                variances.components,
                effect=effect,
                mean=variances.mean,
                reference=bool(facts.reference),
                simulations=SIMULATIONS,
                seconds=SECONDS,
            )
        )
        for effect in effects
    ]


def row_of(one: StoppingForecast) -> Row:
    shares = (one.early, one.used, one.used_most, one.wrong, one.held)
    return Row(f"{one.effect:g}" if one.effect else "none", [percent(share) for share in shares])
