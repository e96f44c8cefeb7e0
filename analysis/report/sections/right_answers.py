"""Right answers: who passed the training, and how many people had each gold, attention and training item right.

Shares are of people or submissions, each of which counts once, so Wilson's interval fits (Wilson 1927). Answers to
items that explain count as they were before the explanation.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis.estimate import Estimate, wilson
from analysis.quality_control.answer_rules import Rated
from analysis.quality_control.work import Check, first_answers
from analysis.report.blocks import Facts, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted

LEVEL = 0.95
TITLES = {"training": "Items of the training", "gold": "Gold items", "attention": "Attention checks"}
#: Whose page comes back with an explanation.
MODES = {"gold": "gold_mode", "attention": "attention_mode"}


def make_section(source: Source) -> Section | None:
    """None without items that have right answers."""
    checks = checks_of(source)
    if not checks:
        return None
    section = Section(source.key("right_answers"), "Right answers")
    rounds = rounds_of(source) if source.description.training else []
    rows = {role: item_rows(source, role, checks) for role in TITLES}
    section.data = {"rounds": rounds, "training": training_in_numbers(source, rounds), "items": rows}
    if source.description.training:
        section.add(Facts(training_facts(source)))
        section.add(rounds_table(rounds))
    for role, of_role in rows.items():
        if of_role:
            section.add(items_table(source, role, of_role))
    section.add(
        Note(
            "An item is right for a person if all their answers to it are that can be wrong. These figures cover "
            "everybody, also those whom other figures leave out."
        )
    )
    return section


def checks_of(source: Source) -> dict[str, Check]:
    items = source.data.items
    stored = zip(items["item"], items["check"], strict=True)
    return {item: check for item, answers in stored if (check := Check.of(answers)) is not None}


def share(right: int, n: int, n_of: str) -> Estimate:
    if not n:
        return Estimate(math.nan, n_of=n_of, note="nobody has answered")
    low, high = wilson(right / n, n, LEVEL)
    return Estimate(right / n, low, high, n, n_of, level=LEVEL, method="Wilson score")


# --- the training ---


def training_tries(source: Source) -> pd.DataFrame:
    tries = source.data.tries
    return tries[tries["role"] == "training"]


def rounds_of(source: Source) -> list[dict[str, Any]]:
    """For each round, who finished it, who passed it, and the share of those."""
    tries = training_tries(source)
    ended = tries[tries["passed"] != ""].drop_duplicates(["worker", "attempt"])
    rounds = []
    for attempt in sorted(ended["attempt"].astype(int).unique().tolist()):
        of_round = ended[ended["attempt"] == attempt]
        passed = int((of_round["passed"] == "yes").sum())
        rounds.append(
            {
                "attempt": attempt,
                "workers": len(of_round),
                "passed": passed,
                "share": share(passed, len(of_round), "people"),
            }
        )
    return rounds


def training_in_numbers(source: Source, rounds: list[dict[str, Any]]) -> dict[str, Any] | None:
    training = source.description.training
    if training is None:
        return None
    began = int(training_tries(source)["worker"].nunique())
    passed = sum(row["passed"] for row in rounds)
    failed = source.description.turned_away.get("not_trained", 0)
    return {
        "items": training.items,
        "needed": training.needed,
        "tries": training.tries,
        "began": began,
        "passed": passed,
        "failed": failed,
        "unfinished": max(0, began - passed - failed),
        "skipped": training.skipped,
    }


def training_facts(source: Source) -> list[tuple[str, object]]:
    numbers = training_in_numbers(source, rounds_of(source))
    training = source.description.training
    if numbers is None or training is None:
        return []
    needed = f"{numbers['needed']} of {counted(numbers['items'], 'item')} right, in {counted(training.tries, 'try')}"
    lines: list[tuple[str, object]] = [
        ("Training", needed),
        ("Began it", counted(numbers["began"], "person", "people")),
        ("Passed", counted(numbers["passed"], "person", "people")),
        ("Left out after the last try", counted(numbers["failed"], "person", "people")),
    ]
    if numbers["unfinished"]:
        lines.append(("Did not finish it", counted(numbers["unfinished"], "person", "people")))
    if training.skip_if_passed:
        where = ", ".join(training.skip_if_passed)
        lines.append((f"Had passed that of {where}", counted(numbers["skipped"], "person", "people")))
    return lines


def rounds_table(rounds: list[dict[str, Any]]) -> Table:
    columns = [
        Column("Try", shows="attempt"),
        Column("People", shows="workers"),
        Column("Passed", shows="passed"),
        Column("Share", shows="share"),
    ]
    return Table("Who passed the training", columns, rounds, "With Wilson's 95% interval.")


# --- items ---


def item_rows(source: Source, role: str, checks: dict[str, Check]) -> list[dict[str, Any]]:
    """Each item of a role: how many people answered it, and had all of it right at their first try and at the next."""
    verdicts = training_verdicts(source) if role == "training" else task_verdicts(source, checks)
    return [
        {
            "item": item,
            "n": len(first := verdicts.get((item, 1), [])),
            "right": sum(first),
            "share": share(sum(first), len(first), "people" if role == "training" else "submissions"),
            "again": len(again := verdicts.get((item, 2), [])),
            "again_right": sum(again),
            "share_again": share(sum(again), len(again), "people") if again else None,
        }
        for item, check in checks.items()
        if check.role == role
    ]


def training_verdicts(source: Source) -> dict[tuple[str, int], list[bool]]:
    """By item and round, whether each person had all of it right."""
    tries = training_tries(source)
    judged = tries[tries["right"] != ""]
    verdicts: dict[tuple[str, int], list[bool]] = {}
    whole: dict[tuple[str, int, str], bool] = {}
    for item, attempt, worker, right in judged[["item", "attempt", "worker", "right"]].itertuples(
        index=False, name=None
    ):
        person = (item, int(attempt), worker)
        whole[person] = whole.get(person, True) and right == "yes"
    for (item, attempt, _), is_right in whole.items():
        verdicts.setdefault((item, attempt), []).append(is_right)
    return verdicts


def task_verdicts(source: Source, checks: dict[str, Check]) -> dict[tuple[str, int], list[bool]]:
    """By item and try, whether each submission had all of it right: 1 for first answers, and 2 for those after an
    explanation, where the page came back with one."""
    data = source.data
    rows = data.all_ratings[data.all_ratings["item"].isin(checks)]
    columns = rows[["submission", "item", "question", "target", "value", "text"]]
    together: dict[tuple[int, str], list[Rated]] = {}
    for submission, item, topic, target, value, text in columns.itertuples(index=False, name=None):
        rated = Rated(topic, target, None if math.isnan(value) else value, text)
        together.setdefault((submission, item), []).append(rated)
    verdicts: dict[tuple[str, int], list[bool]] = {}
    for (submission, item), rated_rows in together.items():
        tries = data.tries_of_tasks.get((submission, item), [])
        if first := checks[item].verdicts(first_answers(rated_rows, tries)):
            verdicts.setdefault((item, 1), []).append(all(first))
        if any(attempt == 2 for attempt, _ in tries) and (last := checks[item].verdicts(rated_rows)):
            verdicts.setdefault((item, 2), []).append(all(last))
    return verdicts


def items_table(source: Source, role: str, rows: list[dict[str, Any]]) -> Table:
    training = source.description.training
    several = training is not None and training.tries > 1
    explains = source.description.quality_control.get(MODES.get(role, "")) == "loud"
    columns = [
        Column("Item", "name", shows="item"),
        Column("People" if role == "training" else "Submissions", shows="n"),
        Column("Right", shows="right"),
        Column("Share", shows="share"),
    ]
    note = "With Wilson's 95% interval."
    if explains or (role == "training" and several):
        title = "After the explanation" if explains else "Share in the second try"
        columns.append(Column(title, shows="share_again"))
    if explains:
        note += (
            " A wrong answer brought the page back once with an explanation. “Right” and “Share” are the first "
            "answers; the data have the last ones."
        )
    return Table(TITLES[role], columns, rows, note)
