"""Hits that workers stopped for part pay: how many, after which step, in which arm, and what was paid for them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pandas as pd

from analysis.report.blocks import Column, Facts, Note, Section, Table
from analysis.report.source import Source
from common.words import counted, money

NOTHING = Decimal(0)


def stopped(source: Source) -> Section | None:
    """None if nobody has stopped. Simulated workers, who are never paid, are counted separately."""
    rows = source.data.stopped
    if rows.empty:
        return None
    people = rows[~rows["synthetic"]]
    sent = source.data.submissions[~source.data.submissions["synthetic"]]
    section = Section(source.key("stopped"), "Stopped early")
    told = _counts(people, len(sent))
    section.data = told | {"simulated": len(rows) - len(people)}
    section.blocks.append(Facts(_facts(told, section.data["simulated"])))
    if people.empty:
        return section
    if source.description.has_arms:
        section.blocks.append(_by_arm(source, people, sent, section.data))
    section.blocks.append(_by_step(source, people, section.data))
    section.blocks.append(
        Note(
            "A hit that somebody stopped gives no submission, so no rating comes from it. Workers who gave a hit back "
            "without pay, or whose time ran out, are not counted here."
        )
    )
    return section


def _counts(rows: pd.DataFrame, submitted: int) -> dict[str, Any]:
    """Hits, workers and money of stopped hits. What is not paid yet is owed."""
    stopped_hits = len(rows)
    owed, paid = _usd(rows["owed"]), _usd(rows["paid"])
    return {
        "stopped": stopped_hits,
        "workers": int(rows["worker"].nunique()),
        "submitted": submitted,
        "share": stopped_hits / (stopped_hits + submitted) if stopped_hits else 0.0,
        "median_steps": float(rows["steps_done"].median()),
        "promised_usd": sum(owed, NOTHING),
        "paid_usd": sum(paid, NOTHING),
        "unpaid": sum(not each for each in paid),
        "unpaid_usd": sum((due for due, had in zip(owed, paid, strict=True) if not had), NOTHING),
    }


def _usd(cells: Iterable[str]) -> list[Decimal]:
    return [Decimal(each) for each in cells]


def _facts(told: dict[str, Any], simulated: int) -> list[tuple[str, object]]:
    both = told["stopped"] + told["submitted"]
    share = f"{told['share']:.1%} of {counted(both, 'hit')} that people submitted or stopped" if both else "none"
    unpaid = f"; {money(told['unpaid_usd'])} for {counted(told['unpaid'], 'hit')} is not paid yet"
    rows: list[tuple[str, object]] = [
        ("Stopped", f"{counted(told['stopped'], 'hit')} by {counted(told['workers'], 'worker')}"),
        ("Share", share),
        ("Paid", f"{money(told['paid_usd'])}{unpaid if told['unpaid'] else ''}"),
    ]
    return [*rows, ("By simulated workers", counted(simulated, "hit"))] if simulated else rows


def _by_arm(source: Source, people: pd.DataFrame, sent: pd.DataFrame, data: dict[str, Any]) -> Table:
    data["arms"] = [
        {"arm": arm} | _counts(people[people["arm"] == arm], int((sent["arm"] == arm).sum())) for arm in source.arms
    ]
    names = ("arm", "stopped", "workers", "submitted", "share", "median_steps")
    rows = [(*(each[name] for name in names), money(each["paid_usd"])) for each in data["arms"]]
    columns = [
        Column("Arm", "name"),
        *map(Column, ("Stopped", "Workers", "Submitted", "Share stopped")),
        Column("Median steps sent", digits=1),
        Column("Paid"),
    ]
    note = (
        "Share stopped: of the hits that people submitted or stopped. A large difference between arms can bias results."
    )
    return Table("Stopped early, by arm", columns, rows, note)


def _by_step(source: Source, people: pd.DataFrame, data: dict[str, Any]) -> Table:
    """How many stopped after each number of steps. Hits of one arm may have different numbers of steps."""
    arms = source.description.has_arms
    keys = [*(["arm"] if arms else []), "steps_done", "steps_in_all"]
    groups = people.groupby(keys, dropna=False, sort=True).size().reset_index(name="hits")
    found = [(*key, int(n)) for *key, n in groups.itertuples(index=False, name=None)]
    if arms:
        place = {arm: at for at, arm in enumerate(source.arms)}
        found.sort(key=lambda row: place.get(str(row[0]), len(place)))
    data["steps"] = [dict(zip([*keys, "stopped"], row, strict=True)) for row in found]
    rows = [(*row[:-3], int(row[-3]), None if pd.isna(row[-2]) else int(row[-2]), row[-1]) for row in found]
    columns = [*([Column("Arm", "name")] if arms else []), *map(Column, ("Steps sent", "Of", "Hits"))]
    note = "A step is a page of the hit. “Of” has a dash if the number of steps depended on the answers."
    return Table("After which step", columns, rows, note)
