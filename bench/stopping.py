"""What rules for stopping early save and risk: ``python -m bench.stopping [--sets N]``.

Two and three systems with texts for the same 40 prompts, 10 raters of each text, at most 20 texts for each worker;
prompts, texts, workers, their likings and single answers vary. The first system is ahead of the others by 0, 0.3 and
0.8 points on a scale from 1 to 5. Every simulated study is looked at from 20% of its ratings on, after every 5%.
Beside the rule, the ordinary comparison of all ratings at the planned end: how often it shows a difference.
"""

from __future__ import annotations

import argparse

from analysis.description import StoppingRule
from analysis.planning.aims import Aim
from analysis.planning.components import Components
from analysis.planning.power import simulate
from analysis.planning.scales import Scale
from analysis.planning.stopping import forecast
from analysis.planning.study_design import design_for

SCALE, VARIANCES = Scale(1, 5, 5), Components(0.1, 0.2, 0.05, 0.05, 0.6)
EFFECTS = (0.0, 0.3, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    heads = (("systems", 7), ("margin", 6), ("difference", 10), ("early", 6), ("used", 6), ("wrong", 6), ("hold", 6))
    print("  ".join(f"{head:>{width}}" for head, width in heads), " at the end")
    for systems in (2, 3):
        design = design_for(systems, 40, 10, texts_per_worker=20, crossing="some")
        for smallest in (None, 0.4):
            for effect in EFFECTS:
                row = forecast(
                    StoppingRule("system", "rating", smallest),
                    design,
                    SCALE,
                    VARIANCES,
                    effect=effect,
                    simulations=options.sets,
                    seed=options.seed,
                )
                ordinary = ""
                if effect:
                    aim = Aim("difference", SCALE, VARIANCES, effect=effect)
                    ordinary = f"{simulate(aim, design, simulations=options.sets, seed=options.seed).power:.1%}"
                print(
                    f"{systems:>7}  {smallest or '–':>6}  {effect:>10g}  {row.early:>6.1%}  {row.used:>6.1%}  "
                    f"{row.wrong:>6.1%}  {row.held:>6.1%}  {ordinary:>10}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
