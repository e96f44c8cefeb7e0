"""BLEU of one text: how many of its n-grams occur in its references."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

ORDER = 4
_WORDS = re.compile(r"\w+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Lower-case words and single punctuation marks."""
    return _WORDS.findall(text.lower())


def sentence_bleu(text: str, references: str | Sequence[str], *, order: int = ORDER) -> float:
    """BLEU of ``text`` against one or several references, from 0 to 1.

    Of several references, an n-gram is matched as often as the reference that has it most often, and the brevity
    penalty compares with the reference whose length is closest, the shorter of two (Papineni et al. 2002, 2.1 and 2.2).
    Without references the score is 0.

    The geometric mean of the clipped n-gram precisions, n from 1 to ``order``, times the brevity penalty. From n = 2,
    matches and n-grams each count one more, so that a short text does not score 0 for lack of a 4-gram (Lin & Och 2004,
    "BLEU+1"). A text without words, or without a word of the reference, scores 0. ValueError: ``order`` below 1.

    Source: Papineni et al. 2002.
    """
    if order < 1:
        raise ValueError(f"order must be 1 or more, not {order}")
    words = words_of(text)
    reference_words = [
        words_of(reference) for reference in ([references] if isinstance(references, str) else references)
    ]
    if not reference_words:
        return 0.0
    logs = []
    for n in range(1, order + 1):
        counts = _ngrams(words, n)
        reference_counts: Counter[tuple[str, ...]] = Counter()
        for reference in reference_words:
            reference_counts |= _ngrams(reference, n)  # the larger of the two counts
        matches = sum(min(count, reference_counts[gram]) for gram, count in counts.items())
        smoothing = 1 if n > 1 else 0
        total = sum(counts.values()) + smoothing
        if not matches + smoothing or not total:
            return 0.0
        logs.append(math.log((matches + smoothing) / total))
    closest = min(
        (len(reference) for reference in reference_words), key=lambda length: (abs(length - len(words)), length)
    )
    brevity = min(0.0, 1 - closest / len(words))
    return math.exp(brevity + math.fsum(logs) / order)


def _ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
