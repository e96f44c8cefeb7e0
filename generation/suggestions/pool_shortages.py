"""Whether the pools last for a story in which every suggestion comes too late, whatever texts are drawn from them.

A story never shows a text twice, so two suggesters that have the same texts in their pools take them from each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generation.models import PoolText
from generation.suggestions.cleaning import bare
from generation.suggestions.pool import EVERY_ROUND

Texts = frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """A suggestion that a story needs: whose, and in which round."""

    suggester: str
    round: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """How many texts a suggester's pool lacks, and the rounds that could get none.

    ``shared``: how many of its texts are also in the pool of another suggester of the story; ``others``: their names.
    """

    suggester: str
    texts: int
    rounds: Sequence[int]
    shared: int
    others: Sequence[str]


def pool_shortages(places: Sequence[Place]) -> list[Shortage]:
    """What the pools lack for a story with these places, by suggester; empty if every place gets a text for sure."""
    texts = _texts_of({place.suggester for place in places})
    return [
        _shortage(name, lacking, texts)
        for name in dict.fromkeys(place.suggester for place in places)
        if (lacking := {place.round: count for place, count in _lacking(places, texts) if place.suggester == name})
    ]


def _texts_of(suggesters: set[str]) -> Mapping[tuple[str, int], Texts]:
    """The different texts in each pool, by suggester and round. Equal words are one text."""
    found: dict[tuple[str, int], set[str]] = {}
    rows = PoolText.objects.filter(suggester__name__in=suggesters).values_list("suggester__name", "round", "text")
    for name, round, text in rows:
        found.setdefault((name, round), set()).add(bare(text))
    return {key: frozenset(texts) for key, texts in found.items()}


def _lacking(places: Sequence[Place], texts: Mapping[tuple[str, int], Texts]) -> list[tuple[Place, int]]:
    """The places that could get no text, with the number of texts that they lack.

    A place takes a text for its round, and one for every round only if those may all be taken. So what it can reach
    grows until nothing changes: each other place can take at most one text of what it reaches.
    """
    own = [texts.get((place.suggester, place.round), frozenset()) for place in places]
    whole = [
        mine | texts.get((place.suggester, EVERY_ROUND), frozenset()) for mine, place in zip(own, places, strict=True)
    ]
    reach = list(own)

    def rivals(number: int, of: Texts) -> int:
        return sum(1 for other, reached in enumerate(reach) if other != number and not reached.isdisjoint(of))

    while True:
        wider = [
            mine if len(mine) > rivals(number, mine) else everything
            for number, (mine, everything) in enumerate(zip(own, whole, strict=True))
        ]
        if wider == reach:
            break
        reach = wider
    lacking = [(place, rivals(number, reach[number]) + 1 - len(reach[number])) for number, place in enumerate(places)]
    return [(place, count) for place, count in lacking if count > 0]


def _shortage(name: str, lacking: Mapping[int, int], texts: Mapping[tuple[str, int], Texts]) -> Shortage:
    mine: Texts = frozenset().union(*(found for (owner, _), found in texts.items() if owner == name))
    sharing = {
        owner: mine & frozenset().union(*(found for (other, _), found in texts.items() if other == owner))
        for owner, _ in texts
        if owner != name
    }
    shared = frozenset().union(*sharing.values())
    others = [owner for owner, both in sharing.items() if both]
    return Shortage(name, max(lacking.values()), sorted(lacking), len(shared), others)
