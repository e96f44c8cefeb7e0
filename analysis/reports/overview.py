"""What was asked, of whom, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from analysis.reports.blocks import Column, Facts, Highlight, Note, Section, Table, Wording
from analysis.reports.source import Source
from annotation.task_types.questions import Question, TextQuestion

MOST_INCOMPLETE = 50


def design(source: Source) -> Section:
    """The study's set-up, in words that a paper's method section needs."""
    study, task = source.study, source.instrument.task
    per_worker = "no limit" if study.hits_per_worker is None else f"at most {study.hits_per_worker}"
    facts: list[tuple[str, object]] = [
        ("Task", f"{task.title}: {task.summary}"),
        ("Source", task.source or "none given"),
        ("Ratings wanted per item", study.ratings_per_item),
        ("Items per hit", study.items_per_hit),
        ("Hits per worker", per_worker),
        ("Reward per hit", f"${study.reward.normalize():f}" if study.reward else "none"),
        ("Time limit", f"{study.time_limit_minutes} minutes"),
        ("Open to", study.get_access_display()),
        (
            "Order",
            f"Hits are given out in a random order made from seed {study.seed}, those with fewest ratings first. What "
            "a page shows in random order or on two sides is drawn for each assignment and stored with its answers.",
        ),
    ]
    settings = named_settings(task.config_form.base_fields, source.instrument.config)
    facts += [("Status", study.get_status_display()), *dates(source), *settings]
    data = {
        "task_type": task.name,
        "title": task.title,
        "source": task.source,
        "ratings_per_item": study.ratings_per_item,
        "items_per_hit": study.items_per_hit,
        "hits_per_worker": study.hits_per_worker,
        "reward": study.reward,
        "time_limit_minutes": study.time_limit_minutes,
        "seed": study.seed,
        "config": source.instrument.config,
    }
    return Section("design", "What was asked", [Facts(facts)], data)


def dates(source: Source) -> list[tuple[str, object]]:
    study = source.study
    moments = [("Live since", study.live_at), ("Closed", study.closed_at)]
    return [(name, f"{moment:%Y-%m-%d %H:%M} UTC") for name, moment in moments if moment]


def named_settings(fields: Mapping[str, forms.Field], config: Mapping[str, Any]) -> list[tuple[str, object]]:
    """The type's settings as its form calls them."""
    told: list[tuple[str, object]] = []
    for name, value in config.items():
        field = fields.get(name)
        shown: object = value
        if isinstance(field, forms.ChoiceField):
            shown = dict(flat_choices(field)).get(str(value), value)
        elif isinstance(value, bool):
            shown = "yes" if value else "no"
        told.append((str(field.label) if field and field.label else name, shown))
    return told


def flat_choices(field: forms.ChoiceField) -> list[tuple[str, str]]:
    choices: Any = field.choices
    return [(str(key), str(label)) for key, label in choices]


def counted(source: Source) -> dict[str, Any]:
    """How many of what, those of simulated workers apart."""
    frames = source.frames
    used, ratings, items = frames.used, frames.ratings, frames.items
    complete = int((items["n"] >= source.study.ratings_per_item).sum())
    return {
        "items": len(items),
        "items_complete": complete,
        "items_incomplete": len(items) - complete,
        "items_without_rating": int((items["n"] == 0).sum()),
        "submissions_used": len(used),
        "submissions_left_out": frames.excluded,
        "submissions_simulated": int(used["synthetic"].sum()),
        "workers": int(used["worker"].nunique()),
        "workers_simulated": int(used.loc[used["synthetic"], "worker"].nunique()),
        "ratings": int(ratings["value"].notna().sum()),
        "ratings_simulated": int((ratings["synthetic"] & ratings["value"].notna()).sum()),
        "texts": int((ratings["text"] != "").sum()),
        "comments": int(used["has_feedback"].sum()),
        "assignments": frames.assignments,
    }


def data(source: Source) -> Section:
    """What came back, what is simulated, what is left out, what is not done yet."""
    items, wanted, counts = source.frames.items, source.study.ratings_per_item, counted(source)
    section = Section("data", "Data", data=counts)
    section.blocks.append(Facts(data_facts(counts, wanted)))
    if not len(source.frames.ratings):
        section.blocks.insert(0, Note("Nothing was rated yet: there is nothing to compute.", "warning"))
    if not len(items):
        section.blocks.insert(0, Note("The study has no items yet.", "warning"))
    short = items.loc[items["n"] < wanted, ["item", "n"]].sort_values("n", kind="stable")
    counts["incomplete"] = [{"item": item, "n": int(n)} for item, n in short.itertuples(index=False)]
    if len(short):
        more = f"The {MOST_INCOMPLETE} of {len(short):,} with fewest." if len(short) > MOST_INCOMPLETE else ""
        rows = [(item, int(n)) for item, n in short.head(MOST_INCOMPLETE).itertuples(index=False)]
        columns = [Column("Item", "name"), Column(f"Submissions, of {wanted} wanted")]
        section.blocks.append(Table("Items that are not complete", columns, rows, more, fold=True))
    bots = counts["workers_simulated"]
    section.highlights = [
        Highlight("Items", f"{len(items):,}", f"{counts['items_complete']:,} complete"),
        Highlight("Ratings", f"{counts['ratings']:,}", f"{counts['submissions_used']:,} submissions"),
        Highlight("Workers", f"{counts['workers']:,}", f"{bots:,} simulated" if bots else ""),
    ]
    return section


def data_facts(counts: Mapping[str, Any], wanted: int) -> list[tuple[str, object]]:
    states = counts["assignments"]
    names = {"accepted": "in progress", "submitted": "submitted", "returned": "returned", "abandoned": "timed out"}
    assignments = ", ".join(f"{states[state]:,} {name}" for state, name in names.items() if states.get(state))
    return [
        (
            "Items",
            f"{counts['items']:,}: {counts['items_complete']:,} with the {wanted} submissions wanted, "
            f"{counts['items_incomplete']:,} with fewer ({counts['items_without_rating']:,} without any)",
        ),
        (
            "Submissions",
            f"{counts['submissions_used']:,} used, {counts['submissions_simulated']:,} of them simulated; "
            f"{counts['submissions_left_out']:,} left out after review",
        ),
        ("Workers", f"{counts['workers']:,}, {counts['workers_simulated']:,} of them simulated"),
        (
            "Answers",
            f"{counts['ratings']:,} ratings ({counts['ratings_simulated']:,} simulated) and {counts['texts']:,} texts",
        ),
        ("Assignments", assignments or "none"),
        ("Comments in the feedback box", counts["comments"]),
    ]


def wording(source: Source) -> Section:
    """Everything that workers read which is the same for all of them."""
    texts = [("Consent", source.study.consent)] if source.study.consent.strip() else []
    texts += [(name.replace("_", " ").capitalize(), text) for name, text in source.instrument.texts.items()]
    section = Section("wording", "What workers read")
    section.blocks.append(Wording(texts))
    told = []
    for topic, question in source.questions.items():
        if topic in source.unknown:
            continue
        rows = [("Question", question.label)]
        if question.help:
            rows.append(("Help", question.help))
        rows.append((f"Answers, {question.scale.level} scale", answers(question)))
        section.blocks.append(Wording([(f"{topic}: {name}", text) for name, text in rows]))
        told.append({"topic": topic, "label": question.label, "help": question.help, "answers": points(question)})
    section.data = {"consent": source.study.consent, "texts": source.instrument.texts, "questions": told}
    return section


def points(question: Question) -> list[dict[str, Any]]:
    return [{"value": point.value, "label": point.label} for point in question.scale.points]


def answers(question: Question) -> str:
    """The scale from its top down as on the page, or what a text may be."""
    if isinstance(question, TextQuestion):
        most = f", at most {question.max_words}" if question.max_words else ""
        least = "one word" if question.min_words == 1 else f"{question.min_words} words"
        return f"A text of at least {least}{most}."
    if not question.scale.points:
        return f"A number on the scale “{question.scale.name}”."
    return "\n".join(point.text for point in question.scale.points)
