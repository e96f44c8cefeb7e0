"""Zhang et al. 2020: quality of fifteen decoders by the diversity of their texts, and the likelihood trap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.data import StudyData
from bench.papers.drawn import Drawn, description_of, on_scale
from bench.papers.published import Published

#: By family: its five parameters, and the entropy in nats of 30 tokens at each.
DECODERS = {"temperature": ((0.6, 0.7, 0.8, 0.9, 1.0), (32.0, 48.0, 64.0, 80.0, 97.0)),
            "top_k": ((2, 8, 32, 128, 512), (18.0, 42.0, 60.0, 75.0, 89.0)),
            "top_p": ((0.3, 0.46, 0.63, 0.79, 0.95), (14.0, 33.0, 52.0, 70.0, 90.0))}  # fmt: skip
SIZES = {
    "published": {"contexts": 48, "samples": 10, "tasks": 1930, "aa": 150, "inter": 740, "trap": 100},
    "small": {"contexts": 6, "samples": 3, "tasks": 60, "aa": 20, "inter": 60, "trap": 20},
}
TABLES = (
    Published(
        "Figure 1",
        "the likelihood trap: mean rating by log p",
        "likelihood trap",
        "systems",
        "Mean rating of 5 texts with neighbouring log-probabilities",
        "Each point is the mean of five texts, as in the paper; the next file has ten bins with intervals.",
        kind="figure",
    ),
    Published(
        "Figure 1, with intervals",
        "the same in ten bins",
        "likelihood trap",
        "systems",
        "Mean rating by log-probability, with 95%",
        "Intervals are about new contexts and new workers.",
        kind="figure",
    ),
    Published(
        "Figure 1, turning point",
        "where quality falls again",
        "likelihood trap",
        "systems",
        "Tests of a turning point",
        "The paper has no test. The turn has an interval.",
    ),
    Published(
        "Section 4, scores",
        "which system is better, from texts rated together",
        "quality",
        "systems",
        "Scores from texts rated together",
        "Scores with intervals and possible ranks, which the paper does not have.",
    ),
    Published(
        "Figure 2b",
        "quality against entropy, a line for each family of decoders",
        "quality",
        "systems",
        "Quality against diversity",
        "Every system has its name. Entropy is −mean log q in nats, from the items' column log_q.",
        kind="figure",
    ),
    Published(
        "Figure 2b, numbers",
        "the same as a table",
        "quality",
        "systems",
        "Quality against diversity",
        "Entropy, score and mean rating of each system.",
    ),
    Published(
        "Section 4, families",
        "families of decoders",
        "quality",
        "systems",
        "Families of decoders",
        "One family's texts against those of the others.",
    ),
    Published(
        "Appendix A, inter-rater",
        "Fleiss' κ of pairs",
        "inter-rater",
        "systems",
        "Agreement on pairs of texts",
        "Published: 0.1964 over 14,760 pair ratings.",
    ),
    Published(
        "Appendix A, A/A",
        "Cohen's κ of two pools",
        "a-a test",
        "systems",
        "Agreement on pairs of texts",
        "Published: 0.1957 over 2,968 pair ratings.",
    ),
    Published(
        "Appendix A, A/A by time of day",
        "Cohen's κ of people who came earlier and later",
        "inter-rater",
        "systems",
        "Agreement on pairs by time of day",
        "Pools are cut at the median hour of the workers' first submissions; tasks with several raters count.",
    ),
    Published(
        "Appendix A, A/A scores",
        "scores in each pool",
        "a-a test",
        "systems",
        "Scores by pool",
        "Each pool's own comparisons. One pool worked in the morning, the other in the evening.",
    ),
)


def studies(size: str, seed: int) -> Iterator[tuple[str, StudyData]]:
    n = SIZES[size]
    contexts, samples = n["contexts"], n["samples"]
    yield "quality", quality("zhang_quality", contexts, samples, n["tasks"], raters=1, seed=seed)
    yield "inter-rater", quality("zhang_inter_rater", contexts, samples, n["inter"] // 5, raters=5, seed=seed + 1)
    yield "a-a test", quality("zhang_aa", contexts, samples, n["aa"], raters=2, seed=seed + 2)
    yield "likelihood trap", likelihood_trap(max(5, contexts // 4), n["trap"], seed + 3)


def quality(file: str, contexts: int, samples: int, tasks: int, *, raters: int, seed: int) -> StudyData:
    """Tasks of five continuations of one context by five systems, rated from 5 to 1 by 136 workers at most.

    Quality falls with entropy, more for the temperature, and nucleus sampling is a little better at the same entropy.
    """
    rng, study = np.random.default_rng(seed), Drawn(description_of(file))
    systems = {
        f"{family}={value:g}": (family, entropy)
        for family, of in DECODERS.items()
        for value, entropy in zip(*of, strict=True)
    }
    above = {"temperature": -0.15, "top_k": 0.0, "top_p": 0.1}
    merit: dict[str, float] = {}
    for at in range(contexts):
        hardness = rng.normal(0, 0.3)
        for name, (family, entropy) in systems.items():
            for sample in range(samples):
                item, log_q = f"{at}-{name}-{sample}", -entropy + rng.normal(0, 6)
                merit[item] = 4.0 - entropy / 55 + above[family] + hardness + rng.normal(0, 0.5)
                cells = {"system": name, "log_q": f"{log_q:.3f}", "log_prob": f"{log_q - rng.uniform(2, 12):.3f}"}
                study.add_item(item, context=f"Context {at}", texts=[["A text."]], cells=cells)
    arms = [arm.name for arm in study.description.arms] if len(study.description.arms) == 2 else [""]
    leniency = rng.normal(0, 0.5, 136)
    for task in range(tasks):
        chosen = rng.choice(list(systems), 5, replace=False)
        shown = [f"{task % contexts}-{name}-{rng.integers(samples)}" for name in chosen]
        for number, worker in enumerate(pool_of(rng, raters, len(arms))):
            arm = arms[number % len(arms)]
            hour = float(rng.uniform(0, 6) + 9 * (number % len(arms)))
            submission = study.submit(f"worker-{worker}", arm=arm, hit=task + 1, hour=hour)
            for item in shown:
                value = merit[item] + leniency[worker] + rng.normal(0, 0.9)
                study.rate(submission, item, "quality", on_scale(value, 1, 5))
    return study.data


def pool_of(rng: np.random.Generator, raters: int, pools: int) -> list[int]:
    """Different workers for a task; with two pools, one of either, and nobody is in both."""
    if pools == 1:
        return [int(worker) for worker in rng.choice(136, raters, replace=False)]
    return [int(rng.integers(68)) * 2 + pool for pool in range(pools)]


def likelihood_trap(contexts: int, samples: int, seed: int) -> StudyData:
    """``samples`` continuations of each context over the whole range of log p, rated once. Quality rises to a log p of
    −55 and falls towards 0."""
    rng, study = np.random.default_rng(seed), Drawn(description_of("zhang_quality"))
    leniency = rng.normal(0, 0.4, 40)
    for at in range(contexts):
        names = []
        for sample in range(samples):
            log_prob = float(rng.uniform(-150, -5))
            names.append((f"{at}-{sample}", 3.9 - ((log_prob + 55) / 45) ** 2 / 1.2 + rng.normal(0, 0.3)))
            cells = {"system": f"part={sample % 5}", "log_prob": f"{log_prob:.3f}"}
            study.add_item(names[-1][0], context=f"Context {at}", texts=[["A text."]], cells=cells)
        for start in range(0, samples, 5):
            worker = int(rng.integers(40))
            submission = study.submit(f"worker-{worker}")
            for item, quality_of_text in names[start : start + 5]:
                value = quality_of_text + leniency[worker] + rng.normal(0, 0.7)
                study.rate(submission, item, "quality", on_scale(value, 1, 5))
    return study.data
