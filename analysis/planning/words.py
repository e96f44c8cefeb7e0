"""Plans in words and as a curve, the same on the command line and in the console."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from markupsafe import Markup

from analysis import plots
from analysis.planning.aims import ONE_SHARE, Aim
from analysis.planning.components import Components
from analysis.planning.plans import Plan, Planner, cheapest
from analysis.planning.study_design import CROSSINGS, Crossing
from analysis.plots.series import Line
from common.words import counted, duration, money

#: Intervals of simulated power are this many standard errors to each side.
TIMES_ERROR = 1.96
#: A plot has room for three curves.
MOST_CURVES = 3


def percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f}%"


def aim_in_words(aim: Aim, systems: int) -> str:
    """What the study is to show, on which scale, at which level."""
    at = f"at {100 * aim.significance:g}%"
    scale = aim.scale
    on = "a scale without ends"
    if scale.points is not None:
        on = f"a scale from {scale.low:g} to {scale.high:g} in {scale.points} points"
    if aim.goal in ONE_SHARE:
        what = "An accuracy" if aim.goal == "accuracy" else "A share"
        return f"{what} of {percent(aim.effect)}, tested against {percent(aim.null)} {at}, two-sided."
    if aim.goal == "agreement":
        return f"Krippendorff’s α of answers on {on}."
    between = f"{counted(systems, 'system')} on {on}"
    pairs = systems - 1 if aim.reference else systems * (systems - 1) // 2
    if aim.goal == "equivalence":
        gap = f" that differ by {aim.effect:g}" if aim.effect else ""
        return f"Equivalence within ±{aim.margin:g} of {between}{gap}, by two one-sided tests {at}."
    corrected = f", with Holm’s correction over {counted(pairs, 'difference')}" if pairs > 1 else ""
    return f"A difference of {abs(aim.effect):g} between {between}, {at}, two-sided{corrected}."


def crossing_in_words(crossing: Crossing, systems: int, *, same_items: bool) -> str:
    if systems == 1:
        return "Texts are shuffled and shared evenly among the workers."
    items = "All systems have texts for the same items" if same_items else "Every system has its own items"
    return f"{items}; {CROSSINGS[crossing]}."


def components_in_words(components: Components) -> str:
    """The variances with their standard deviations; which scale they are on."""
    listed = ", ".join(f"{label} {value:.3g} (s.d. {math.sqrt(value):.2g})" for label, value in components.named())
    return f"{'Variances on the latent normal scale' if components.latent else 'Variances of answers'}: {listed}"


def power_in_words(plan: Plan) -> str:
    """The power with its Monte-Carlo interval."""
    power = plan.power
    if math.isnan(power.power):
        return "–"
    return f"{percent(power.power)} ± {100 * TIMES_ERROR * power.error:.0f}"


def hours_in_words(hours: Decimal | None) -> str:
    return "–" if hours is None else f"{hours:,.1f}"


def notes_on(aim: Aim, plans: Sequence[Plan]) -> list[str]:
    """What a reader must know to use the figures."""
    simulated = {plan.power.simulations for plan in plans}
    fewest, most = min(simulated), max(simulated)
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    notes = [f"From {count} simulated studies for each row, with new items and new workers each time."]
    if aim.goal != "agreement":
        notes.append("± is the 95% interval of the simulation, in percentage points.")
    if aim.compares and plans[0].design.systems > 2:
        which = "the first system is ahead, and all others are alike" if aim.effect else "all systems are alike"
        notes.append(
            f"Power is the chance to show a given pair if {which}; “all” is the chance to show all such pairs at once."
        )
    if any(plan.power.these_workers for plan in plans):
        notes.append(
            "Designs with fewer than five workers have a sign-flip test and no interval: their power is for new items "
            "and the same workers, not for other workers."
        )
    if any(not plan.power.these_workers and plan.power.with_interval < 0.99 for plan in plans):
        notes.append(
            "Some simulated studies had no interval, because all answers agreed. They count as not significant."
        )
    uneven = plans[0].design.uneven
    if uneven:
        notes.append(f"Workers’ loads vary: their standard deviation is about {uneven:g} times their mean.")
    else:
        notes.append("Workers share the work evenly here. If a few do most of it, power is lower.")
    return notes


def smallest_in_words(plan: Plan, *, power: float | None, width: float | None) -> str:
    """The design that the search found, or that none was enough."""
    design = plan.design
    wanted = f"a power of {percent(power)}" if power is not None else f"an interval at most {width:g} wide"
    per = "item of each system" if design.systems > 1 else "item"
    reached = f"{counted(design.raters, 'rater')} per {per} for {counted(design.items, 'item')}"
    shows = power_in_words(plan) if power is not None else f"{plan.power.width:.3g} wide"
    if not plan.power.reaches(power=power, width=width):
        return f"{reached} are not enough for {wanted}: {shows}."
    verb = "gives" if design.raters == 1 else "give"
    return f"{reached} {verb} {wanted}: {shows}, {counted(design.workers, 'worker')}."


def curve(aim: Aim, plans: Sequence[Plan], *, key: str = "plan") -> Markup:
    """Power (or the width of the interval) by raters per item, a curve for each number of items, at most three."""
    tests = aim.goal != "agreement"
    items = list(dict.fromkeys(plan.design.items for plan in plans))
    if len(items) > MOST_CURVES:
        items = [items[0], items[len(items) // 2], items[-1]]
    lines = []
    for item_count in items:
        of_count = [plan for plan in plans if plan.design.items == item_count]
        powers = [plan.power for plan in of_count]
        heights = [power.power if tests else power.width for power in powers]
        lows = highs = [math.nan] * len(powers)
        if tests:
            lows = [max(0.0, power.power - TIMES_ERROR * power.error) for power in powers]
            highs = [min(1.0, power.power + TIMES_ERROR * power.error) for power in powers]
        raters = [plan.design.raters for plan in of_count]
        lines.append(Line(counted(item_count, "item"), raters, heights, lows, highs))
    what = "Power" if tests else "Width of the interval"
    described = "; ".join(
        f"{line.label}: " + ", ".join(f"{y:.2f} with {x:g}" for x, y in zip(line.x, line.y, strict=True))
        for line in lines
    )
    words = plots.Words(key, f"{what} by raters per item", described, "Raters per item", what)
    return plots.curves(words, lines, limits=(0.0, 1.0) if tests else None)


def plan_lines(
    planner: Planner,
    plans: Sequence[Plan],
    smallest: Sequence[Plan] = (),
    *,
    power: float | None = None,
    width: float | None = None,
) -> list[str]:
    """The plans as lines of a terminal: the aim, the table, the smallest designs, what to know."""
    aim, systems = planner.aim, planner.systems
    header, *rows = [[*names_of_columns(aim, systems)], *(cells_of(aim, plan) for plan in (*plans, *smallest))]
    widths = [max(len(cells[column]) for cells in [header, *rows]) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))

    lines = [aim_in_words(aim, systems), crossing_in_words(planner.crossing, systems, same_items=planner.same_items)]
    lines += ["", *(line(cells) for cells in [header, *rows[: len(plans)]]), ""]
    for plan, cells in zip(smallest, rows[len(plans) :], strict=True):
        lines += [smallest_in_words(plan, power=power, width=width), line(cells), ""]
    if power is not None or width is not None:
        best = cheapest([*plans, *smallest], power=power, width=width)
        if best is not None:
            lines += [f"Cheapest of all: {cheapest_in_words(best)}", ""]
    lines += notes_on(aim, [*plans, *smallest])
    if plans and (per_hour := plans[0].cost.per_hour):
        lines.append(f"Workers earn {money(per_hour)} an hour.")
    return lines


def names_of_columns(aim: Aim, systems: int) -> list[str]:
    level = 100 * (1 - (2 if aim.goal == "equivalence" else 1) * aim.significance)
    shown = ["mean α"] if aim.goal == "agreement" else ["power", *(["all"] if aim.compares and systems > 2 else [])]
    return [
        "items",
        "raters",
        "workers",
        "texts per worker",
        *shown,
        f"width of {level:g}% interval",
        "submissions",
        "hours",
        "cost",
    ]


def cells_of(aim: Aim, plan: Plan) -> list[str]:
    """The cells under `names_of_columns`."""
    design, power, cost = plan.design, plan.power, plan.cost
    sizes = [f"{number:,}" for number in (design.items, design.raters, design.workers, design.busiest)]
    shown = [power_in_words(plan), *([percent(power.power_all)] if aim.compares and design.systems > 2 else [])]
    if aim.goal == "agreement":
        shown = [f"{power.figure:.2f}"]
    width = "–" if math.isnan(power.width) else f"{power.width:.2f}"
    return [
        *sizes,
        *shown,
        width,
        f"{cost.submissions:,}",
        hours_in_words(cost.hours),
        money(cost.total) if cost.total else "–",
    ]


def cheapest_in_words(plan: Plan) -> str:
    design, cost = plan.design, plan.cost
    hours = "" if cost.hours is None else f", {duration(3600 * float(cost.hours))} of work"
    return (
        f"{counted(design.items, 'item')} × {counted(design.raters, 'rater')}: {counted(design.workers, 'worker')}, "
        f"{counted(cost.submissions, 'submission')}{hours}{f', {money(cost.total)}' if cost.total else ''}."
    )
