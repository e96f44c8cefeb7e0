"""One point of a scale."""

from analysis.kinds.base import KindInWords

WORDS = KindInWords()
