"""The threshold of Diversity Threshold Generation from what people wrote.

Source: Stasaski & Hearst 2022, section 5: the 90th percentile of the diversity of human sets.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis.diversity.set_files import read_sets, responses
from generation.diversify.threshold import Metric


def threshold_of_people(path: Path, metric: Metric, percentile: float = 90.0) -> float:
    """The percentile (linear between two sets) of the metric over all sets of a file in the diversity-eval format.

    ValueError: a percentile outside 0 to 100, no sets, or a file that cannot be read.
    """
    if not 0 <= percentile <= 100:
        raise ValueError(f"A percentile is between 0 and 100, not {percentile:g}.")
    sets = responses(read_sets(path), path)
    if not sets:
        raise ValueError(f"{path} has no sets: write one per row, with columns resp_0, resp_1 …")
    return float(np.percentile([metric(texts) for texts in sets], percentile))
