"""Who took part: what people answered before and after their tasks, and who could not take part because of that."""

from __future__ import annotations

from collections import Counter
from typing import Any

from analysis.description import QuestionDescription
from analysis.factors import questionnaire_levels
from analysis.report.blocks import Facts, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted

REASONS = {
    "screened_out": "screened out by their answers before the first task",
    "not_understood": "failed the comprehension check",
    "not_trained": "failed the training",
}
#: The questionnaires that are about the people.
ABOUT_PEOPLE = ("before", "after")


def make_section(source: Source) -> Section | None:
    """None if nothing was asked around the tasks."""
    description = source.description
    if not description.questionnaires:
        return None
    section = Section(source.key("questionnaires"), "Who took part")
    section.data = {"turned_away": dict(description.turned_away), "tries": tries_of(source), "questions": []}
    section.add(Facts(facts(source)))
    if description.screening:
        conditions = "; ".join(description.screening)
        section.add(Note(f"These answers screened people out: {conditions}. They rated nothing."))
    workers = set(source.data.used["worker"])
    for questionnaire in description.questionnaires:
        if questionnaire.name not in ABOUT_PEOPLE:
            continue
        for question in questionnaire.questions:
            row = answers_to(source, question, workers)
            section.data["questions"].append(row)
            if row["answers"]:
                section.add(table_of(question, row))
    return section


def tries_of(source: Source) -> list[dict[str, Any]]:
    """How many workers took each try at the comprehension check, and how many passed it."""
    rows = source.data.questionnaires
    checks = rows[rows["questionnaire"] == "comprehension"].drop_duplicates(["worker", "attempt"])
    tries = []
    for attempt in sorted(checks["attempt"].astype(int).unique().tolist()):
        of_try = checks[checks["attempt"] == attempt]
        passed = int((of_try["passed"] == "yes").sum())
        tries.append({"attempt": attempt, "workers": len(of_try), "passed": passed})
    return tries


def answers_to(source: Source, question: QuestionDescription, workers: set[str]) -> dict[str, Any]:
    """How many workers of the analysis gave each answer, in the order of the options. Options of a question with
    several choices are counted one by one. Texts are only counted."""
    data = source.data
    rows = data.questionnaires[data.questionnaires["question"] == question.topic]
    rows = rows[rows["worker"].isin(workers)]
    asked = int(rows["worker"].nunique())
    result: dict[str, Any] = {"topic": question.topic, "question": question.label, "workers": asked, "answers": []}
    if question.targets:
        chosen = Counter(rows.loc[rows["value"] == 1, "target"])
        names = {label: chosen[target] for target, label in question.targets.items() if chosen[target]}
    elif question.ratings_scale.points:
        levels = questionnaire_levels(data, question)
        answered = Counter(level for worker, level in levels.items() if worker in workers)
        names = {
            label: answered[label]
            for point in question.ratings_scale.points
            if answered[label := point.label or point.key]
        }
    else:
        return result
    result["answers"] = [
        {"answer": label, "workers": number, "share": number / asked if asked else 0.0}
        for label, number in names.items()
    ]
    return result


def table_of(question: QuestionDescription, row: dict[str, Any]) -> Table:
    columns = [
        Column("Answer", "prose", shows="answer"),
        Column("Workers", shows="workers"),
        Column("Share", shows="share"),
    ]
    note = "A worker can have chosen several." if question.targets else ""
    return Table(question.label, columns, row["answers"], note)


def facts(source: Source) -> list[tuple[str, object]]:
    away, rows = source.description.turned_away, source.data.questionnaires
    simulated = away.get("simulated", 0)
    of_them = f", {simulated:,} of them simulated" if simulated else ""
    turned_away = "; ".join(f"{away[reason]:,} {words}" for reason, words in REASONS.items() if away.get(reason))
    lines: list[tuple[str, object]] = [
        ("Asked", ", ".join(questionnaire.title.lower() for questionnaire in source.description.questionnaires)),
        ("Answered", f"by {counted(int(rows['worker'].nunique()), 'person', 'people')}"),
        ("Turned away", f"{turned_away}{of_them}; none of them rated anything" if turned_away else "nobody"),
    ]
    lines += [
        (
            f"Comprehension check, try {row['attempt']}",
            f"{row['passed']:,} of {counted(row['workers'], 'person', 'people')} passed",
        )
        for row in tries_of(source)
    ]
    return lines


def turned_away_in_words(turned_away: dict[str, int]) -> str:
    """For the list of what figures leave out; empty if nobody was turned away."""
    parts = [f"{turned_away[reason]:,} {words}" for reason, words in REASONS.items() if turned_away.get(reason)]
    people = sum(turned_away.get(reason, 0) for reason in REASONS)
    return f"{counted(people, 'person', 'people')} could not take part: {'; '.join(parts)}." if parts else ""
