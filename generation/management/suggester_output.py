"""What ``manage.py suggester`` prints, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from common.commands import aligned
from generation.models import PoolText, Suggester
from generation.suggestions.asking import SuggestionStatus
from generation.suggestions.monitoring import PoolRound, Process, Waits
from generation.suggestions.pool_filling import Filled
from generation.suggestions.reproducing_suggestions import Reproduced
from generation.suggestions.weights import why_not_these


def suggester_lines(suggesters: Sequence[tuple[Suggester, Waits]]) -> Iterator[str]:
    """One line for each suggester: what it is and how long its writers waited."""
    if not suggesters:
        yield "There are no suggesters yet. To make one, run: manage.py suggester add NAME --model MODEL"
        return
    rows = [("name", "model", "decoder", "state", "answered", "from pool", "failed", "median", "p95")]
    for suggester, waits in suggesters:
        rows.append(
            (
                suggester.name,
                suggester.model.name,
                suggester.decoder,
                "active" if suggester.active else "not active",
                f"{waits.answered:,}",
                f"{waits.from_pool:,}",
                f"{waits.failed:,}",
                _seconds(waits.median),
                _seconds(waits.p95),
            )
        )
    yield from aligned(rows)
    for suggester, _ in suggesters:
        if why := why_not_these(suggester, suggester.other_origin):
            yield f"{why} Until then, its suggestions come from the pool."
            yield f"To accept the new files, run: manage.py suggester accept {suggester.name}"


def process_lines(processes: Sequence[Process]) -> Iterator[str]:
    """Which processes write suggestions, and their state."""
    living = [process for process in processes if process.alive]
    if not living:
        yield "No suggester process is running. To start one, run script/server, or: manage.py suggester run"
    for process in living:
        yield f"{process.name}: {process.state}. {process.message}"
    for process in processes:
        if not process.alive:
            yield f"{process.name}: last seen {process.silent_seconds:.0f} s ago."


def pool_lines(rounds: Sequence[PoolRound], empty: Sequence[str]) -> Iterator[str]:
    """What is in the pools, round by round; ``empty`` names the suggesters without any text."""
    if rounds:
        rows = [("suggester", "round", "texts", "not shown yet")]
        rows += [(row.suggester, str(row.round or "every"), f"{row.texts:,}", f"{row.fresh:,}") for row in rounds]
        yield from aligned(rows)
    for name in empty:
        yield f"{name}: the pool is empty. Fill it with: manage.py suggester pool-fill {name} --run RUN or --csv FILE"


def pool_text_lines(texts: Iterable[PoolText]) -> Iterator[str]:
    """The texts in a pool, one on each line."""
    rows = [("id", "round", "text")]
    rows += [(str(text.pk), str(text.round or "every"), text.text) for text in texts]
    yield from aligned(rows)


def filled_lines(filled: Filled) -> Iterator[str]:
    """What happened to the texts that were offered to a pool."""
    yield f"Texts: {filled.added:,} added, {filled.duplicates:,} already in the pool."
    for why, count in filled.unusable.most_common():
        yield f"  {count:,} unusable: {why}"


def suggestion_lines(suggestions: Sequence[SuggestionStatus]) -> Iterator[str]:
    """The suggestions, and how long each took."""
    for suggestion in suggestions:
        marks = ", from the pool" if suggestion.from_pool else ""
        marks += ", the same as above" if suggestion.same_as is not None else ""
        yield f"{suggestion.suggester} ({suggestion.waited:.2f} s{marks}): {suggestion.text or suggestion.notice}"


def reproduced_lines(reproduced: Reproduced) -> Iterator[str]:
    """The stored text, and the new one if it differs."""
    yield f"Then, {reproduced.then}: {reproduced.suggestion.raw_text!r}"
    yield f"Here, {reproduced.now}: {'the same' if reproduced.same else repr(reproduced.raw_text)}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s"
