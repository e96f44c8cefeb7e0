"""Sets of texts by one writer about one context, and how two kinds of set differ.

Source: Tevet & Berant 2021, §6.4: writers make a set that is diverse in content and one that is not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from analysis.diversity.metrics import distinct_n

_NO_LETTER = re.compile(r"[\W_]+")


def normal_form(text: str) -> str:
    """The text without case, spacing and punctuation: two texts with the same form count as the same text."""
    return _NO_LETTER.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def set_diversity(texts: Sequence[str]) -> float:
    """Distinct-n of a set of two or more texts (`analysis.diversity.metrics`); NaN for fewer."""
    return distinct_n(list(texts)) if len(texts) > 1 else math.nan
