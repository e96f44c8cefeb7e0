"""Marked stretches of texts: how they are stored, what they weigh, and how far markers agree."""

from analysis.spans.agreement import character_f1, exact_f1
from analysis.spans.marks import Span, spans_in, spans_text, weight_of

__all__ = ["Span", "character_f1", "exact_f1", "spans_in", "spans_text", "weight_of"]
