"""One of several options."""

from analysis.kinds.base import KindInWords

WORDS = KindInWords()
