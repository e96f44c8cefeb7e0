"""Studies of published designs, simulated with known effects and without the analysis.

Everything varies that varies in real studies: texts differ in how hard they are, and people in how well they judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.data import StudyData, make_study_data
from analysis.description import Point, QuestionDescription, ReportSection, Scale
from tests.analysis.support.judged import DETECTION, QUALITY, an_item, rated_together
from tests.analysis.support.studies import LIKERT, NOON, SEVEN_POINTS, TEXTS_ONLY, a_set, arm, describe, study_data

CHOSEN = Scale("chosen", "nominal", (Point(1.0, "chosen"), Point(0.0, "not chosen")))
AGAIN = Scale.of("use_again", "nominal", ["As they are", "If better", "In another way", "No"])
DOMAINS = ("story", "news", "recipe")
MODELS = ("GPT2", "GPT3")
TRAININGS = ("none", "instructions", "examples", "comparison")
#: Log odds of a right answer: of GPT-2's texts without training, and of GPT-3's by training.
SKILL = {("none", "GPT2"): 0.35, ("none", "GPT3"): 0.0, ("instructions", "GPT3"): 0.05,
         ("examples", "GPT3"): 0.25, ("comparison", "GPT3"): 0.2}  # fmt: skip


def detection_study(*, workers: int = 130, texts: int = 50, seed: int = 1) -> StudyData:
    """Clark 2021, ch. 6: 15 cells of ``workers`` workers, each with five texts of one domain by people and one model.

    Six cells without training, three domains and two models; nine with a training, with texts by GPT-3. An arm is a
    cell, told by its factors.
    """
    rng = np.random.default_rng(seed)
    sources = {(domain, source): [f"{domain}-{source}-{at}" for at in range(texts)]
               for domain in DOMAINS for source in ("human", *MODELS)}  # fmt: skip
    items = [
        an_item(name, context="", source=source, domain=domain)
        for (domain, source), names in sources.items()
        for name in names
    ]
    hardness = {item["item"]: rng.normal(0, 0.5) for item in items}
    cells = [(training, model, domain) for training, model in SKILL for domain in DOMAINS]
    submissions: list[tuple[str, int, dict[str, float]]] = []
    arm_of: dict[str, str] = {}
    for training, model, domain in cells:
        for number in range(workers):
            worker, machine_texts = f"{training}-{model}-{domain}-{number}", 2 + number % 2
            ability = rng.normal(0, 0.4)
            chosen = [*rng.choice(sources[domain, model], machine_texts, replace=False),
                      *rng.choice(sources[domain, "human"], 5 - machine_texts, replace=False)]  # fmt: skip
            answers: dict[str, float] = {}
            for text in map(str, chosen):
                skill = SKILL[training, model] + ability - hardness[text]
                right = rng.random() < 1 / (1 + np.exp(-skill))
                machine = right == (model in text)
                answers[text] = float(rng.choice([3, 4], p=[0.6, 0.4]) if machine else rng.choice([1, 2], p=[0.4, 0.6]))
            arm_of[worker] = f"{training}-{model}-{domain}"
            submissions.append((worker, len(submissions) + 1, answers))
    arms = tuple(
        arm(f"{training}-{model}-{domain}", factors={"training": training, "model": model, "domain": domain})
        for training, model, domain in cells
    )
    return rated_together(items, submissions, arm_of=arm_of, arms=arms, **DETECTION)


def frame_of(data: StudyData) -> Any:
    """The ratings with the items' cells and the arms' factors as columns, joined here and not by the analysis."""
    import pandas as pd

    cells = pd.DataFrame(list(data.items["cells"]), index=data.items["item"])
    rows = data.ratings.drop(columns=[name for name in cells if name in data.ratings]).join(cells, on="item")
    factors = pd.DataFrame([dict(one.factors) for one in data.description.arms],
                           index=[one.name for one in data.description.arms])  # fmt: skip
    if len(factors.columns):
        rows = rows.join(factors.add_prefix("arm_"), on="arm")
    return rows


#: Share of comments that mention each category, by training: people look at content more after examples.
MENTIONS = {"none": (0.5, 0.25, 0.3), "examples": (0.35, 0.55, 0.2)}
CATEGORIES = {"Form": ("grammar", "level"), "Content": ("repetition", "factuality"), "Machine": ("intent",)}


def coding_study(*, comments: int = 150, seed: int = 2) -> StudyData:
    """Clark 2021, Table 6.3: two coders label comments by workers of two trainings, in three domains."""
    rng = np.random.default_rng(seed)
    targets = {label: label.capitalize() for labels in CATEGORIES.values() for label in labels} | {"vague": "Vague"}
    question = QuestionDescription("labels", "Which labels apply?", CHOSEN, "choices", targets=targets)
    items: list[dict[str, Any]] = []
    answers: dict[str, dict[str, dict[str, float]]] = {"x": {}, "y": {}}
    for training, mentions in MENTIONS.items():
        for at in range(comments):
            name = f"{training}-{at}"
            cells = {"domain": DOMAINS[at % 3], "from:arm": f"{training}-{DOMAINS[at % 3]}", "from:training": training}
            items.append(an_item(name, context="", **cells))
            true = {str(rng.choice(labels)) for labels, share in zip(CATEGORIES.values(), mentions, strict=True)
                    if rng.random() < share} or {"vague"}  # fmt: skip
            for coder in answers:
                seen = {label for label in targets if (label in true) != (rng.random() < 0.04)} or {"vague"}
                answers[coder][name] = {label: float(label in seen) for label in targets}
    sections = (ReportSection("coding", {"topic": "labels", "null_labels": ["vague"], "categories": dict(CATEGORIES)}),)
    submissions = [(coder, number, rows) for number, (coder, rows) in enumerate(answers.items(), start=1)]
    return rated_together(
        items, submissions, task_type="comment_coding", questions=(question,), scores=(), sections=sections
    )


#: Words of every context for people, and how much more often a decoder takes the most frequent ones.
VOCABULARY, PEAKED = 30, {"like people": 1.0, "narrow": 4.0}


def production_study(*, contexts: int = 40, people: int = 8, samples: int = 8, seed: int = 3) -> StudyData:
    """Giulianelli et al. 2023: ``people`` replies to every context, with ``samples`` by each of three decoders.

    One decoder draws words as people do, one too narrowly, and one uses other words.
    """
    rng = np.random.default_rng(seed)
    items: list[dict[str, Any]] = []
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for at in range(contexts):
        own = [f"w{at}x{number}" for number in range(VOCABULARY)]
        shares = rng.dirichlet(np.full(VOCABULARY, 0.8))

        def write(words: list[str], power: float, shares: Any = shares) -> str:
            weights = shares**power / (shares**power).sum()
            return " ".join(map(str, rng.choice(words, 8, p=weights)))

        cells = {"sample_id": f"c{at}"}
        for number in range(1, samples + 1):
            cells |= {f"text:{name}:{number}": write(own, power) for name, power in PEAKED.items()}
            cells[f"text:off topic:{number}"] = write([f"other{word}" for word in range(VOCABULARY)], 1.0)
        items.append(a_set(f"c{at}", context=f"What about {at}?", responses=[], cells=cells))
        for person in range(people):
            texts[f"c{at}", f"w{(at + person) % 20}"] = {"own": write(own, 1.0)}
    sections = (ReportSection("variability"),)
    return study_data(items, texts=texts, **(TEXTS_ONLY | {"sections": sections, "own_work": True}))


#: Zhang et al. 2020: true quality of a system by its entropy in nats. Nucleus sampling is best at low entropy only.
SYSTEMS = {"top_p=0.3": (0.8, 10.0), "top_p=0.7": (0.6, 25.0), "top_k=10": (0.45, 14.0), "top_k=100": (0.3, 40.0),
           "temperature=0.5": (0.4, 20.0), "temperature=1.0": (-1.0, 60.0)}  # fmt: skip


def quality_study(*, contexts: int = 24, workers: int = 40, tasks: int = 480, seed: int = 4) -> StudyData:
    """Zhang et al. 2020: tasks of five continuations of one context by five systems, rated 1 to 5, in two pools.

    A text's quality falls where it is very likely or very unlikely (the likelihood trap).
    """
    rng = np.random.default_rng(seed)
    names = list(SYSTEMS)
    items: list[dict[str, Any]] = []
    quality: dict[str, float] = {}
    for at in range(contexts):
        hardness = rng.normal(0, 0.3)
        for name, (level, entropy) in SYSTEMS.items():
            for sample in range(3):
                item, log_prob = f"{at}-{name}-{sample}", -entropy * rng.uniform(0.7, 1.4)
                quality[item] = 3 + level + hardness + rng.normal(0, 0.3) - ((log_prob + 25) / 25) ** 2
                cells = {"system": name, "log_prob": f"{log_prob:.3f}", "log_q": f"{-entropy + rng.normal(0, 1):.3f}"}
                items.append(an_item(item, context=f"context {at}", **cells))
    leniency = rng.normal(0, 0.4, workers)
    submissions: list[tuple[str, int, dict[str, float]]] = []
    for task in range(tasks):
        shown = [f"{task % contexts}-{name}-{rng.integers(3)}" for name in rng.choice(names, 5, replace=False)]
        for pool in (0, 1):
            worker = int(rng.integers(workers // 2)) * 2 + pool
            values = {item: float(np.clip(round(quality[item] + leniency[worker] + rng.normal(0, 0.8)), 1, 5))
                      for item in map(str, shown)}  # fmt: skip
            submissions.append((f"w{worker}", task, values))
    arm_of = {f"w{worker}": f"pool {worker % 2 + 1}" for worker in range(workers)}
    return rated_together(items, submissions, arm_of=arm_of, arms=(arm("pool 1"), arm("pool 2")), **QUALITY)


#: How much writers with suggestions differ on each statement, in points of the scale.
WRITERS = {"creative": 0.9, "coherent": 0.0}
SEVEN = {"creative": "This story is creative.", "coherent": "This story is coherent."}


def writing_study(*, writers: int = 30, seed: int = 5) -> StudyData:
    """Clark 2021, ch. 2: writers alone or with a machine in the loop rate their three stories, and say at the end
    whether they would use suggestions again."""
    rng = np.random.default_rng(seed)
    questions = (
        *(QuestionDescription(topic, text, SEVEN_POINTS) for topic, text in SEVEN.items()),
        QuestionDescription("use_again", "Would you use such suggestions again?", AGAIN, "choice"),
    )
    items = [a_set(f"p{at}", context=f"prompt {at}", responses=[]) for at in range(3)]
    submissions: list[tuple[Any, ...]] = []
    ratings: list[tuple[Any, ...]] = []
    for at in range(2 * writers):
        name, mil = f"w{at}", at % 2 == 1
        submissions.append((at + 1, name, False, "", "mil" if mil else "solo", at + 1, 600.0, NOON, False, "", "5"))
        taste = rng.normal(0, 0.7)
        for item in items:
            for topic, effect in WRITERS.items():
                value = np.clip(round(4 + effect * mil + taste + rng.normal(0, 0.8)), 1, 7)
                ratings.append((at + 1, item["item"], topic, "", "agree", float(value), "", 5.0))
        if mil:
            again = float(rng.choice([4, 3, 2, 1], p=[0.3, 0.4, 0.2, 0.1]))
            ratings.append((at + 1, "", "use_again", "", "use_again", again, "", 5.0))
    topics = {"topics": list(SEVEN)}
    description = describe(
        task_type="mil_story",
        own_work=True,
        questions=questions,
        scores=(),
        sections=(ReportSection("scales", topics | {"by": "arm"}), ReportSection("arm_tests", topics)),
        arms=(arm("solo"), arm("mil")),
    )
    return make_study_data(description, items=items, submissions=submissions, ratings=ratings)


def judged_stories(*, stories: int = 40, workers: int = 18, seed: int = 6) -> StudyData:
    """Third parties rate the stories of both arms, nine each, without knowing the arm (Clark 2021, §2.6)."""
    rng = np.random.default_rng(seed)
    items = [
        a_set(f"s{at}", context=f"prompt {at % 8}", cells={"from:arm": ("solo", "mil")[at // 8 % 2]})
        for at in range(stories)
    ]
    leniency, merit = rng.normal(0, 0.5, workers), rng.normal(0, 0.4, stories)
    values = {
        (f"s{at}", f"j{judge}"): float(np.clip(round(4 + 0.8 * (at // 8 % 2) + merit[at] + leniency[judge]
                                                     + rng.normal(0, 0.8)), 1, 7))
        for at in range(stories)
        for judge in rng.choice(workers, 9, replace=False)
    }  # fmt: skip
    return study_data(
        items, values, **(LIKERT | {"sections": (ReportSection("scales"), ReportSection("origin_tests"))})
    )
