"""The data collected: items, submissions, workers and ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.report.blocks import Facts, Highlight, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted, rating_counts_in_words

MOST_INCOMPLETE = 50
STATES = {
    "accepted": "in progress",
    "submitted": "submitted",
    "returned": "returned",
    "abandoned": "timed out",
    "stopped": "stopped for part pay",
    "released": "submitted and replaced",
}


def make_section(source: Source) -> Section:
    """Which data were collected, simulated or excluded, and what is still missing."""
    items, counts = source.items, counts_of(source)
    section = Section(source.key("data"), "Data", data=counts)
    if not len(items):
        section.add(Note("The study has no items yet.", "warning"))
    if not len(source.data.ratings):
        section.add(Note("Nothing has been rated yet, so there is nothing to compute.", "warning"))
    section.add(Facts(facts(counts)))
    if source.description.has_arms:
        section.data["arms"] = arms_in_numbers(source)
    lacking = items[items["n"] < items["wanted"]]
    incomplete: list[dict[str, Any]] = [
        {"item": str(item), "n": int(n), "wanted": int(wanted)}
        for item, n, wanted in zip(lacking.index, lacking["n"], lacking["wanted"], strict=True)
    ]
    incomplete.sort(key=lambda item: item["n"])
    section.data["incomplete"] = incomplete
    if incomplete:
        note = ""
        if len(incomplete) > MOST_INCOMPLETE:
            note = f"The {MOST_INCOMPLETE} of {len(incomplete):,} with the fewest."
        columns = [
            Column("Item", "name", shows="item"),
            Column("Submissions", shows="n"),
            Column("Wanted", shows="wanted"),
        ]
        section.add(Table("Incomplete items", columns, incomplete[:MOST_INCOMPLETE], note, fold=True))
    simulated = counts["workers_simulated"]
    section.highlights = [
        Highlight("Items", f"{counts['items']:,}", f"{counts['items_complete']:,} complete"),
        Highlight("Ratings", f"{counts['ratings']:,}", counted(counts["submissions_used"], "submission")),
        Highlight("Workers", f"{counts['workers']:,}", f"{simulated:,} simulated" if simulated else ""),
    ]
    return section


def counts_of(source: Source) -> dict[str, Any]:
    """Counts of everything, with simulated workers counted separately. Items are those of the role ``main``.

    A rating is a number given to one question; texts are counted separately. ``ratings`` are those included in the
    analysis.
    """
    data, items = source.data, source.items
    used, ratings = data.used, data.ratings
    is_number = ratings["value"].notna()
    simulated = int((ratings["synthetic"] & is_number).sum())
    included = int(is_number.sum())
    # A launched study wants answers about every item, except those that no arm asks for.
    unasked = (items["wanted"] == 0) & (items["n"] == 0) & bool((items["wanted"] > 0).any())
    items = items[~unasked]
    complete = int((items["n"] >= items["wanted"]).sum())
    return {
        "items": len(items),
        "items_left_out": int(unasked.sum()),
        "items_complete": complete,
        "items_incomplete": len(items) - complete,
        "items_without_rating": int((items["n"] == 0).sum()),
        "submissions_per_item": {
            "median": float(items["n"].median()),
            "least": int(items["n"].min()),
            "most": int(items["n"].max()),
        }
        if len(items)
        else None,
        "items_of_other_roles": data.items.loc[data.items["role"] != "main", "role"].value_counts().to_dict(),
        "submissions_used": len(used),
        "submissions_left_out": data.excluded,
        "submissions_claimed": source.description.claimed,
        "submissions_simulated": int(used["synthetic"].sum()),
        "workers": int(used["worker"].nunique()),
        "workers_simulated": int(used.loc[used["synthetic"], "worker"].nunique()),
        "ratings": included,
        "ratings_all": int(data.all_ratings["value"].notna().sum()),
        "ratings_by_people": included - simulated,
        "ratings_simulated": simulated,
        "texts": int((ratings["text"][~is_number] != "").sum()),
        "comments": int(used["has_feedback"].sum()),
        "assignments": dict(source.description.assignments),
    }


def arms_in_numbers(source: Source) -> list[dict[str, Any]]:
    """Participants with an included submission, submissions, excluded submissions and ratings, by arm."""
    submissions, used, ratings = source.data.submissions, source.data.used, source.data.ratings
    # A submission is in one arm, and to compare a million names for every arm takes long.
    of_submission = source.data.rating_codes.of("submission")
    numbers = np.bincount(of_submission.codes, ratings["value"].notna(), len(of_submission.names))
    numbers_by_arm = pd.Series(numbers).groupby(
        used.set_index("submission")["arm"].reindex(of_submission.names).to_numpy(dtype=object)
    )
    ratings_of = numbers_by_arm.sum().to_dict()
    arms = []
    for arm in source.arms:
        used_in_arm = used[used["arm"] == arm]
        arms.append(
            {
                "arm": arm,
                "participants": int(used_in_arm["worker"].nunique()),
                "submissions_used": len(used_in_arm),
                "submissions_left_out": int((submissions["arm"] == arm).sum()) - len(used_in_arm),
                "ratings": int(ratings_of.get(arm, 0)),
            }
        )
    return arms


def completeness(counts: Mapping[str, Any]) -> str:
    """How many items have all submissions that they need, as a sentence."""
    items, complete, none = counts["items"], counts["items_complete"], counts["items_without_rating"]
    if complete == items:
        return f"All {items:,} items are complete" if items > 1 else ("1 item, complete" if items else "none")
    missing = f"{complete:,} of {counted(items, 'item')} complete"
    return f"{missing}; {none:,} without any submission" if none else missing


def facts(counts: Mapping[str, Any]) -> list[tuple[str, object]]:
    states, roles = counts["assignments"], counts["items_of_other_roles"]
    assignments = ", ".join(f"{states[state]:,} {name}" for state, name in STATES.items() if states.get(state))
    rows: list[tuple[str, object]] = [("Items", completeness(counts))]
    if n := counts["items_left_out"]:
        rows.append(("Items left out", f"{n:,}, which no arm asks for, such as texts of other domains"))
    if roles:
        listed = ", ".join(f"{n:,} {role}" for role, n in roles.items())
        rows.append(("Other items", f"{listed}; their answers are in no figure about items"))
    submissions = (
        f"{counts['submissions_used']:,} used, {counts['submissions_simulated']:,} of them simulated; "
        f"{counts['submissions_left_out']:,} left out by review or rule"
    )
    rows.append(("Submissions", submissions))
    if counts["submissions_claimed"]:
        claimed = counted(counts["submissions_claimed"], "submission")
        rows.append(("Not confirmed", f"{claimed} from a site that cannot confirm which worker sent them"))
    return [
        *rows,
        ("Workers", f"{counts['workers']:,}, {counts['workers_simulated']:,} of them simulated"),
        ("Ratings", rating_counts_in_words(counts["ratings_all"], counts["ratings"], counts["ratings_by_people"])),
        ("Texts", counts["texts"]),
        ("Assignments", assignments or "none"),
        ("Comments in the feedback box", counts["comments"]),
    ]
