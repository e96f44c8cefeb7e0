"""The section on how far writers changed the suggestions that they accepted, by suggester and round.

Source: Clark 2021, ch. 4.5; the measures are in `analysis.writing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Block, Column, Figure, Figures, Note, Section, Table, how
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.writing.summary import ALL_ROUNDS, EDITS, edit_shifts, edit_table, mean_edits

MOST_LINES = 3
ALL = "all"


def edits(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """Edits of accepted suggestions. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("edits"), "Edits of suggestions")
    found = edit_table(lines_of(source, topic=topic, every=every))
    if found.empty:
        section.blocks.append(Note("No writer has accepted a suggestion yet."))
        return section
    means = mean_edits(found)
    names = list(dict.fromkeys(found["author"]))
    if len(names) <= MOST_LINES:
        section.blocks.append(Figures([figure(source, means, names, measure) for measure in EDITS]))
    section.blocks += tables(found, means, names)
    section.data |= {"means": [as_data(key, each) for key, each in means.items()]}
    section.blocks += shifts(found, section.data)
    return section


Key = tuple[str, int]


def figure(source: Source, means: dict[Key, dict[str, Estimate]], names: Sequence[str], measure: str) -> Figure:
    """One measure by round, with the suggesters side by side."""
    rounds = sorted({place for _, place in means if place})
    title = f"{EDITS[measure]} by round"
    lines = []
    for name in names:
        here = [(at, means[name, place][measure]) for at, place in enumerate(rounds) if (name, place) in means]
        known = [(at, each) for at, each in here if not math.isnan(each.value)]
        lines.append(
            plots.Line(
                name[:18],
                [at for at, _ in known],
                [each.value for _, each in known],
                [each.low for _, each in known],
                [each.high for _, each in known],
            )
        )
    described = f"Means for {', '.join(names)} in {len(rounds)} rounds; the table has the numbers."
    words = plots.Words(source.key("edits-plot"), title, described, "Round", EDITS[measure])
    values = [value for line in lines for part in (line.y, line.low, line.high) for value in part]
    limits = plots.padded([value for value in values if math.isfinite(value)] or [0.0, 1.0])
    svg = plots.ranges(words, [str(place) for place in rounds], lines, limits=limits)
    columns = [Column("Round"), *(Column(name) for name in names)]
    body = [
        (place, *(means[name, place][measure] if (name, place) in means else None for name in names))
        for place in rounds
    ]
    return Figure(svg, f"{title}: means with 95% intervals over writers.", Table(title, columns, body))


def tables(found: pd.DataFrame, means: dict[Key, dict[str, Estimate]], names: Sequence[str]) -> list[Block]:
    """All rounds together: number, share of unchanged suggestions, and the three means."""
    rows = []
    for name in names:
        mine = found[found["author"] == name]
        unchanged = float(mine["unchanged"].mean())
        rows.append((name, len(mine), unchanged, *(means[name, ALL_ROUNDS][measure] for measure in EDITS)))
    columns = [Column("Suggester", "name"), Column("Accepted"), Column("Unchanged", digits=3)]
    columns += [Column(title) for title in EDITS.values()]
    note = (
        "Means over accepted suggestions with intervals about new writers; the prompts are a fixed condition. A larger "
        "Levenshtein distance is more change; 100 is no change for the other two. USER ignores blocks that share "
        "only function words."
    )
    return [Table("Edits of accepted suggestions", columns, rows, note)]


def shifts(found: pd.DataFrame, data: dict[str, Any]) -> list[Block]:
    """Every pair of suggesters on every measure: the difference of means, and Mann–Whitney's U."""
    tests = edit_shifts(found)
    data["differences"] = tests
    rows = [
        (
            EDITS[each.measure],
            f"{each.first} − {each.second}",
            each.difference,
            each.p,
            each.p_corrected,
            each.shift.u,
            each.shift.p,
            each.shift.above,
            how(each.difference),
        )
        for each in tests
    ]
    if not rows:
        return []
    columns = [Column("Measure", "text"), Column("Pair", "text"), Column("Difference"), Column("p", "p")]
    columns += [Column("p, Holm", "p"), Column("U", digits=1), Column("p, U", "p"), Column("First larger", digits=3)]
    columns.append(Column("How", "how"))
    note = (
        "Difference of means, with its interval and p about new writers; Holm’s correction is over the rows of this "
        "table. U is Mann–Whitney’s, the paper’s test, two-sided: it takes edits as independent, and is too sure if "
        "writers differ. First larger: how likely an edit of the first has the larger value, ties one half."
    )
    return [Table("Edits: differences between suggesters", columns, rows, note)]


def as_data(key: Key, means: dict[str, Estimate]) -> dict[str, Any]:
    name, place = key
    return {"suggester": name, "round": place or ALL, **means}
