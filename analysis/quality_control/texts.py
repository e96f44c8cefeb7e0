"""Rules about one submission's free texts, without a model: very short, copied from the page, no words in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from analysis.quality_control.work import Finding, Work, WrittenText
from common.text_length import compared_words, count_words, normalised
from common.words import counted

#: Shorter texts share all their words with many others.
LEAST_COPIED = 5


def too_short(work: Work, threshold: float) -> Iterator[Finding]:
    """Fewer words than expected; a question that asks for less has a lower limit."""
    for text in work.texts:
        words, least = count_words(text.text), min(threshold, text.least_words)
        if words < least:
            yield Finding("too_short", f"{text.quoted} has {counted(words, 'word')}.", float(words), least, text.place)


def copied(work: Work, threshold: float) -> Iterator[Finding]:
    """A text that the page showed: the share of its words that are one run of a source."""
    for text in work.texts:
        words, *sources = map(compared_words, (text.text, *text.sources))
        share = max((copied_share(words, source) for source in sources), default=0.0)
        if share and share >= threshold:
            detail = f"{text.quoted} is copied from what was shown ({share:.0%} of its words)."
            yield Finding("copied", detail, share, threshold, text.place)


def copied_share(words: Sequence[str], source: Sequence[str]) -> float:
    """The longest run of words that both texts have, as a share of ``words``: 0 to 1.

    1 for equal texts of any length; otherwise runs of fewer than five words do not count.
    """
    if not words or words == source:
        return float(bool(words))
    return common_run(words, source) / len(words)


def common_run(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest run of words that both have; 0 if it is shorter than LEAST_COPIED.

    Looks up each five words in the other text, so two long texts that share nothing take no time.
    """
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for start in range(len(second) - LEAST_COPIED + 1):
        places[tuple(second[start : start + LEAST_COPIED])].append(start)
    longest = 0
    for start in range(len(first) - LEAST_COPIED + 1):
        for second_start in places.get(tuple(first[start : start + LEAST_COPIED]), ()):
            if start and second_start and first[start - 1] == second[second_start - 1]:
                continue  # part of a run that was measured from its beginning
            length = LEAST_COPIED
            while (
                first[start + length : start + length + 1]
                == second[second_start + length : second_start + length + 1]
                != []
            ):
                length += 1
            longest = max(longest, length)
    return longest


def no_words(work: Work, threshold: float) -> Iterator[Finding]:
    """Texts without letters, of one or two letters over and over, or of one word over and over.

    The share of unknown words is 1 for these, so they are found at every threshold. `language` looks words up.
    """
    for text in work.texts:
        if is_meaningless(text.text):
            yield meaningless(text, 1.0, threshold, f"{text.quoted} has no words in it.")


def meaningless(text: WrittenText, share: float, threshold: float, detail: str) -> Finding:
    return Finding("gibberish", detail, share, threshold, text.place)


def is_meaningless(text: str) -> bool:
    """No letters, one or two letters over and over, or one word over and over."""
    plain = normalised(text)
    letters = {char for char in plain if char.isalpha()}
    words = plain.split()
    # Ideographs stand for whole words, so few different ones are enough.
    repeated = len(plain) > 5 and len(letters) < 3 and all(char < "\u2e80" for char in letters)
    return not letters or repeated or (len(words) > 3 and len(set(words)) == 1)
