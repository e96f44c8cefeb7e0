"""One round of a judge: the pages that are due are asked about, all at once, and what comes back is read.

Two ways: the model writes JSON; or each possible answer of a question is scored by its probability behind the prompt,
as if the model could write nothing else, and one is drawn by the judge's seed. In the second, texts are written, too.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.judging.judged_pages import DuePage, drawn_from
from annotation.judging.prompts import Prompt
from annotation.judging.reading_answers import Problem, Read, read_answer, read_values
from annotation.judging.rendered_page import AskedQuestion
from annotation.models import Judge
from annotation.task_types.for_judges import MOST_SCORED
from generation.backends.base import Backend, Generated, NotGenerated, Outcome, Request
from generation.decoding.decoders import Decoder, Limits

TOO_LONG = ("context", "too long", "tokens and the model")
#: The least temperature that is not 0.
COLDEST = 0.01


@dataclass(frozen=True, slots=True)
class Ask:
    """A page that is due, with what its random draws depend on."""

    due: DuePage
    item: str
    sample: int
    attempt: int
    place: int


@dataclass(slots=True)
class Told:
    """What came of one ask."""

    read: Read
    raw: str
    prompt_hash: str
    chances: dict[str, dict[str, float]] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


OnTold = Callable[[Ask, Told], None]


def ask_all(judge: Judge, backend: Backend, asks: Sequence[Ask], on_told: OnTold) -> None:
    """Ask about all pages; ``on_told`` is called as each is answered. Raises BackendError, ServerAway."""
    if judge.method == Judge.Method.JSON:
        _ask_for_json(judge, backend, asks, on_told)
    else:
        for ask in asks:
            on_told(ask, _scored(judge, backend, ask))


def _ask_for_json(judge: Judge, backend: Backend, asks: Sequence[Ask], on_told: OnTold) -> None:
    prompts = [ask.due.prompt() for ask in asks]
    requests = [_request(judge, ask, prompt, key) for key, (ask, prompt) in enumerate(zip(asks, prompts, strict=True))]

    def on_done(key: Any, outcome: Outcome) -> None:
        ask, prompt = asks[key], prompts[key]
        if isinstance(outcome, NotGenerated):
            read, raw = _not_generated(outcome.reason), ""
        else:
            raw = outcome.text
            was_cut = outcome.finish_reason in ("length", "context")
            read = read_answer(raw, ask.due.page, ask.due.read.asked, was_cut=was_cut)
        on_told(ask, _with_counts(Told(read, raw, prompt.digest), outcome))

    backend.generate(requests, on_done)


def _scored(judge: Judge, backend: Backend, ask: Ask) -> Told:
    """Every question of the page by itself: those with few answers are scored, the others written."""
    due = ask.due
    told = Told(Read(), "", due.prompt().digest)
    values: dict[str, Any] = {}
    for one in due.read.asked:
        prompt = due.prompt([one])
        if 0 < len(one.task.values) <= MOST_SCORED:
            chances = _chances(judge, backend, prompt, one, told)
            if isinstance(chances, Read):
                told.read = chances
                return told
            told.chances[one.question.key] = {_written(value): chance for value, chance in chances}
            rng = drawn_from(judge.seed, ask.item, ask.sample, due.number, one.name, ask.attempt)
            options, weights = zip(*chances, strict=True)
            values[one.name] = rng.choices(options, weights)[0]
            continue
        outcome = backend.generate([_request(judge, ask, prompt, one.name)])[0]
        told = _with_counts(told, outcome)
        if isinstance(outcome, NotGenerated):
            told.read = _not_generated(outcome.reason)
            return told
        values[one.name] = _written_value(outcome.text, one)
    told.raw = json.dumps(values, ensure_ascii=False)
    told.read = read_values(values, due.page, due.read.asked)
    return told


def _chances(
    judge: Judge, backend: Backend, prompt: Prompt, one: AskedQuestion, told: Told
) -> list[tuple[Any, float]] | Read:
    """The probability of each possible answer among all of them, at the judge's temperature."""
    from generation.backends.alternatives import score_alternatives  # loads torch

    begin = time.perf_counter()
    texts = [json.dumps({one.name: value}, ensure_ascii=False) for value in one.task.values]
    scores = score_alternatives(backend, prompt.whole, texts)
    if isinstance(scores, NotGenerated):
        return _not_generated(scores.reason)
    told.tokens_in += scores.tokens
    told.seconds += time.perf_counter() - begin
    return list(zip(one.task.values, renormalised(scores.log_ps, judge.temperature), strict=True))


def renormalised(log_ps: Sequence[float], temperature: float) -> list[float]:
    """Probabilities of alternatives among themselves. Temperature 0: all of it is the likeliest one's."""
    best = max(log_ps)
    if temperature < COLDEST:
        first = log_ps.index(best)
        return [float(number == first) for number in range(len(log_ps))]
    weights = [math.exp((log_p - best) / temperature) for log_p in log_ps]
    total = sum(weights)
    return [weight / total for weight in weights]


def _request(judge: Judge, ask: Ask, prompt: Prompt, key: Any) -> Request:
    rng = drawn_from(judge.seed, ask.item, ask.sample, ask.due.number, ask.attempt)
    if judge.temperature < COLDEST and ask.attempt == 1:
        decoder = Decoder(greedy=True)
    else:  # the same question again gets the same answer from a model that draws nothing
        decoder = Decoder(temperature=max(judge.temperature, 0.3 if ask.attempt > 1 else COLDEST))
    limits = Limits(max_new_tokens=judge.max_tokens)
    is_chat = judge.model.backend == "openai" and judge.model.chat
    text, system = (prompt.page, prompt.system) if is_chat else (f"{prompt.whole}\n", "")
    schema = prompt.schema if is_chat else None
    return Request(key, text, decoder, limits, rng.getrandbits(31), cut_left=False, system=system, schema=schema)


def _not_generated(reason: str) -> Read:
    is_long = any(words in reason.lower() for words in TOO_LONG)
    return Read(problem=Problem.TOO_LONG if is_long else Problem.DECLINED, detail=reason)


def _with_counts(told: Told, outcome: Outcome) -> Told:
    if isinstance(outcome, Generated):
        told.tokens_in += outcome.prompt_tokens
        told.tokens_out += outcome.n_tokens
        told.seconds += outcome.seconds
    return told


def _written_value(text: str, one: AskedQuestion) -> Any:
    """What a model wrote as the value of one question: the JSON that it was asked for, or the words alone."""
    start = text.find("{")
    if start >= 0:
        try:
            values, _ = json.JSONDecoder().raw_decode(text[start:])
        except (ValueError, RecursionError):
            return text.strip() or None
        return values.get(one.name) if isinstance(values, Mapping) else None
    return text.strip() or None


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
