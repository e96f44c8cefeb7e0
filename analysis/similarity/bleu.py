"""BLEU of one text against its references, as sacrebleu computes it (Post 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any


def sentence_bleu(text: str, references: str | Sequence[str]) -> float:
    """BLEU of ``text`` against one or several references, from 0 to 1.

    sacrebleu's sentence-level BLEU with its defaults, case kept: the tokens of mteval-v13a, n-grams up to 4 or the
    longest that the text has, exponential smoothing. Without references, or for a text without tokens, the score is 0.
    """
    given = [references] if isinstance(references, str) else list(references)
    if not given or not text.strip():
        return 0.0
    return float(_bleu().sentence_score(text, given).score) / 100


@cache
def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU  # only where BLEU is asked for

    return BLEU(effective_order=True)
