"""The questions, the workers and the data collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from analysis.description import ArmDescription, QuestionDescription, Scale
from analysis.quality_control.exclusion import Exclusion
from analysis.report.blocks import Block, Column, Facts, Highlight, Note, Section, Table, Wording
from analysis.report.source import MANY_POINTS, Source
from common.words import counted, moment_in_utc, money, rating_counts_in_words

MOST_INCOMPLETE = 50
STATES = {
    "accepted": "in progress",
    "submitted": "submitted",
    "returned": "returned",
    "abandoned": "timed out",
    "stopped": "stopped for part pay",
    "released": "submitted and replaced",
}


def design(source: Source) -> Section:
    """The study's set-up, in words for the method section of a paper."""
    study = source.description
    per_worker = "no limit" if study.hits_per_worker is None else f"at most {study.hits_per_worker}"
    facts: list[tuple[str, object]] = [
        ("Task", f"{study.task_title}: {study.summary}"),
        ("Source", study.source or "none given"),
        ("Ratings wanted per item", study.ratings_per_item),
        ("Items per hit", study.items_per_hit),
        ("Hits per worker", per_worker),
        ("Reward per hit", "differs between arms" if differing_rewards(source) else reward_in_words(study.reward)),
        ("Time limit", counted(study.time_limit_minutes, "minute")),
        ("Open to", study.access),
        (
            "Order",
            f"Hits are assigned in a random order (seed {study.seed}), those with the fewest ratings first. What a "
            "page shows in random order or on two sides is drawn for each assignment and stored with its answers.",
        ),
    ]
    facts += [("Status", study.status), *dates(source), *study.settings]
    facts += [("Excluded by rule", words) for _, words in Exclusion.of(study.exclude).in_words()]
    blocks: list[Block] = [Facts(facts)]
    if study.has_arms:
        blocks.append(arms_table(study.arms))
    data = {
        "task_type": study.task_type,
        "title": study.task_title,
        "source": study.source,
        "ratings_per_item": study.ratings_per_item,
        "items_per_hit": study.items_per_hit,
        "hits_per_worker": study.hits_per_worker,
        "reward": study.reward,
        "time_limit_minutes": study.time_limit_minutes,
        "seed": study.seed,
        "config": dict(study.config),
        "quality_control": dict(study.quality_control),
        "exclude": dict(study.exclude),
        "arms": list(study.arms) if study.has_arms else [],
    }
    return Section(source.key("design"), "What was asked", blocks, data)


def differing_rewards(source: Source) -> bool:
    return len({arm.reward for arm in source.description.arms}) > 1


def reward_in_words(amount: Decimal) -> str:
    return money(amount) if amount else "none"


def arms_table(arms: Sequence[ArmDescription]) -> Table:
    """How each arm differs. Texts are only named: the last section shows them in full."""
    rows = []
    for arm in arms:
        own = [f"{name}: {value}" for name, value in arm.config.items()]
        own += [f"own text: {name.replace('_', ' ')}" for name in arm.texts]
        wanted = "as many as the hits need" if arm.wanted is None else f"{arm.wanted:,}"
        rows.append((arm.name, reward_in_words(arm.reward), wanted, own or "only what is in this table"))
    columns = [
        Column("Arm", "name"),
        Column("Reward per hit"),
        Column("Participants wanted"),
        Column("What differs", "texts"),
    ]
    note = "Each participant joins the arm with the fewest participants at the time and stays in it."
    return Table("Arms", columns, rows, note)


def dates(source: Source) -> list[tuple[str, str]]:
    study = source.description
    moments = [("Live since", study.live_at), ("Closed", study.closed_at)]
    return [(name, moment_in_utc(moment)) for name, moment in moments if moment]


def counts_of(source: Source) -> dict[str, Any]:
    """Counts of everything, with simulated workers counted separately. Items are those of the role ``main``.

    A rating is a number given to one question; texts are counted separately. ``ratings`` are those included in the
    analysis.
    """
    data, items = source.data, source.items
    used, ratings = data.used, data.ratings
    simulated = int((ratings["synthetic"] & ratings["value"].notna()).sum())
    included = int(ratings["value"].notna().sum())
    complete = int((items["n"] >= items["wanted"]).sum())
    return {
        "items": len(items),
        "items_complete": complete,
        "items_incomplete": len(items) - complete,
        "items_without_rating": int((items["n"] == 0).sum()),
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
        "texts": int((ratings["text"] != "").sum()),
        "comments": int(used["has_feedback"].sum()),
        "assignments": dict(source.description.assignments),
    }


def data(source: Source) -> Section:
    """Which data were collected, simulated or excluded, and what is still missing."""
    items, counts = source.items, counts_of(source)
    section = Section(source.key("data"), "Data", data=counts)
    section.blocks.append(Facts(data_facts(counts)))
    if not len(source.data.ratings):
        section.blocks.insert(0, Note("Nothing has been rated yet, so there is nothing to compute.", "warning"))
    if not len(items):
        section.blocks.insert(0, Note("The study has no items yet.", "warning"))
    if source.description.has_arms:
        section.blocks.append(counts_by_arm(source, counts))
    short = items.loc[items["n"] < items["wanted"], ["n", "wanted"]].reset_index().sort_values("n", kind="stable")
    rows = [(str(item), int(n), int(wanted)) for item, n, wanted in short.itertuples(index=False, name=None)]
    counts["incomplete"] = [{"item": item, "n": n, "wanted": wanted} for item, n, wanted in rows]
    if rows:
        more = f"The {MOST_INCOMPLETE} of {len(rows):,} with the fewest." if len(rows) > MOST_INCOMPLETE else ""
        columns = [Column("Item", "name"), Column("Submissions"), Column("Wanted")]
        section.blocks.append(Table("Incomplete items", columns, rows[:MOST_INCOMPLETE], more, fold=True))
    bots = counts["workers_simulated"]
    section.highlights = [
        Highlight("Items", f"{len(items):,}", f"{counts['items_complete']:,} complete"),
        Highlight("Ratings", f"{counts['ratings']:,}", counted(counts["submissions_used"], "submission")),
        Highlight("Workers", f"{counts['workers']:,}", f"{bots:,} simulated" if bots else ""),
    ]
    return section


def counts_by_arm(source: Source, counts: dict[str, Any]) -> Table:
    """Participants with an included submission, submissions, excluded submissions and ratings, by arm."""
    used, ratings, every = source.data.used, source.data.ratings, source.data.submissions
    rows = []
    for arm in source.arms:
        mine = used[used["arm"] == arm]
        left_out = int((every["arm"] == arm).sum()) - len(mine)
        rated = int(((ratings["arm"] == arm) & ratings["value"].notna()).sum())
        rows.append((arm, int(mine["worker"].nunique()), len(mine), left_out, rated))
    names = ("arm", "participants", "submissions_used", "submissions_left_out", "ratings")
    counts["arms"] = [dict(zip(names, row, strict=True)) for row in rows]
    columns = [Column("Arm", "name"), *map(Column, ("Participants", "Submissions", "Left out", "Ratings"))]
    return Table("By arm", columns, rows)


def completeness(counts: Mapping[str, Any]) -> str:
    """How many items have all submissions that they need, as a sentence."""
    items, complete, none = counts["items"], counts["items_complete"], counts["items_without_rating"]
    if complete == items:
        return f"All {items:,} items are complete" if items > 1 else ("1 item, complete" if items else "none")
    missing = f"{complete:,} of {counted(items, 'item')} complete"
    return f"{missing}; {none:,} without any submission" if none else missing


def data_facts(counts: Mapping[str, Any]) -> list[tuple[str, object]]:
    states, others = counts["assignments"], counts["items_of_other_roles"]
    assignments = ", ".join(f"{states[state]:,} {name}" for state, name in STATES.items() if states.get(state))
    told: list[tuple[str, object]] = [
        (
            "Items",
            completeness(counts),
        )
    ]
    if others:
        listed = ", ".join(f"{n:,} {role}" for role, n in others.items())
        told.append(("Other items", f"{listed}; their answers are in no figure about items"))
    claimed = counts["submissions_claimed"]
    told.append(
        (
            "Submissions",
            f"{counts['submissions_used']:,} used, {counts['submissions_simulated']:,} of them simulated; "
            f"{counts['submissions_left_out']:,} left out by review or rule",
        )
    )
    if claimed:
        told.append(
            (
                "Not confirmed",
                f"{counted(claimed, 'submission')} from a site that cannot confirm which worker sent them",
            )
        )
    return [
        *told,
        ("Workers", f"{counts['workers']:,}, {counts['workers_simulated']:,} of them simulated"),
        ("Ratings", rating_counts_in_words(counts["ratings_all"], counts["ratings"], counts["ratings_by_people"])),
        ("Texts", counts["texts"]),
        ("Assignments", assignments or "none"),
        ("Comments in the feedback box", counts["comments"]),
    ]


def wording(source: Source) -> Section:
    """The texts that all workers read, then those of single arms."""
    study = source.description
    section = Section(source.key("wording"), "What workers read")
    section.blocks.append(Wording(list(study.texts)))
    for arm in study.arms:
        if arm.texts:
            own = [(f"Arm {arm.name}: {name.replace('_', ' ')}", text) for name, text in arm.texts.items()]
            section.blocks.append(Wording(own))
    told = []
    for topic, question in source.questions.items():
        if topic in source.unknown:
            continue
        rows = [("Question", question.label)]
        if question.help:
            rows.append(("Help", question.help))
        rows.append((f"Answers, {question.scale.level} scale", answers(question)))
        section.blocks.append(Wording([(f"{topic}: {name}", text) for name, text in rows]))
        told.append({"topic": topic, "label": question.label, "help": question.help, "answers": points(question.scale)})
    section.data = {"texts": dict(study.texts), "questions": told}
    return section


def points(scale: Scale) -> list[dict[str, Any]]:
    return [
        {"value": point.value, "label": point.label} | ({"description": point.description} if point.description else {})
        for point in scale.points
    ]


def answers(question: QuestionDescription) -> str:
    """The scale from its top down as on the page, or the limits of a text."""
    if question.scale.level == "text":
        limits = question.bounds
        told = [
            f"{word} {count(limits[f'{end}_{unit}'], unit)}"
            for unit in ("words", "chars")
            for end, word in (("min", "at least"), ("max", "at most"))
            if limits.get(f"{end}_{unit}")
        ]
        return f"A text of {', '.join(told)}." if told else "A text of any length."
    if not question.scale.points:
        return f"A number on the scale “{question.scale.name}”."
    if len(question.scale.points) > MANY_POINTS and not any(point.label for point in question.scale.points):
        return f"A number from {question.scale.low:g} to {question.scale.high:g}."
    if question.targets:
        how = "Any of these options:" if question.kind == "choices" else "An order of these options:"
        return "\n".join([how, *question.targets.values()])
    return "\n".join(
        f"{point.text}: {point.description}" if point.description else point.text for point in question.scale.points
    )


def count(number: int, unit: str) -> str:
    one, several = {"words": ("one word", "words"), "chars": ("one character", "characters")}[unit]
    return one if number == 1 else f"{number:,} {several}"
