"""Hits that workers stopped for part pay: how many, after which step, in which arm, and what was paid for them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd

from analysis.report.blocks import Facts, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted, money


def make_section(source: Source) -> Section | None:
    """None if nobody has stopped. Simulated workers, who are never paid, are counted separately."""
    hits = source.data.stopped
    if hits.empty:
        return None
    by_people = hits[~hits["synthetic"]]
    submissions = source.data.submissions[~source.data.submissions["synthetic"]]
    section = Section(source.key("stopped"), "Stopped early")
    section.data = counts_of(by_people, len(submissions)) | {"simulated": len(hits) - len(by_people)}
    section.add(Facts(facts(section.data)))
    if by_people.empty:
        return section
    if source.description.has_arms:
        section.add_named("arms", arms_table(source, by_people, submissions))
    section.add_named("steps", steps_table(source, by_people))
    section.add(
        Note(
            "A hit that somebody stopped gives no submission, so no rating comes from it. Workers who gave a hit back "
            "without pay, or whose time ran out, are not counted here."
        )
    )
    return section


def counts_of(hits: pd.DataFrame, submitted: int) -> dict[str, Any]:
    """Hits, workers and money of stopped hits. What is not paid yet is owed."""
    owed, paid = ([Decimal(amount) for amount in hits[column]] for column in ("owed", "paid"))
    unpaid = [due for due, amount in zip(owed, paid, strict=True) if not amount]
    return {
        "stopped": len(hits),
        "workers": int(hits["worker"].nunique()),
        "submitted": submitted,
        "share": len(hits) / (len(hits) + submitted) if len(hits) else 0.0,
        "median_steps": float(hits["steps_done"].median()),
        "promised_usd": sum(owed, Decimal(0)),
        "paid_usd": sum(paid, Decimal(0)),
        "unpaid": len(unpaid),
        "unpaid_usd": sum(unpaid, Decimal(0)),
    }


def facts(counts: dict[str, Any]) -> list[tuple[str, object]]:
    hits = counts["stopped"] + counts["submitted"]
    share = f"{counts['share']:.1%} of {counted(hits, 'hit')} that people submitted or stopped" if hits else "none"
    unpaid = f"; {money(counts['unpaid_usd'])} for {counted(counts['unpaid'], 'hit')} is not paid yet"
    rows: list[tuple[str, object]] = [
        ("Stopped", f"{counted(counts['stopped'], 'hit')} by {counted(counts['workers'], 'worker')}"),
        ("Share", share),
        ("Paid", f"{money(counts['paid_usd'])}{unpaid if counts['unpaid'] else ''}"),
    ]
    if counts["simulated"]:
        rows.append(("By simulated workers", counted(counts["simulated"], "hit")))
    return rows


def arms_table(source: Source, hits: pd.DataFrame, submissions: pd.DataFrame) -> Table:
    counts = [
        {"arm": arm} | counts_of(hits[hits["arm"] == arm], int((submissions["arm"] == arm).sum()))
        for arm in source.arms
    ]
    columns = [
        Column("Arm", "name", shows="arm"),
        Column("Stopped", shows="stopped"),
        Column("Workers", shows="workers"),
        Column("Submitted", shows="submitted"),
        Column("Share stopped", shows="share"),
        Column("Median steps sent", digits=1, shows="median_steps"),
        Column("Paid", shows=lambda arm: money(arm["paid_usd"])),
    ]
    note = (
        "Share stopped: of the hits that people submitted or stopped. A large difference between arms can bias results."
    )
    return Table("Stopped early, by arm", columns, counts, note)


def steps_table(source: Source, hits: pd.DataFrame) -> Table:
    """How many stopped after each number of steps. Hits of one arm may have different numbers of steps."""
    keys = ["steps_done", "steps_in_all"]
    columns = [
        Column("Steps sent", shows=lambda group: int(group["steps_done"])),
        Column("Of", shows=lambda group: None if pd.isna(group["steps_in_all"]) else int(group["steps_in_all"])),
        Column("Hits", shows="stopped"),
    ]
    if source.description.has_arms:
        keys, columns = ["arm", *keys], [Column("Arm", "name", shows="arm"), *columns]
    groups = hits.groupby(keys, dropna=False, sort=True).size().reset_index(name="stopped").to_dict("records")
    if source.description.has_arms:
        order = {arm: position for position, arm in enumerate(source.arms)}
        groups.sort(key=lambda group: order.get(str(group["arm"]), len(order)))
    note = "A step is a page of the hit. “Of” has a dash if the number of steps depended on the answers."
    return Table("After which step", columns, groups, note)
