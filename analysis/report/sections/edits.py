"""The section on how far writers changed the suggestions that they accepted, by suggester and round.

Source: Clark 2021, ch. 4.5; the measures are in `analysis.writing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Figure, Figures, Fold, Note, Section
from analysis.report.figures import line_of
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.report.tables import Column, Table
from analysis.writing.summary import ALL_ROUNDS, EDITS, EditShift, edit_shifts, edit_table, mean_edits

MOST_LINES = 3
#: By suggester and round (ALL_ROUNDS: all together), the mean of each measure.
Means = dict[tuple[str, int], dict[str, Estimate]]


def make_section(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """Edits of accepted suggestions. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("edits"), "Edits of suggestions")
    edits = edit_table(lines_of(source, topic=topic, every=every))
    if edits.empty:
        section.add(Note("No writer has accepted a suggestion yet."))
        return section
    means = mean_edits(edits)
    suggesters = list(dict.fromkeys(edits["author"]))
    section.add(means_table(edits, means, suggesters))
    section.data["means"] = [
        {"suggester": name, "round": number or "all", **measures} for (name, number), measures in means.items()
    ]
    differences = edit_shifts(edits)
    section.data["differences"] = differences
    if differences:
        section.add(differences_table(differences))
    if len(suggesters) <= MOST_LINES:
        figures = [rounds_figure(source, means, suggesters, measure) for measure in EDITS]
        section.add(Fold("Edits by round", [Figures(figures)]))
    return section


def rounds_figure(source: Source, means: Means, suggesters: Sequence[str], measure: str) -> Figure:
    """One measure by round, with the suggesters side by side."""
    rounds = sorted({number for _, number in means if number})
    by_round = [
        {name: means[name, number][measure] for name in suggesters if (name, number) in means} for number in rounds
    ]
    lines = []
    for name in suggesters:
        defined = {
            position: estimates[name]
            for position, estimates in enumerate(by_round)
            if name in estimates and not math.isnan(estimates[name].value)
        }
        lines.append(line_of(name[:18], list(defined), list(defined.values())))
    title = f"{EDITS[measure]} by round"
    described = f"Means for {', '.join(suggesters)} in {len(rounds)} rounds; the table has the numbers."
    words = plots.Words(source.key("edits-plot"), title, described, "Round", EDITS[measure])
    drawn = [value for line in lines for part in (line.y, line.low, line.high) for value in part]
    limits = plots.padded([value for value in drawn if math.isfinite(value)] or [0.0, 1.0])
    svg = plots.ranges(words, [str(number) for number in rounds], lines, limits=limits)
    columns = [Column("Round"), *(Column(name) for name in suggesters)]
    rows = [(number, *map(estimates.get, suggesters)) for number, estimates in zip(rounds, by_round, strict=True)]
    return Figure(svg, f"{title}: means with 95% intervals over writers.", Table(title, columns, rows))


def means_table(edits: pd.DataFrame, means: Means, suggesters: Sequence[str]) -> Table:
    """All rounds together: number, share of unchanged suggestions, and the three means."""
    rows = []
    for name in suggesters:
        unchanged = edits.loc[edits["author"] == name, "unchanged"]
        rows.append((name, len(unchanged), float(unchanged.mean()), *(means[name, ALL_ROUNDS][key] for key in EDITS)))
    columns = [Column("Suggester", "name"), Column("Accepted"), Column("Unchanged", digits=3)]
    columns += [Column(title) for title in EDITS.values()]
    note = (
        "Means over accepted suggestions with intervals about new writers; the prompts are a fixed condition. A larger "
        "Levenshtein distance is more change; 100 is no change for the other two. USER ignores blocks that share "
        "only function words."
    )
    return Table("Edits of accepted suggestions", columns, rows, note)


def differences_table(differences: Sequence[EditShift]) -> Table:
    """Every pair of suggesters on every measure: the difference of means, and Mann–Whitney's U."""
    columns = [
        Column("Measure", "text", shows=lambda test: EDITS[test.measure]),
        Column("Pair", "text", shows=lambda test: f"{test.first} − {test.second}"),
        Column("Difference", shows="difference"),
        Column("p", "p", shows="p"),
        Column("p, Holm", "p", shows="p_corrected"),
        Column("U", digits=1, shows=lambda test: test.shift.u),
        Column("p, U", "p", shows=lambda test: test.shift.p),
        Column("First larger", digits=3, shows=lambda test: test.shift.above),
        Column("How", "how", shows="difference"),
    ]
    note = (
        "Difference of means, with its interval and p about new writers; Holm’s correction is over the rows of this "
        "table. U is Mann–Whitney’s, the paper’s test, two-sided: it takes edits as independent, and is too sure if "
        "writers differ. First larger: how likely an edit of the first has the larger value, ties one half."
    )
    return Table("Edits: differences between suggesters", columns, differences, note)
