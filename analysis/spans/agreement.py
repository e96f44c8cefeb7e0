"""How far two markers of the same texts agree on their spans.

Source of the character-level figure: the shared tasks on quality estimation (Blain et al. 2023, §3.2) and ESA (Kocmi et
al. 2024, §4): precision and recall of marked characters, each with its severity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from analysis.spans.marks import Span

#: What must be the same for two marks to agree.
Same = Callable[[Span], object]


@dataclass(frozen=True, slots=True)
class Shared:
    """What ``one`` and the ``other`` marked in a text, and what ``both`` did."""

    both: int
    one: int
    other: int


#: Counts what two markers of a text share.
Count = Callable[[Sequence[Span], Sequence[Span]], Shared]


def whatever(_: Span) -> None:
    """Any two marks of a place agree."""


def by_severity(span: Span) -> str:
    return span.severity


def characters(first: Sequence[Span], second: Sequence[Span], same: Same = whatever) -> Shared:
    """Marked characters. With ``same``, a character counts for both only if what it returns is the same for both.

    Overlapping spans of one marker count once for each value of ``same``.
    """
    marked_first, marked_second = _characters(first, same), _characters(second, same)
    return Shared(len(marked_first & marked_second), len(marked_first), len(marked_second))


def whole(first: Sequence[Span], second: Sequence[Span], same: Same = whatever) -> Shared:
    """Whole spans: both markers must have the same beginning and end."""
    spans_first, spans_second = (
        Counter((span.start, span.end, span.missing, same(span)) for span in spans) for spans in (first, second)
    )
    return Shared((spans_first & spans_second).total(), spans_first.total(), spans_second.total())


def character_f1(pairs: Iterable[tuple[Sequence[Span], Sequence[Span]]], same: Same = whatever) -> float:
    """F1 of marked characters over all texts together, from 0 to 1; NaN if neither marked anything.

    ``pairs``: the spans of both markers for each text. The figure is the same in both directions.
    """
    return _f1(characters(first, second, same) for first, second in pairs)


def exact_f1(pairs: Iterable[tuple[Sequence[Span], Sequence[Span]]], same: Same = whatever) -> float:
    """F1 of whole spans. See `character_f1`."""
    return _f1(whole(first, second, same) for first, second in pairs)


def _f1(counts: Iterable[Shared]) -> float:
    every = list(counts)
    marked = sum(shared.one + shared.other for shared in every)
    return 2 * sum(shared.both for shared in every) / marked if marked else float("nan")


def _characters(spans: Sequence[Span], same: Same) -> set[tuple[int, object]]:
    """Each marked character once per value of ``same``; what is missing is one character before the text."""
    return {(place, same(span)) for span in spans for place in ([-1] if span.missing else range(span.start, span.end))}
