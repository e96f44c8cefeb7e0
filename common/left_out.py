"""What the analysis leaves out, in words: the same in the report, in the console and on the command line."""

from __future__ import annotations

from collections.abc import Mapping

from common.words import counted

#: By reason: what is counted, and what follows the count.
REASONS = {
    "unconfirmed": ("submission", "that the platform has not confirmed"),
    "excluded": ("submission", "that a person excluded"),
    "extra": ("extra submission", "that came late, when somebody else had the place"),
    "excluded_by_rule": ("submission", "that an exclusion rule leaves out"),
    "repeated_ratings": ("rating", "of items that the same worker had rated before"),
}


def left_out_in_words(counts: Mapping[str, int]) -> str:
    """One sentence on everything that no figure includes. ``counts`` are numbers by reason; others count as 0.

    >>> left_out_in_words({"excluded": 2, "unconfirmed": 0})
    'Left out of all figures: 2 submissions that a person excluded.'
    >>> left_out_in_words({})
    'Nothing is left out of the figures.'
    """
    parts = [f"{counted(counts[name], thing)} {why}" for name, (thing, why) in REASONS.items() if counts.get(name)]
    return f"Left out of all figures: {'; '.join(parts)}." if parts else "Nothing is left out of the figures."
