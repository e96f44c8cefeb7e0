"""Diversity metrics: a set of texts → one number, larger = more diverse.

Shapes: a *set* is a sequence of k response strings; a metric is any callable ``(responses) -> float``. ``METRICS`` maps
the names used on the command line to callables; other packages can add theirs.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeAlias

ORDERS = (1, 2, 3, 4, 5)

Metric: TypeAlias = Callable[[Sequence[str]], float]
Ngrams: TypeAlias = list[tuple[str, ...]]

# A line break inside a CSV cell can be \n, \r\n or \r; the authors read with universal newlines, so all three
# vanish.
_REMOVED = str.maketrans("", "", ".\n\r")
_NO_LETTER = re.compile(r"[\W_]+")


def tokens(text: str) -> list[str]:
    """The tokens of Tevet & Berant's released code.

    Full stops and line breaks are removed (not replaced: ``"a.b"`` is one token, ``ab``), the rest is split on single
    spaces, and empty strings are dropped. Case, other punctuation, tabs and no-break spaces stay as they are.
    """
    return [token for token in text.translate(_REMOVED).split(" ") if token]


def ngrams(words: Sequence[str], order: int) -> Ngrams:
    """All n-grams of one response in order; none if it has fewer than ``order`` tokens."""
    return list(zip(*(words[start:] for start in range(order)), strict=False))


def distinct_n(responses: Sequence[str], *, n: Sequence[int] = ORDERS) -> float:
    """Unique n-grams over all n-grams of the set, averaged over the orders in ``n``.

    Range 0 to 1. N-grams never cross from one response to the next. An order without any n-gram in the set scores 0 and
    counts in the average, so a set of empty responses scores 0 (and a set of very short ones scores low). An empty
    response is a response without n-grams.

    Raises ValueError for an empty set or an order below 1.
    Source: Tevet & Berant 2021 and their released code; column ``metric_AveragedDistinctNgrams`` of their data.
    """
    _check(responses, n, least=1)
    words = [tokens(response) for response in responses]
    shares = []
    for order in n:
        grams = [gram for response in words for gram in ngrams(response, order)]
        shares.append(len(set(grams)) / len(grams) if grams else 0.0)
    return math.fsum(shares) / len(shares)


def cos_sim(responses: Sequence[str], *, n: Sequence[int] = ORDERS) -> float:
    """Minus the mean cosine similarity of the n-gram counts of each unordered pair, averaged over the orders
    in ``n``.

    Range −1 (all the same) to 0 (no n-gram shared). Two responses that share no n-gram have similarity 0, even if one
    or both have none of that order. So an empty response is unlike every other, including another empty one.

    Raises ValueError for fewer than two responses or an order below 1.
    Source: Tevet & Berant 2021 and their released code; column ``metric_AveragedCosineSimilarity`` of their data.
    """
    _check(responses, n, least=2)
    words = [tokens(response) for response in responses]
    pairs = len(words) * (len(words) - 1) / 2
    similarities = []
    for order in n:
        counts = [Counter(ngrams(response, order)) for response in words]
        squares = [sum(count * count for count in counter.values()) for counter in counts]
        for (left, left_square), (right, right_square) in combinations(zip(counts, squares, strict=True), 2):
            if shared := left.keys() & right.keys():
                product = sum(left[gram] * right[gram] for gram in shared)
                similarities.append(product / math.sqrt(left_square * right_square))
    return -math.fsum(similarities) / (pairs * len(n)) if similarities else 0.0


def _check(responses: Sequence[str], n: Sequence[int], *, least: int) -> None:
    if isinstance(responses, str):
        raise ValueError("a set is a sequence of responses, not one string")
    if len(responses) < least:
        raise ValueError(f"a set needs at least {least} response{'s' if least > 1 else ''}, not {len(responses)}")
    if not n or min(n) < 1:
        raise ValueError(f"n must name at least one order, each 1 or more, not {list(n)}")


METRICS: dict[str, Metric] = {"distinct-n": distinct_n, "cos-sim": cos_sim}


def normal_form(text: str) -> str:
    """The text without case, spacing and punctuation: two texts with the same form count as the same text."""
    return _NO_LETTER.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def set_diversity(texts: Sequence[str]) -> float:
    """Distinct-n of a set of two or more texts; NaN for fewer."""
    return distinct_n(list(texts)) if len(texts) > 1 else math.nan


def column_of(name: str) -> str:
    """The CSV column for a metric: ``distinct-n`` → ``metric_distinct_n``."""
    return "metric_" + name.replace("-", "_")
