"""Judges, such as language models, beside people: how well they agree with them, and estimates that use both."""

from analysis.judges.alignment import (
    AlternativeTest,
    alternative_annotator_test,
    equal_with_the_others,
    equal_with_the_people,
    with_the_others,
    with_the_people,
)
from analysis.judges.biases import PositionBias, length_bias, own_texts_bias, position_bias
from analysis.judges.calibration import Calibration, calibration
from analysis.judges.planning import JudgedDesign, items_needed, worth_correlation
from analysis.judges.powered import PoweredLevel, PoweredLevels, powered_levels

__all__ = [
    "AlternativeTest",
    "Calibration",
    "JudgedDesign",
    "PositionBias",
    "PoweredLevel",
    "PoweredLevels",
    "alternative_annotator_test",
    "calibration",
    "equal_with_the_others",
    "equal_with_the_people",
    "items_needed",
    "length_bias",
    "own_texts_bias",
    "position_bias",
    "powered_levels",
    "with_the_others",
    "with_the_people",
    "worth_correlation",
]
