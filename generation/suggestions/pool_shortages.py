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
class Need:
    """A suggestion that a story needs: from which suggester, and in which round."""

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


def pool_shortages(needs: Sequence[Need]) -> list[Shortage]:
    """What the pools lack for a story with these needs, by suggester; empty if every need gets a text for sure."""
    suggesters = {need.suggester for need in needs}
    rows = PoolText.objects.filter(suggester__name__in=suggesters).values_list("suggester__name", "round", "text")
    by_round: dict[tuple[str, int], set[str]] = {}
    for name, round, text in rows:
        by_round.setdefault((name, round), set()).add(bare(text))  # equal words are one text
    texts = {key: frozenset(bare_texts) for key, bare_texts in by_round.items()}
    lacking = _lacking(needs, texts)
    shortages = []
    for name in dict.fromkeys(need.suggester for need in needs):
        counts = {need.round: count for need, count in lacking if need.suggester == name}
        if not counts:
            continue
        mine: Texts = frozenset().union(*(pool_texts for (owner, _), pool_texts in texts.items() if owner == name))
        sharing = {
            owner: mine & frozenset().union(*(pool_texts for (other, _), pool_texts in texts.items() if other == owner))
            for owner, _ in texts
            if owner != name
        }
        shared = frozenset().union(*sharing.values())
        others = [owner for owner, common in sharing.items() if common]
        shortages.append(Shortage(name, max(counts.values()), sorted(counts), len(shared), others))
    return shortages


def _lacking(needs: Sequence[Need], texts: Mapping[tuple[str, int], Texts]) -> list[tuple[Need, int]]:
    """The needs that could get no text, with the number of texts that they lack.

    A need takes a text for its round, and one for every round only if those may all be taken. So what it can reach
    grows until nothing changes: each other need can take at most one text of what it reaches.
    """
    for_round = [texts.get((need.suggester, need.round), frozenset()) for need in needs]
    reachable = [
        mine | texts.get((need.suggester, EVERY_ROUND), frozenset())
        for mine, need in zip(for_round, needs, strict=True)
    ]
    reach = list(for_round)

    def rivals(number: int, of: Texts) -> int:
        return sum(1 for other, reached in enumerate(reach) if other != number and not reached.isdisjoint(of))

    while True:
        wider = [
            mine if len(mine) > rivals(number, mine) else everything
            for number, (mine, everything) in enumerate(zip(for_round, reachable, strict=True))
        ]
        if wider == reach:
            break
        reach = wider
    lacking = [(need, rivals(number, reach[number]) + 1 - len(reach[number])) for number, need in enumerate(needs)]
    return [(need, count) for need, count in lacking if count > 0]
