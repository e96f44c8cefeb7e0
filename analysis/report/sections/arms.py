"""The section of studies with arms: how the arms' scores differ. Source of the method: `analysis.arms`."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

from analysis import plots
from analysis.arms import ArmMeans, arm_means
from analysis.description import Score
from analysis.estimate import Estimate
from analysis.inference import holm
from analysis.report.blocks import Figure, Fold, Heading, Note, Section
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.preference import one_pair
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table
from common.words import counted

MOST_SHOWN = 12


def make_section(source: Source) -> Section:
    """Participants, submissions and times by arm. For each score: each arm's mean over items, and all differences."""
    section = Section(source.key("arms"), "Arms")
    section.add_named("arms", participation(source))
    section.data["scores"] = {}
    scores = [compared_score(source, score) for score in source.scores]
    means = {score.topic: arm_means_of(source, score) for score in scores}
    tests: dict[str, list[dict[str, Any]]] = {
        topic: [
            {
                "first": first,
                "second": second,
                "difference": of_arms.difference(first, second),
                "p": of_arms.p(first, second),
                "p_corrected": math.nan,
            }
            for first, second in combinations(source.arms, 2)
        ]
        for topic, of_arms in means.items()
        if of_arms is not None
    }
    all_tests = [test for tests_on_score in tests.values() for test in tests_on_score]
    for test, p_corrected in zip(all_tests, holm([test["p"] for test in all_tests]).tolist(), strict=True):
        test["p_corrected"] = p_corrected
    evidence = Section("", "", data=section.data)
    for score in scores:
        of_arms = means[score.topic]
        if source.ratings_on(score.topic).empty:
            section.add(Note(f"Nobody has answered “{score.topic}”: the arms cannot be compared on it."))
        elif of_arms is None:
            text = "the arms are compared only where the items name two systems, the same ones everywhere"
            section.add(Note(f"Choices on “{score.topic}”: {text}."))
        else:
            add_score(source, evidence, score, of_arms, tests[score.topic])
    if evidence.blocks:
        section.add(
            Fold(f"Means of every arm on {counted(len(tests), 'question')}, and all differences", list(evidence.parts))
        )
    return section


def participation(source: Source) -> Table:
    used = source.data.used
    arms = []
    for arm in source.description.arms:
        submissions = used[used["arm"] == arm.name]
        arms.append(
            {
                "arm": arm.name,
                "participants": int(submissions["worker"].nunique()),
                "wanted": arm.wanted,
                "submissions": len(submissions),
                "left_out": int((source.data.submissions["arm"] == arm.name).sum()) - len(submissions),
                "median_seconds": float(submissions.loc[~submissions["synthetic"], "seconds"].median()),
            }
        )
    columns = [
        Column("Arm", "name", shows="arm"),
        Column("Participants", shows="participants"),
        Column("Wanted", shows="wanted"),
        Column("Submissions", shows="submissions"),
        Column("Left out", shows="left_out"),
        Column("Median s", digits=1, shows="median_seconds"),
    ]
    note = "Submissions that count, and those that are left out; median time of a whole submission that counts."
    return Table("Participation by arm", columns, arms, note, fold=len(arms) > MOST_SHOWN)


def chooses(source: Source, score: Score) -> bool:
    """Whether answers say which of two texts is better. Which of them an item lists first says nothing."""
    question = source.questions.get(score.topic)
    return question is not None and question.scale.level == "pairwise"


def compared_score(source: Source, score: Score) -> Score:
    """What the arms are compared on: the score, or the share of choices of one of two systems."""
    answers = source.ratings_on(score.topic)
    pair = one_pair(source, answers) if chooses(source, score) and not answers.empty else None
    if pair is None:
        return score
    first, second = pair.iloc[0][["first", "second"]]
    return Score(score.topic, f"{score.topic}: choices of {first}, not {second}")


def arm_means_of(source: Source, score: Score) -> ArmMeans | None:
    """None if nobody has answered the score's question, or choices are not between two systems."""
    choices = chooses(source, score)
    answers = source.ratings_on(score.topic)
    ratings = one_pair(source, answers) if choices and not answers.empty else answers
    if ratings is None or ratings.empty:
        return None
    ends = (0.0, 1.0) if choices else source.ends_of(score.topic)
    bounds = None
    if ends is not None:
        low, high = sorted(score.sign * end for end in ends)
        bounds = (low, high)
    about_items = not source.description.own_work and not source.about_no_item(ratings)
    return arm_means(
        source.in_codes(ratings),
        score,
        arms=source.arms,
        about_items=about_items,
        bounds=bounds,
        dimensions=source.dimensions_of(ratings),
    )


def add_score(source: Source, section: Section, score: Score, of_arms: ArmMeans, tests: list[dict[str, Any]]) -> None:
    """``tests``: the differences between pairs of arms."""
    means = {arm: of_arms.estimate(arm) for arm in source.arms}
    scope = "new items and new workers" if "items" in of_arms.figures.dimensions.codes else "new workers"
    note = (
        f"An arm’s mean is that over the items it rated. Intervals and p are about {scope}; what an item does in one "
        "arm alone counts. Arms that rated different items differ by these too. Holm’s correction is over all scores "
        "and pairs of arms of this section."
    )
    columns = [
        Column("Arms", "text", shows=lambda test: f"{test['first']} − {test['second']}"),
        Column("Difference", shows="difference"),
        Column("p", "p", shows="p"),
        Column("p, Holm", "p", shows="p_corrected"),
        Column("How", "how", shows="difference"),
    ]
    title = f"{score.title}: differences between arms"
    table = Table(title, columns, tests, note)
    section.add(Heading(score.title), means_figure(source, score, means), table)
    section.data["scores"][score.topic] = {
        "title": score.title,
        "means": means,
        "items": of_arms.items,
        "differences": tests,
    }


def means_figure(source: Source, score: Score, means: dict[str, Estimate]) -> Figure:
    title = f"{score.title} by arm"
    words = plots.Words(source.key("arms-plot"), title, values_in_words(means.items()), f"Mean {score.title}")
    bars = interval_bars(means.items(), longest=28)
    svg = plots.intervals(words, bars, limits=plots.padded([end for _, *ends in bars for end in ends]))
    return Figure(svg, f"{title}: mean over items with 95% intervals.", estimates_table(title, means, digits=2))
