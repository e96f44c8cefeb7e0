"""Signs that a text was not written for the task. They raise flags for a person to check. They never exclude."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from annotation.task_types.base import FlagData
from common.words import counted

_WORD = re.compile(r"\w+")


def normalised(text: str) -> str:
    """Only the words, in lower case with single spaces, to compare texts when looking for copies."""
    return " ".join(_WORD.findall(text.casefold()))


def text_flags(text: str, *, sources: Iterable[str], least_words: int = 3, where: str = "") -> Iterator[FlagData]:
    """Flags for one written text: ``copied`` from a source, ``too_short``, ``meaningless``.

    A copy is a text that equals a source, or that a source contains as a run of at least five words.
    """
    said = normalised(text)
    words = said.split()
    if len(words) < least_words:
        yield FlagData("too_short", f"{where}“{text[:80]}” has {len(words)} word{'' if len(words) == 1 else 's'}.")
    if _meaningless(said):
        yield FlagData("meaningless", f"{where}“{text[:80]}” has no words in it.")
    for source in sources:
        shown = normalised(source)
        if said and (said == shown or (len(words) >= 5 and f" {said} " in f" {shown} ")):
            yield FlagData("copied", f"{where}“{text[:80]}” is copied from what was shown.")
            return


def paste_flags(pastes: int) -> Iterator[FlagData]:
    """A flag for pasted texts."""
    if pastes:
        yield FlagData("pasted", f"Text was pasted {counted(pastes, 'time')}.")


def _meaningless(said: str) -> bool:
    """No letters, one character over and over, or one word over and over."""
    letters = {char for char in said if char.isalpha()}
    words = said.split()
    return not letters or (len(said) > 5 and len(letters) < 3) or (len(words) > 3 and len(set(words)) == 1)
