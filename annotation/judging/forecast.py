"""What a judge will read, write and cost, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.instrument import Instrument
from annotation.judging.judged_pages import DuePage, Hit
from annotation.judging.rendered_page import CannotJudge
from annotation.models import Item, Judge, JudgePlace
from annotation.task_types.simulation import SimulatedWorker

#: A token is about so many characters of English, as model servers' documentation says. Other languages need more.
CHARACTERS_A_TOKEN = 4
#: Tokens of an answer: of a number or a name with its key, and of a text.
SHORT_ANSWER, TEXT_ANSWER = 8, 60
#: Pages of so many items are read for a forecast.
MOST_READ = 20
MOST_PAGES = 50
MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Forecast:
    """``pages``: calls if every answer is valid. ``cannot``: items among ``read`` that no judge can do, and why."""

    items: int
    pages: int
    tokens_in: int
    tokens_out: int
    cost: Decimal
    read: int
    cannot: Sequence[tuple[str, str]]

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


def forecast(
    judge: Judge, instrument: Instrument, items: Sequence[Item], orders: Sequence[dict[str, object]]
) -> Forecast:
    """From the pages of the first items, as a worker who answers at random goes through them."""
    pages = tokens_in = tokens_out = 0
    cannot: list[tuple[str, str]] = []
    sampled = list(zip(items, orders, strict=True))[:MOST_READ]
    for item, order in sampled:
        hit = Hit.of(instrument, JudgePlace(item=item, order=order))
        try:
            for due in walked(judge, hit):
                pages += 1
                tokens_in += tokens_of(judge, due)
                tokens_out += written_tokens(judge, due)
        except CannotJudge as error:
            cannot.append((item.external_id, str(error)))
    whole = Decimal(len(items) * judge.samples) / max(1, len(sampled))
    counts = [int(whole * count) for count in (pages, tokens_in, tokens_out)]
    cost = cost_of(judge, counts[1], counts[2])
    return Forecast(len(items), counts[0], counts[1], counts[2], cost, len(sampled), cannot)


def walked(judge: Judge, hit: Hit) -> list[DuePage]:
    """All pages of a hit, answered like a careful simulated worker. Raises `CannotJudge`."""
    worker = SimulatedWorker.named(f"forecast/{judge.seed}", "careful")
    answers: list[dict[str, object]] = []
    pages: list[DuePage] = []
    while (due := hit.due(judge, answers)) is not None and len(pages) < MOST_PAGES:  # type: ignore[arg-type]
        pages.append(due)
        form = hit.instrument.task.simulate(worker, hit.shown, due.page, answers)  # type: ignore[arg-type]
        answers.append(dict(due.page.clean(form)[0]))
    return pages


def tokens_of(judge: Judge, due: DuePage) -> int:
    """About how many tokens the model reads for one page."""
    whole = tokens_in_words(due.prompt().whole)
    if judge.method == Judge.Method.JSON:
        return whole
    return sum(whole + SHORT_ANSWER * len(one.task.values) for one in due.read.asked)


def written_tokens(judge: Judge, due: DuePage) -> int:
    """About how many tokens the model writes for one page."""
    texts: int = sum(one.task.schema.get("type") == "string" and not one.task.values for one in due.read.asked)
    if judge.method == Judge.Method.JSON:
        return min(judge.max_tokens, SHORT_ANSWER * (1 + len(due.read.asked)) + TEXT_ANSWER * texts)
    return sum(min(judge.max_tokens, TEXT_ANSWER) for one in due.read.asked if not one.task.values)


def tokens_in_words(words: str) -> int:
    return -(-len(words) // CHARACTERS_A_TOKEN)


def cost_of(judge: Judge, tokens_in: int, tokens_out: int) -> Decimal:
    """USD."""
    return (Decimal(judge.price_in) * tokens_in + Decimal(judge.price_out) * tokens_out) / MILLION
