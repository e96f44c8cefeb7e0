"""``manage.py study plan``: what a study could show, and what it would cost, before its launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.core.management.base import CommandError

from analysis.planning.aims import GOALS, Aim
from analysis.planning.plans import Planner
from analysis.planning.power import SIMULATIONS
from analysis.planning.study_design import CROSSINGS
from analysis.planning.variances import Variances, published_for, published_variances
from analysis.planning.words import components_in_words, plan_lines
from annotation.models import Study
from annotation.results.study_plans import StudyFacts, facts_of, raters_to_try, variances_of_study
from common.commands import AddAction


@dataclass(frozen=True, slots=True)
class PlanActions:
    """Adds the action and runs it. ``study_called`` finds a study or ends the command with its message."""

    say: Callable[[Iterable[str]], None]
    study_called: Callable[[str], Study]

    def add_to(self, add: AddAction) -> None:
        plan = add(
            "plan", "show what a study could show and would cost, with more or fewer items and raters", self.plan
        )
        plan.add_argument("slug")
        meaning = "a difference or margin in points that matters; for a share or accuracy its value, such as 0.6"
        plan.add_argument("--size", type=float, required=True, help=meaning)
        goals = "; ".join(f"{name}: {what}" for name, what in GOALS.items())
        plan.add_argument(
            "--goal", choices=tuple(GOALS), help=f"{goals} (default: what the study's questions can show)"
        )
        plan.add_argument("--criterion", default="", help="the question (default: the first with a scale)")
        plan.add_argument("--systems", type=int, help="systems to compare (default: those of the items)")
        plan.add_argument("--items", type=int, nargs="+", help="items of each system (default: those of the study)")
        plan.add_argument("--raters", type=int, nargs="+", help="raters per item (default: several, up to the study's)")
        crossings = "; ".join(f"{name}: {what}" for name, what in CROSSINGS.items())
        plan.add_argument("--crossing", choices=tuple(CROSSINGS), help=crossings)
        sources = plan.add_mutually_exclusive_group()
        sources.add_argument("--pilot", metavar="SLUG", help="an earlier study, from whose answers the variances come")
        meaning = "published variances: python -m analysis plan --list (default: cautious ones)"
        sources.add_argument("--published", metavar="NAME", help=meaning)
        plan.add_argument("--power", type=float, default=0.8, help="the power that is wanted (default: 0.8)")
        plan.add_argument("--simulations", type=int, default=SIMULATIONS, help="simulated studies for each design")
        plan.add_argument("--seed", type=int, default=1)

    def plan(
        self,
        *,
        slug: str,
        size: float,
        goal: str | None,
        criterion: str,
        systems: int | None,
        items: list[int] | None,
        raters: list[int] | None,
        crossing: str | None,
        pilot: str | None,
        published: str | None,
        power: float,
        simulations: int,
        seed: int,
    ) -> None:
        facts = facts_of(self.study_called(slug))
        goal = goal or facts.goal
        if not (items or facts.items):
            raise CommandError(f"{slug} has no items yet. Import them, or name a number with --items.")
        counts = sorted(set(items or [facts.items]))
        try:
            variances = self._variances(facts, criterion, pilot, published)
            aim = Aim(
                goal,  # type: ignore[arg-type]  # one of the choices
                variances.scale,
                variances.components,
                effect=0.0 if goal in ("equivalence", "agreement") else size,
                mean=variances.mean,
                margin=size if goal == "equivalence" else 0.0,
                reference=bool(facts.reference),
            )
            system_count = (systems or facts.systems) if aim.compares else 1
            planner = Planner(
                aim,
                system_count,
                crossing=(crossing or facts.crossing) if aim.compares else "some",  # type: ignore[arg-type]
                same_items=facts.same_items,
                texts_per_worker=facts.texts_per_worker or counts[-1] * max(1, system_count),
                work=facts.work,
                simulations=simulations,
                seed=seed,
            )
            tried = sorted(
                set(raters or raters_to_try(max(5, facts.raters), facts.raters, 2 if goal == "agreement" else 1))
            )
            plans = list(planner.table(counts, tried))
            wanted = None if goal == "agreement" else power
            smallest = [] if wanted is None else planner.smallest(counts, tried[-1], power=wanted)
        except ValueError as error:
            raise CommandError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None
        self.say([f"{components_in_words(variances.components)}.", f"Source: {variances.source}."])
        self.say([*(f"  {note}" for note in (*variances.notes, *facts.notes)), ""])
        self.say(plan_lines(planner, plans, smallest, power=wanted))

    def _variances(self, facts: StudyFacts, criterion: str, pilot: str | None, published: str | None) -> Variances:
        if criterion and criterion not in facts.scales:
            raise ValueError(
                f"the study has no question “{criterion[:40]}” with a scale; it has {', '.join(facts.scales)}"
            )
        name = criterion or next(iter(facts.scales))
        scale = facts.scales[name]
        if pilot:
            return variances_of_study(self.study_called(pilot), scale, name)
        return published_variances(published or published_for(scale)[0][0], scale)
