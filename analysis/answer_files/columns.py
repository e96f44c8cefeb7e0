"""The columns of the export ``long``, which has one answer per row, in their order."""

from __future__ import annotations

from collections.abc import Iterable

WHO = ("study", "submission", "worker", "synthetic", "arm")
ITEM = ("item", "role")
PART = ("item_position", "part", "part_text", "part_position", "side")
ANSWER = (
    *("about", "criterion", "scale", "scale_level", "scale_low", "scale_high"),
    *("value", "label", "answer_text", "seconds"),
)
USE = ("included", "why_not", "confirmation", "flags")
SUBMISSION = (
    *("submitted_at", "submission_seconds", "place", "hit", "slot", "ordinal", "attempt"),
    *("feedback", "order"),
)
WORKER = ("platform", "worker_id", "assignment_id")
#: The second text of a part that is a pair.
PART_TEXT_2 = "part_text_2"
#: The names that are ours in every file, so that an item's column is called the same in the files of all studies.
RESERVED = frozenset((*WHO, *ITEM, *PART, PART_TEXT_2, *ANSWER, *USE, *SUBMISSION, *WORKER))
#: The prefix of an arm's factors, and that of an item's column with a name of ours.
ARM_FACTOR, OWN = "arm:", "item:"
#: The prefix of what workers answered about themselves, before or after their tasks.
WORKER_FACTOR = "worker:"
#: A table with all of these is an export ``long``.
MARKS = ("worker", "item", "role", "about", "criterion", "scale_level", "value", "answer_text", "included")


def named_apart(columns: Iterable[str], used: Iterable[str]) -> list[str]:
    """The items' own columns. One with a name that is used already gets the prefix ``item:``."""
    names: list[str] = []
    used_names = set(used)
    for column in columns:
        name = column
        while name in used_names:
            name = f"{OWN}{name}"
        used_names.add(name)
        names.append(name)
    return names
