"""The default texts of the four HDS types, and their scales with the published names of the points.

The one-line descriptions of the points are in our words, with the meaning that the paper gives each point (Tevet &
Berant 2021, appendix A): diversity is about how far responses differ. A study can reword everything. ``{response}``,
``{responses}`` and ``{context}`` stand for the words that the generation task uses.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from analysis.description import Scale
from annotation.task_types.wording import TASK_WORDS


def ignore_quality(*, after_warm_up: bool) -> str:
    """The notice on the pages with the set, in words that fit if no warm-up came before."""
    start = "From here on, ignore quality" if after_warm_up else "Ignore quality"
    return (
        f"{start}: it does not matter whether what you read is good, true or well written. "
        "Judge only what is asked below."
    )


QUALITY = Scale.of(
    "quality",
    "ordinal",
    ["Excellent", "Good", "Somewhat", "Poor", "Invalid"],
    half_steps=True,
    descriptions=[
        "A natural {response} that fits the {context} very well.",
        "Fits well, with a small flaw.",
        "Fits in part; something is odd or missing.",
        "Hardly fits, or is hard to understand.",
        "Does not fit at all, or makes no sense.",
    ],
)
DIVERSITY = Scale.of(
    "diversity",
    "ordinal",
    ["Very diverse", "Diverse", "Slightly diverse", "Almost not diverse", "Not diverse at all"],
    half_steps=True,
    descriptions=[
        "The {responses} differ a lot from each other.",
        "The {responses} differ considerably from each other.",
        "The {responses} are alike, but not the same.",
        "The {responses} are nearly the same.",
        "The {responses} are the same.",
    ],
)
RANKING = Scale.of(
    "ranking",
    "ordinal",
    [
        "Set A is much more diverse",
        "Set A is somewhat more diverse",
        "The diversity of both sets is similar",
        "Set B is somewhat more diverse",
        "Set B is much more diverse",
    ],
    half_steps=True,
    descriptions=[
        "The {responses} in A clearly differ more from each other.",
        "The {responses} in A differ a little more from each other.",
        "The {responses} differ from each other about as much in A as in B.",
        "The {responses} in B differ a little more from each other.",
        "The {responses} in B clearly differ more from each other.",
    ],
)
SIMILARITY = Scale.of(
    "similarity",
    "ordinal",
    ["Very similar", "Similar", "Slightly similar", "Almost not similar", "Not similar at all"],
    descriptions=[
        "They are the same, or nearly the same.",
        "They are quite alike.",
        "They are somewhat alike, but not the same.",
        "They are considerably different.",
        "They have nothing to do with each other.",
    ],
)


@lru_cache(maxsize=32)
def scale_for(scale: Scale, generation_task: str) -> Scale:
    """The scale with the words of the generation task in its descriptions, such as endings or replies."""
    words = TASK_WORDS[generation_task]
    return replace(
        scale,
        points=tuple(replace(point, description=point.description.format(**words)) for point in scale.points),
    )
