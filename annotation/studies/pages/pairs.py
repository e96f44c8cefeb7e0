"""Names with values in one line of a form: ``training: comparison; domain: news``."""

from __future__ import annotations

from collections.abc import Mapping


class PairsProblem(ValueError):
    """Not names with values. ``str()`` says what is wrong."""


def pairs_in(line: str) -> dict[str, str]:
    """The values by name. Raises PairsProblem."""
    pairs: dict[str, str] = {}
    for entry in filter(str.strip, line.split(";")):
        name, colon, value = (part.strip() for part in entry.partition(":"))
        if not colon or not name or not value:
            raise PairsProblem(f"“{entry.strip()[:60]}” is not a name, a colon and a value.")
        if name in pairs:
            raise PairsProblem(f"{name} has two values.")
        pairs[name] = value
    return pairs


def pairs_in_words(pairs: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in pairs.items())
