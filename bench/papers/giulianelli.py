"""Giulianelli et al. 2023: how far people's texts for one context differ, and whether decoders' texts differ alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.data import StudyData
from bench.papers.drawn import WORDS, Drawn, description_of
from bench.papers.published import Published

#: People per context in each task of the paper (section 4): translation, simplification, stories, open-domain dialogue.
TASKS = {"translation": 10, "simplification": 10, "story": 10, "dialogue": 5}
#: How closely people of a task say the same: the power of the words' shares. Translations differ least.
ALIKE = {"translation": 3.0, "simplification": 2.5, "story": 0.7, "dialogue": 0.5}
#: By decoder: the power of the words' shares beside people's, and the share of words from elsewhere.
DECODERS = {"ancestral": (0.9, 0.12), "temperature=0.3": (4.0, 0.02), "top_k=30": (1.6, 0.05),
            "nucleus=0.9": (1.2, 0.06), "typical=0.95": (1.1, 0.08)}  # fmt: skip
SIZES = {"published": {"contexts": 200, "samples": 10}, "small": {"contexts": 8, "samples": 5}}

#: What distances are about: words, parts of speech, meaning.
_PROBES = ("lexical", "syntactic", "semantic")
TABLES = (
    *(
        Published(
            f"Figure 2, {task}, {probe}",
            "how far people's texts differ",
            task,
            "variability",
            f"Distance between people’s texts: {probe}",
            "One task per study, so its panels are one file each.",
            kind="figure",
        )
        for task in TASKS
        for probe in _PROBES
    ),
    *(
        Published(
            f"Table of means, {task}",
            "H of people, with intervals over contexts",
            task,
            "variability",
            "How far people’s texts differ",
            "All nine distances.",
        )
        for task in TASKS
    ),
    *(
        Published(
            f"Figure 3, {task}",
            "μM − μH, μC − μH and Wasserstein distances by decoder",
            task,
            "variability",
            "How texts fit people’s variability",
            "The paper draws distributions; the table has their means for all three probes, and the human control "
            "where there are more than five texts by people.",
        )
        for task in TASKS
    ),
    *(
        Published(
            f"Figure 3, {task}, {mean}, {probe}",
            subject,
            task,
            "variability",
            f"{caption}: {probe}",
            "Means over contexts with intervals; the table before has the same figures with the Wasserstein distances.",
            kind="figure",
        )
        for task in TASKS
        for mean, subject, caption in (
            ("μM − μH", "models' variability less people's", "Variability of models less that of people"),
            (
                "μC − μH",
                "models' distance from people less people's",
                "Distance of models from people less that of people",
            ),
        )
        for probe in _PROBES
    ),
    *(
        Published(
            f"Figure 4, {probe}",
            "misfit by decoder",
            "story",
            "variability",
            f"Misfit by decoder: {probe}",
            "Means with intervals.",
            kind="figure",
        )
        for probe in _PROBES
    ),
    *(
        Published(
            f"Figure 5, {decoder}, {probe}",
            "misfit over contexts",
            "dialogue",
            "variability",
            f"Misfit of {decoder}: {probe}",
            "The distribution over single contexts.",
            kind="figure",
        )
        for decoder in ("ancestral", "nucleus=0.9")
        for probe in _PROBES
    ),
    Published(
        "Table 1",
        "contexts with the worst fit, with texts",
        "dialogue",
        "variability",
        "Contexts where ancestral fits worst",
        "Ten contexts per decoder, with one text by each side.",
    ),
)


def studies(size: str, seed: int) -> Iterator[tuple[str, StudyData]]:
    for task in TASKS:
        yield task, productions(task, SIZES[size]["contexts"], SIZES[size]["samples"], seed)


def productions(task: str, contexts: int, samples: int, seed: int) -> StudyData:
    """Texts by people for every context, and as many by each decoder in the columns ``text:DECODER:NUMBER``."""
    people = TASKS[task]
    rng = np.random.default_rng([seed, list(TASKS).index(task)])
    described = description_of("giulianelli_production", ratings_per_item=people, title=f"Human production: {task}")
    study = Drawn(described)
    writers: dict[int, int] = {}
    for at in range(contexts):
        shares = rng.dirichlet(np.full(len(WORDS), 0.4))

        def write(power: float, elsewhere: float, shares: np.ndarray = shares) -> str:
            weights = shares**power / (shares**power).sum()
            own = rng.choice(len(WORDS), int(rng.integers(7, 13)), p=weights)
            other = rng.integers(len(WORDS), size=len(own))
            words = np.where(rng.random(len(own)) < elsewhere, other, own)
            return " ".join(WORDS[int(word)] for word in words).capitalize() + "."

        cells = {
            f"text:{name}:{number}": write(ALIKE[task] * power, elsewhere)
            for name, (power, elsewhere) in DECODERS.items()
            for number in range(1, samples + 1)
        }
        study.add_item(f"c{at}", context=write(0.5, 0.2), cells=cells)
        for person in range(people):
            worker = (at + person * 7) % (3 * people)
            if worker not in writers:
                writers[worker] = study.submit(f"writer-{worker}")
            study.write(writers[worker], f"c{at}", "response", write(ALIKE[task], 0.0))
    return study.data
