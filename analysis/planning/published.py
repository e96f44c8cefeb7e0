"""Variance components from published studies, for researchers without a study of their own to go by.

Computed ones come from public data by ``python -m bench.published_components``. docs/planning.md says more about each.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.planning.components import Components
from analysis.planning.scales import Scale


@dataclass(frozen=True, slots=True)
class Published:
    """Components on their own ``scale``, from ``low`` to ``high``. ``two_kinds``: answers were right or wrong.

    ``caution``: what these figures do not hold.
    """

    name: str
    title: str
    components: Components
    low: float
    high: float
    source: str
    caution: str
    two_kinds: bool = False

    def on(self, scale: Scale) -> Components:
        """On another scale, as the same share of its range. ValueError: answers of two kinds against a longer scale."""
        if self.two_kinds != (scale.points == 2):
            fits = [entry.name for entry in PUBLISHED if entry.two_kinds == (scale.points == 2)]
            kind = "right or wrong answers" if self.two_kinds else "ratings on a longer scale"
            raise ValueError(f"the published variances {self.name} are of {kind}: use {' or '.join(fits)}")
        return self.components.times((scale.range / (self.high - self.low)) ** 2)


CARD = (
    "Card et al. 2020, “With Little Power Comes Great Responsibility”, EMNLP, §5: a setting of the released "
    "simulation, as a share of the scale’s range (power_sim.R in github.com/dallascard/NLP-power-analysis)"
)
CARD_CAUTION = (
    "The authors’ item and worker slopes b, with systems coded −1 and 1, are an interaction variance of 2b² here, "
    "which gives a difference of two systems the same variance."
)
SNOW = (
    "Snow et al. 2008, “Cheap and Fast – But is it Good?”, EMNLP: computed from the released answers of Mechanical "
    "Turk workers"
)
NO_SYSTEMS = "There are no systems in it, so how items and workers interact with systems is in the residual."

PUBLISHED = (
    Published(
        "likert-high",
        "Ratings of generated text, high variance",
        # Standard deviations .04 and .01 (items, workers), slopes .14 and .11, residual .26.
        Components(0.04**2, 0.01**2, 2 * 0.14**2, 2 * 0.11**2, 0.26**2),
        0,
        1,
        CARD,
        CARD_CAUTION,
    ),
    Published(
        "likert-low",
        "Ratings of generated text, low variance",
        # Standard deviations .01 and .01 (items, workers), slopes .13 and .04, residual .16.
        Components(0.01**2, 0.01**2, 2 * 0.13**2, 2 * 0.04**2, 0.16**2),
        0,
        1,
        CARD,
        CARD_CAUTION,
    ),
    Published(
        "diversity",
        "Diversity of sets of responses (absHDS)",
        Components(item_system=0.107, residual=0.660),
        1,
        5,
        "Tevet & Berant 2021, “Evaluating the Evaluation of Diversity”, EACL: computed from the means and standard "
        "deviations of 10 ratings in the released conTest files, within classes, mean of three tasks",
        "The files have no single ratings, so how workers differ is in the residual. That is right for comparisons "
        "within workers; where each worker rates one system, plan with a variance of workers.",
    ),
    Published(
        "similarity",
        "Similarity of two words",
        Components(10.688, 1.283, 0, 0, 3.760),
        0,
        10,
        f"{SNOW} (word similarity: 30 pairs, 10 workers)",
        f"The pairs were chosen to span the scale, so items differ more than usual. {NO_SYSTEMS}",
    ),
    Published(
        "entailment",
        "Right or wrong: does one sentence follow from another?",
        Components(0.0136, 0.0455, 0, 0, 0.1402),
        0,
        1,
        f"{SNOW} (textual entailment: 800 pairs, 10 answers each, 164 workers)",
        NO_SYSTEMS,
        two_kinds=True,
    ),
    Published(
        "temporal",
        "Right or wrong: which of two events comes first?",
        Components(0.0054, 0.0634, 0, 0, 0.1301),
        0,
        1,
        f"{SNOW} (temporal order: 462 pairs, 10 answers each, 76 workers)",
        NO_SYSTEMS,
        two_kinds=True,
    ),
)


def published(name: str) -> Published:
    """ValueError: no such name."""
    for entry in PUBLISHED:
        if entry.name == name:
            return entry
    names = ", ".join(entry.name for entry in PUBLISHED)
    raise ValueError(f"there are no published variances “{name[:40]}”; there are {names}")
