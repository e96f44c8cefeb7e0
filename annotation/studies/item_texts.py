"""What tells the items of a list apart, in one line each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.task_types.items import ItemFacts

#: Characters of one line; of its context.
ROOM, CONTEXT_ROOM = 120, 90
BETWEEN = " · "
EMPTY = "(empty)"
#: Least characters of each text of a set, and of the words before the place where two texts begin to differ.
LEAST, LEAD = 12, 16


@dataclass(frozen=True, slots=True)
class Line:
    """What is judged in one item, shortened, and the context, if that is something else."""

    text: str
    context: str


def lines_of(items: Sequence[tuple[ItemFacts, Mapping[str, str]]], room: int = ROOM) -> list[Line]:
    """One line for each item, from its facts and its cells. Texts that begin alike are shown from where they differ."""
    texts: list[list[str]] = []
    shortened: list[str] = []
    for facts, cells in items:
        parts = [_one_line(text) or EMPTY for group in facts.texts for text in group]
        if not facts.texts:  # the context, or the first cell with more than one word
            values = list(cells.values())
            words = next((cell for cell in values if " " in cell.strip()), "".join(values[1:2]))
            parts = [_one_line(facts.context) or _one_line(words)]
        texts.append(parts)
        # Each part gets the same share of the room.
        share = max(LEAST, (room - len(BETWEEN) * (len(parts) - 1)) // max(1, len(parts)))
        shortened.append(_cut(BETWEEN.join(_cut(text, share) for text in parts), max(room, share)))
    alike: dict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(shortened):
        alike[line].append(index)
    for places in alike.values():
        full_texts = [BETWEEN.join(texts[index]) for index in places]
        if len(set(full_texts)) > 1:
            # Begin at a word shortly before the first difference, so that it is seen.
            letters = enumerate(zip(*full_texts, strict=False))
            same = next((index for index, column in letters if len(set(column)) > 1), min(map(len, full_texts)))
            start = full_texts[0].rfind(" ", 0, max(0, same - LEAD)) + 1
            for index, text in zip(places, full_texts, strict=True):
                shortened[index] = _cut("… " * (start > 0) + text[start:], room)
    return [
        Line(line, _cut(_one_line(facts.context), CONTEXT_ROOM) if facts.texts else "")
        for line, (facts, _) in zip(shortened, items, strict=True)
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, room: int) -> str:
    """The text in at most ``room`` characters, cut at a word if there is one."""
    if len(text) <= room:
        return text
    head = text[: room - 1]
    word = head if text[room - 1] == " " else head.rpartition(" ")[0]
    return (word or head).rstrip(" ,;:") + "…"
