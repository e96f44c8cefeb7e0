"""How far writers change a suggestion: the text as it was suggested against the text as it was submitted.

Source: Clark 2021, ch. 4.5 (edit distance in characters, Jaccard similarity and USER, both ×100); USER from Akoury et
al. 2020, §5. Larger distance and smaller similarity mean more change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import scipy
from numpy.typing import ArrayLike

_WORD = re.compile(r"[^\W_]+")
#: English function words (articles, pronouns, auxiliaries, prepositions, conjunctions, adverbs of place, time and
#: degree) and the pieces that remain of contractions. A block of only these does not count as a match in USER.
_STOP_WORDS = """
a an the this that these those some any each every no all both either neither such i me my mine myself you your
yours yourself yourselves he him his himself she her hers herself it its itself we us our ours ourselves they
them their theirs themselves who whom whose which what one am is are was were be been being have has had having
do does did doing will would shall should can could may might must ought of at by for with about against between
into through during before after above below to from up down in out on off over under upon within without and
but if or because as until while nor so than then too very not only just once again further here there when
where why how now also s t d m o ll re ve y don didn doesn isn aren wasn weren hasn haven hadn won wouldn
shouldn couldn mustn needn ain
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Edit:
    """What one edit changed: ``levenshtein`` in characters, ``jaccard`` and ``user`` from 0 to 100."""

    levenshtein: int
    jaccard: float
    user: float


@dataclass(frozen=True, slots=True)
class Shift:
    """Mann–Whitney U of the first of two samples (``n_first``, ``n_second``) and its two-sided p.

    ``above`` is U / (n_first · n_second): how likely a value of the first is above one of the second; a tie counts one
    half.
    """

    u: float
    p: float
    above: float
    n_first: int
    n_second: int


def edit_of(suggested: str, submitted: str) -> Edit:
    """All three measures of one accepted suggestion."""
    distance = levenshtein(suggested, submitted)
    return Edit(distance, jaccard(suggested, submitted), user_score(suggested, submitted))


def levenshtein(first: Sequence[object], second: Sequence[object]) -> int:
    """Fewest insertions, deletions and substitutions of one element (for strings: Unicode code points) between them.

    Bit-parallel (Myers 1999, in the form of Hyyrö 2003): a column of the table of distances is one Python integer.
    """
    if len(first) < len(second):
        first, second = second, first
    if not second:
        return len(first)
    positions_of: dict[object, int] = {}
    for position, element in enumerate(second):
        positions_of[element] = positions_of.get(element, 0) | 1 << position
    every, last = (1 << len(second)) - 1, 1 << (len(second) - 1)
    up, down, distance = every, 0, len(second)
    for element in first:
        same = positions_of.get(element, 0)
        level = (((same & up) + up) ^ up) | same | down
        right, left = down | (every & ~(level | up)), up & level
        distance += bool(right & last) - bool(left & last)
        right, left = (right << 1 | 1) & every, left << 1 & every
        up, down = left | (every & ~(level | right)), right & level
    return distance


def jaccard(first: str, second: str) -> float:
    """100 × shared / all different tokens, split on white space, case and punctuation kept. NaN if both have none."""
    left, right = set(first.split()), set(second.split())
    return 100 * len(left & right) / len(left | right) if left | right else math.nan


def user_score(suggested: str, submitted: str) -> float:
    """USER × 100: F1 of the tokens in blocks that both texts share. A block of stop words alone does not count.

    Tokens are runs of letters and digits in lower case. Blocks are found longest first, then on either side of each
    (Ratcliff & Metzener 1988, Python's ``difflib`` without its rule for frequent elements), so words that changed
    places match only once. 0 if one text has no token or nothing matches, NaN if neither has a token.
    """
    left, right = _WORD.findall(suggested.casefold()), _WORD.findall(submitted.casefold())
    if not left and not right:
        return math.nan
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    counted = sum(
        block.size for block in blocks if any(word not in STOP_WORDS for word in left[block.a : block.a + block.size])
    )
    return 200 * counted / (len(left) + len(right))


def mann_whitney(first: ArrayLike, second: ArrayLike) -> Shift:
    """Mann–Whitney U of two samples, (n,) and (m,), two-sided; NaN values are left out.

    SciPy decides between the exact and the normal distribution (with ties: normal, corrected for ties and continuity).
    It assumes that all values are independent, which edits by one writer are not. ValueError: a sample is empty.
    """
    samples = [np.asarray(values, dtype=float) for values in (first, second)]
    left, right = (sample[~np.isnan(sample)] for sample in samples)
    if not len(left) or not len(right):
        raise ValueError("both samples need a value")
    test = scipy.stats.mannwhitneyu(left, right)
    p = 1.0 if np.ptp(np.concatenate([left, right])) == 0 else float(test.pvalue)
    return Shift(float(test.statistic), p, float(test.statistic) / (len(left) * len(right)), len(left), len(right))
