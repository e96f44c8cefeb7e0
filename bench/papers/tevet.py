"""Tevet & Berant 2021: do people's scores and automatic metrics follow the diversity of sets?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.data import StudyData
from bench.papers.drawn import WORDS, Drawn, description_of, on_scale, sentence
from bench.papers.published import Published

TASKS = {"story": "story_gen", "response": "resp_gen", "prompt": "prompt_gen"}
SIZES = {"published": {"sets": 200, "ratings": 10}, "small": {"sets": 24, "ratings": 4}}
#: A set of a context: its texts, the true absHDS, and metrics of a file.
Sets = list[tuple[str, str, float, list[str], float, dict[str, float]]]

TABLES = (
    *(
        Published(
            f"decTest, {task}",
            "ρ of absHDS and metrics with the temperature",
            f"decTest {task}",
            "diversity",
            "Scores against temperature",
            "A column of the paper's table per file. ρ has an interval.",
        )
        for task in TASKS
    ),
    *(
        Published(
            f"decTest figure, {task}",
            "scores by temperature",
            f"decTest {task}",
            "diversity",
            "absHDS against temperature",
            "One panel per file.",
            kind="figure",
        )
        for task in TASKS
    ),
    *(
        Published(
            f"Table 5, {task}",
            "conTest: ρ and OCA of people and of every metric",
            f"conTest {task}",
            "diversity",
            "Scores against content_diversity",
            "The paper prints two decimals without intervals. Neural metrics are columns of the items' file "
            "(`python -m analysis diversity --metric …`).",
        )
        for task in TASKS
    ),
    Published(
        "Table 5, simHDS",
        "the same from similarity of pairs",
        "simHDS",
        "diversity",
        "Scores against content_diversity",
        "The score is minus the mean similarity of all pairs.",
    ),
    Published(
        "Table 5, aspHDS",
        "the same about one aspect",
        "aspHDS",
        "diversity",
        "Scores against content_diversity",
        "Content is the aspect here.",
    ),
    Published(
        "Table 5, rnkHDS",
        "which of two sets is more diverse",
        "rnkHDS",
        "diversity",
        "Scores against content_diversity",
        "ρ over both orders of each pair, and the accuracy of the sign; metrics by their differences.",
    ),
)


def studies(size: str, seed: int, released: Path | None = None) -> Iterator[tuple[str, StudyData]]:
    many, ratings = SIZES[size]["sets"], SIZES[size]["ratings"]
    tested: dict[str, Sets] = {}
    for task in TASKS:
        tested[f"decTest {task}"] = sets_of("decTest", task, many, seed, released)
        tested[f"conTest {task}"] = sets_of("conTest", task, many, seed, released)
    for name, sets in tested.items():
        yield name, rated("tevet_abs_hds", name, sets, ratings, seed)
    yield "simHDS", rated("tevet_sim_hds", "conTest response", tested["conTest response"], ratings, seed)
    yield "aspHDS", rated("tevet_asp_hds", "conTest response", tested["conTest response"], ratings, seed)
    yield "rnkHDS", ranked(tested["conTest response"], ratings, seed)


def sets_of(test: str, task: str, many: int, seed: int, released: Path | None) -> Sets:
    """The released sets with the released mean scores as truth, or made-up ones."""
    if released is not None:
        stem = {"conTest": "con_test", "decTest": "dec_test"}[test]
        frame = pd.read_csv(released / test / f"{stem}_200_with_hds_{TASKS[task]}.csv", keep_default_na=False)
        columns = [name for name in map(str, frame.columns) if name.startswith("resp_")]
        metrics = {
            name: name.removeprefix("metric_") for name in ("metric_BertScore", "metric_SentBert") if name in frame
        }
        return [
            (row["sample_id"], row["context"], float(row["label_value"]), [str(row[name]) for name in columns],
             float(row["metric_abs_hds_mean"]), {key: float(row[name]) for name, key in metrics.items()})
            for row in (frame if many >= SIZES["published"]["sets"] else frame.head(many)).to_dict("records")
        ]  # fmt: skip
    rng, words = np.random.default_rng([seed, len(test), list(TASKS).index(task)]), random.Random(f"{seed}{test}{task}")
    sets: Sets = []
    for at in range(many):
        label = float(at % 2) if test == "conTest" else round(0.2 + at // 2 % 100 / 100, 2)
        spread = 0.25 + (0.35 * label if test == "conTest" else 0.6 * (label - 0.2)) + rng.normal(0, 0.16)
        shared = words.sample(WORDS, 6)
        texts = [
            sentence(words, 8, [*shared * 3, *words.sample(WORDS, int(np.clip(spread, 0.02, 1) * 40))])
            for _ in range(5 if test == "conTest" else 10)
        ]
        context = f"Context {at // 2}" if test == "conTest" else f"Context {at}"
        sets.append((f"{task}-{at}", context, label, texts, 1 + 4 * float(np.clip(spread, 0, 1)), {}))
    return sets


def rated(file: str, name: str, sets: Sets, ratings: int, seed: int) -> StudyData:
    """``ratings`` people rate each set in half steps; of simHDS, every pair of its texts."""
    rng, study = np.random.default_rng([seed, len(file)]), Drawn(description_of(file, title=name))
    label = "content_diversity" if name.startswith("conTest") else "temperature"
    leniency = rng.normal(0, 0.3, 60)
    for number, (item, context, value, texts, truth, metrics) in enumerate(sets):
        key = f"{number}-{item}"  # a released id may have several sets of one label
        study.add_item(key, context=context, texts=[texts], parameter=(label, value), metrics=metrics)
        for worker in rng.choice(60, ratings, replace=False):
            submission, felt = study.submit(f"worker-{worker}"), truth + leniency[worker]
            if "similarity" not in study.scales:
                study.rate(submission, key, "diversity", on_scale(felt + rng.normal(0, 0.7), 1, 5, step=0.5))
                continue
            for left in range(len(texts)):
                for right in range(left + 1, len(texts)):
                    score = on_scale(6 - felt + rng.normal(0, 0.8), 1, 5)
                    study.rate(submission, key, "similarity", score, target=f"{left}-{right}")
    return study.data


def ranked(sets: Sets, ratings: int, seed: int) -> StudyData:
    """People say which of two sets of one context is more diverse."""
    rng, study = np.random.default_rng([seed, 9]), Drawn(description_of("tevet_rnk_hds"))
    by_context: dict[str, Sets] = {}
    for one in sets:
        by_context.setdefault(one[1], []).append(one)
    for number, (context, of_context) in enumerate(by_context.items()):
        if len(of_context) < 2:
            continue
        first, second = of_context[:2] if number % 2 else of_context[1::-1]
        parameter = ("content_diversity (set 1 − set 2)", first[2] - second[2])
        study.add_item(f"pair-{number}", context=context, texts=[first[3], second[3]], parameter=parameter,
                       metrics={name: first[5][name] - second[5][name] for name in first[5]})  # fmt: skip
        for worker in rng.choice(60, ratings, replace=False):
            value = 3 + 0.6 * (first[4] - second[4]) + rng.normal(0, 0.8)
            study.rate(study.submit(f"worker-{worker}"), f"pair-{number}", "ranking", on_scale(value, 1, 5, step=0.5))
    return study.data
