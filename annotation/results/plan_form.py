"""The form that plans a study, and what it shows. Only the view imports this: it loads pandas, which takes a second."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict

from analysis.planning.aims import GOALS, ONE_SHARE, Aim
from analysis.planning.plans import Plan, Planner, cheapest
from analysis.planning.power import Power
from analysis.planning.study_design import CROSSINGS
from analysis.planning.variances import Variances, published_for, published_variances
from analysis.planning.words import (
    aim_in_words,
    cells_of,
    components_in_words,
    crossing_in_words,
    curve,
    names_of_columns,
    notes_on,
    percent,
)
from annotation.access import studies_of
from annotation.models import Study
from annotation.results.study_plans import StudyFacts, facts_of, raters_to_try, variances_of_study
from annotation.work.member_work import works_blind
from common.words import counted, duration, money

#: Simulated studies for each design, the seconds that one may take, and the largest design that a request simulates.
SIMULATIONS, SECONDS, MOST_ANSWERS = 200, 0.6, 20_000
#: Earlier studies to choose from, and how many ratings one may have.
MOST_STUDIES, MOST_RATINGS = 30, 100_000
EARLIER = "study:"
CROSSING_LABELS = {
    "all": "Each worker rates all systems of an item",
    "some": "Workers rate several systems, shuffled",
    "one": "Each worker rates one system only",
}


class PlanForm(forms.Form):
    """Fields have the draft's values at first."""

    goal = forms.ChoiceField(label="The study should show")
    criterion = forms.ChoiceField(label="Question")
    size = forms.FloatField(
        label="Size that matters",
        help_text="A difference or margin in points of the scale; for a share or accuracy, its value, such as 0.6.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    power = forms.IntegerField(label="Wanted power in percent", min_value=1, max_value=99)
    systems = forms.IntegerField(label="Systems", min_value=1, max_value=30)
    items = forms.IntegerField(label="Items of each system", min_value=1, max_value=5_000)
    raters = forms.IntegerField(label="Most raters per item", min_value=1, max_value=50)
    crossing = forms.ChoiceField(label="Workers and systems")
    variances = forms.ChoiceField(
        label="How much answers vary", help_text="An earlier study of yours is the better guide, if there is one."
    )

    def __init__(self, data: QueryDict | None, facts: StudyFacts, earlier: list[Study]) -> None:
        scale = next(iter(facts.scales.values()))
        pilots = [(f"{EARLIER}{study.slug}", f"As in {study.title}") for study in earlier]
        variances = [*pilots, *published_for(scale)]
        super().__init__(
            data,
            initial={
                "goal": facts.goal,
                "size": 0.6 if facts.goal in ONE_SHARE else round(scale.range * 0.075, 2),
                "power": 80,
                "systems": facts.systems,
                "items": facts.items or 100,
                "raters": max(10, facts.raters),
                "crossing": facts.crossing,
                "variances": variances[0][0],
            },
        )
        on_shares = facts.goal in ONE_SHARE
        goals = [
            (name, f"{what[0].upper()}{what[1:]}") for name, what in GOALS.items() if (name in ONE_SHARE) == on_shares
        ]
        if on_shares:
            goals = [(name, what) for name, what in goals if name == facts.goal]
        choices = {
            "goal": goals,
            "criterion": [(name, name) for name in facts.scales],
            "crossing": [(name, CROSSING_LABELS[name]) for name in CROSSINGS],
            "variances": variances,
        }
        for name, pairs in choices.items():
            self.fields[name].choices = pairs  # type: ignore[attr-defined]
        if len(facts.scales) == 1:
            del self.fields["criterion"]
        if on_shares:
            del self.fields["systems"], self.fields["crossing"]
            self.fields["items"].label = "Items"
            self.fields["size"].label = "Share to show"
            self.fields["size"].help_text = "Such as 0.6: it is this, and not what chance gives."


def form_and_plans(study: Study, user: User, asked: QueryDict) -> tuple[dict[str, Any], int]:
    """What the page shows, and its status: the form, and with values ``asked`` in the address the plans."""
    facts = facts_of(study)
    form = PlanForm(asked or None, facts, earlier_studies(study, user))
    minutes = facts.work.minutes
    time = "" if minutes is None else duration(60 * float(minutes))
    context: dict[str, Any] = {"form": form, "facts": facts, "time": time}
    if not form.is_bound:
        return context, 200
    if form.is_valid():
        try:
            return context | planned(user, facts, form.cleaned_data), 200
        except ValueError as error:
            form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    return context, 422


def earlier_studies(study: Study, user: User) -> list[Study]:
    """The user's studies of the same type that people have answered, the one that this was duplicated from first."""
    answered = studies_of(user).filter(task_type=study.task_type, submissions__isnull=False)
    recent = list(answered.exclude(pk=study.pk).distinct().order_by("-pk")[:MOST_STUDIES])
    return sorted(recent, key=lambda other: other.pk != study.duplicated_from_id)


def planned(user: User, facts: StudyFacts, asked: dict[str, Any]) -> dict[str, Any]:
    """What the page shows. ValueError: plans that no study can have."""
    goal, items = asked["goal"], asked["items"]
    criterion = asked.get("criterion") or next(iter(facts.scales))
    variances = variances_for(user, facts, asked["variances"], criterion)
    aim = Aim(
        goal,
        variances.scale,
        variances.components,
        effect=0.0 if goal in ("equivalence", "agreement") else asked["size"],
        mean=variances.mean,
        margin=asked["size"] if goal == "equivalence" else 0.0,
        reference=bool(facts.reference),
    )
    systems = asked["systems"] if aim.compares else 1
    planner = Planner(
        aim,
        systems,
        crossing=asked["crossing"] if aim.compares else "some",
        same_items=facts.same_items,
        texts_per_worker=facts.texts_per_worker or 2 * items * systems,
        work=facts.work,
        simulations=SIMULATIONS,
        seconds=SECONDS,
    )
    model = aim.model(systems)
    raters = raters_to_try(asked["raters"], facts.raters, 2 if goal == "agreement" else 1)
    most = MOST_ANSWERS // (planner.systems * raters[-1])
    if items > most:
        raise ValueError(
            f"{counted(items, 'item')} with {counted(raters[-1], 'rater')} are too many to simulate on a page: try "
            "fewer raters, or use manage.py study plan"
        )
    plans = list(planner.table([count for count in (items, 2 * items, 4 * items) if count <= most], raters))
    wanted = asked["power"] / 100
    best = None if goal == "agreement" else cheapest(plans, power=wanted)
    return {
        "aim": aim_in_words(aim, planner.systems),
        "crossing": crossing_in_words(planner.crossing, planner.systems, same_items=planner.same_items),
        "answers": [] if goal == "agreement" else answers_of(best, plans, wanted, facts),
        "columns": names_of_columns(aim, planner.systems),
        "rows": [(cells_of(aim, plan), plan is best) for plan in plans],
        "svg": curve(aim, plans),
        "variances": variances,
        "components": components_in_words(model.components),
        "latent": components_in_words(model.latent) if model.latent.latent else "",
        "plan_notes": notes_on(aim, plans),
        "per_hour": plans[0].cost.per_hour,
    }


def variances_for(user: User, facts: StudyFacts, chosen: str, criterion: str) -> Variances:
    scale = facts.scales[criterion]
    if not chosen.startswith(EARLIER):
        return published_variances(chosen, scale)
    earlier = studies_of(user).get(slug=chosen.removeprefix(EARLIER))
    if earlier.ratings.count() > MOST_RATINGS:
        raise ValueError(
            f"{earlier.slug} has too many ratings for a page: use manage.py study plan --pilot {earlier.slug}"
        )
    if works_blind(earlier, user):
        raise ValueError(f"You have not coded all of {earlier.slug} yet, so its answers are hidden from you")
    return variances_of_study(earlier, scale, criterion)


def answers_of(best: Plan | None, plans: list[Plan], wanted: float, facts: StudyFacts) -> list[str]:
    """What the draft can show, and whether any of the plans is enough."""
    sentences = []
    for plan in plans:
        if (plan.design.items, plan.design.raters) == (facts.items, facts.raters):
            sentences.append(
                f"The draft has {sizes_in_words(plan.power)}: its power is {percent(plan.power.power)}, so about "
                f"{percent(1 - plan.power.power)} of such studies would miss what you look for."
            )
    if best is None:
        most = max(plans, key=lambda plan: plan.power.power)
        sentences.append(
            f"None of these designs has a power of {percent(wanted)}. The highest is {percent(most.power.power)}, with "
            f"{sizes_in_words(most.power)}. More items, a larger difference or less varied answers would help."
        )
        return sentences
    cost, hours = best.cost, ""
    if cost.hours is not None:
        hours = f", {duration(3600 * float(cost.hours))} of work"
    sentences.append(
        f"The cheapest of these designs with a power of {percent(wanted)} has {sizes_in_words(best.power)}: "
        f"{counted(best.design.workers, 'worker')}, {counted(cost.submissions, 'submission')}{hours}, "
        f"{money(cost.total)} of rewards."
    )
    return sentences


def sizes_in_words(power: Power) -> str:
    design = power.design
    of_each = " of each system" if design.systems > 1 else ""
    return f"{counted(design.items, 'item')}{of_each} and {counted(design.raters, 'rater')} per item"
