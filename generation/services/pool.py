"""The pool: texts written beforehand, for when a live suggestion does not come.

A pool belongs to a suggester, so that what a writer sees in its place is that model's and decoder's work as well.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet

from generation.cleaning import Rules, bare, clean
from generation.decoders import DecoderError, parse_decoder
from generation.models import GenerationRun, PoolText, RunContext, Sample, Suggester, Suggestion
from generation.problems import Invalid, invalid, unknown
from generation.services.suggesters import rules_of

State = Suggestion.State
EVERY_ROUND = 0
ROUND_FIELD = "round"
MOST_ROUNDS = 1000
MOST_CSV_BYTES = 64 * 1024 * 1024
EMPTY_POOL = "The pool of {suggester} has no text left for round {round} of this story."


@transaction.atomic
def settle(*, reasons: Mapping[int, str], now: datetime) -> list[Suggestion]:
    """Give those still waiting a text from the pool of their suggester, or let them fail where there is none left.

    ``reasons`` says by id which suggestions, and why their own text is not shown.

    A story is locked as a whole, so no two of its suggestions take the same text at once. Texts of the round come
    first, then those for every round; which one is decided by the suggestion's seed. Returns what was settled.
    """
    stories = Suggestion.objects.filter(pk__in=reasons).values("story")
    rows = Suggestion.objects.select_for_update(of=("self",), no_key=True).select_related("suggester")
    of_stories = list(rows.filter(story__in=stories).order_by("pk"))
    waiting = [row for row in of_stories if row.pk in reasons and row.state == State.WAITING]
    if not waiting:
        return []
    seen: dict[str, set[str]] = defaultdict(set)
    for row in of_stories:
        seen[row.story].add(bare(row.text))
    pool = _candidates(waiting)
    for row in waiting:
        _settle_one(row, pool, seen[row.story], now=now, why=reasons[row.pk])
    changed = ["state", "text", "from_pool", "pool_text", "message", "leased_by", "leased_until", "answered_at"]
    Suggestion.objects.bulk_update(waiting, changed)
    return waiting


def _candidates(waiting: Sequence[Suggestion]) -> dict[tuple[int, int], list[PoolText]]:
    pool: dict[tuple[int, int], list[PoolText]] = defaultdict(list)
    suggesters = {row.suggester_id for row in waiting}
    rounds = {row.round for row in waiting} | {EVERY_ROUND}
    for text in PoolText.objects.filter(suggester__in=suggesters, round__in=rounds).order_by("pk"):
        pool[text.suggester_id, text.round].append(text)
    return pool


def _settle_one(
    row: Suggestion, pool: dict[tuple[int, int], list[PoolText]], seen: set[str], *, now: datetime, why: str
) -> None:
    row.leased_by, row.leased_until = "", None
    row.answered_at = max(now, row.asked_at)  # another machine's clock may be behind
    for number in dict.fromkeys((row.round, EVERY_ROUND)):
        fresh = [each for each in pool[row.suggester_id, number] if bare(each.text) not in seen]
        if fresh:
            chosen = fresh[row.seed % len(fresh)]
            row.state, row.from_pool, row.pool_text, row.text = State.DONE, True, chosen, chosen.text
            row.message = why
            seen.add(bare(chosen.text))
            return
    row.state = State.FAILED
    row.message = f"{why} {EMPTY_POOL.format(suggester=row.suggester.name, round=row.round)}"


@dataclass
class Filled:
    """What became of the texts: new in the pool, there already, or of no use and why."""

    added: int = 0
    known: int = 0
    unusable: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Offered:
    """A text that may go into the pool, with the prompt it was written for."""

    round: int
    text: str
    prompt: str = ""
    sample: int | None = None
    ended: bool = True


def fill_from_run(
    *,
    suggester: Suggester,
    run: GenerationRun,
    decoder: str = "",
    round: int | None = None,
    round_field: str = ROUND_FIELD,
) -> Filled:
    """Put a run's samples of the suggester's model and decoder (or another one) into its pool, cleaned as live
    suggestions are.

    The round is ``round``, or else what the context says in ``round_field``, or else every round. Raises
    Invalid when the run has no such samples, a round is no number, or no context has a field that was named.
    """
    name = _decoder_name(decoder) if decoder else suggester.decoder
    samples: QuerySet[Sample] = Sample.objects.filter(run=run, model=suggester.model_id, decoder=name)
    if not samples.exists():
        what = f"It has no samples of {suggester.model.name} with {name}."
        raise invalid(f"run {run.name}", what, _there_are(run))
    rounds = _rounds_of(run, round, round_field)
    rows = samples.select_related("context").order_by("pk").iterator(chunk_size=1000)
    return _fill(suggester, rules_of(suggester), (_offered(row, rounds[row.context_id]) for row in rows))


def fill_from_csv(*, suggester: Suggester, path: Path) -> Filled:
    """Put the texts of a CSV file with a column ``text`` and, if wanted, a column ``round`` into the pool.

    They are taken as they are, but for white space, length and the word list. Raises Invalid naming the line.
    """
    return _fill(suggester, replace(rules_of(suggester), one_sentence=False), _lines_of(path))


def _decoder_name(text: str) -> str:
    """The name under which samples of that decoder are stored. Raises Invalid."""
    try:
        return parse_decoder(text).name
    except DecoderError as error:
        raise invalid("decoder", str(error)) from None


def _rounds_of(run: GenerationRun, round: int | None, round_field: str) -> dict[int, int]:
    """The round of each of the run's contexts by its id: all are read before any sample is."""
    contexts = list(RunContext.objects.filter(run=run).order_by("number"))
    if round is not None:
        return dict.fromkeys((each.pk for each in contexts), round_number(round, "round"))
    if round_field != ROUND_FIELD and not any(round_field in each.fields for each in contexts):
        names = dict.fromkeys(name for each in contexts for name in each.fields)
        raise Invalid([unknown(f"run {run.name}, fields of its contexts", round_field, names)])
    return {
        each.pk: round_number(
            each.fields.get(round_field, EVERY_ROUND), f"context {each.external_id}, field {round_field}"
        )
        for each in contexts
    }


def _there_are(run: GenerationRun) -> str:
    pairs = Sample.objects.filter(run=run).values_list("model__name", "decoder").distinct().order_by("model__name")
    names = [f"{model} with {decoder}" for model, decoder in pairs[:6]]
    return f"It has: {', '.join(names)}{', …' if len(pairs) > 6 else ''}." if names else "It has none at all yet."


def _offered(sample: Sample, round: int) -> Offered:
    return Offered(
        round=round,
        text=sample.text,
        prompt=sample.context.prompt,
        sample=sample.pk,
        ended=sample.finish_reason == "end",
    )


def _lines_of(path: Path) -> Iterator[Offered]:
    try:
        if path.stat().st_size > MOST_CSV_BYTES:
            raise invalid(
                str(path), f"It is larger than {MOST_CSV_BYTES >> 20} MB.", "A pool needs a few hundred texts."
            )
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if "text" not in (reader.fieldnames or ()):
                there = ", ".join(f"“{name[:60]}”" for name in (reader.fieldnames or ())[:10]) or "nothing"
                what = f"It has no column text; its first line has {there}."
                raise invalid(str(path), what, "Write the columns' names there, with a comma between them: round,text.")
            for row in reader:
                where = f"{path}, line {reader.line_num}, column round"
                yield Offered(round=round_number(row.get("round") or EVERY_ROUND, where), text=row["text"] or "")
    except OSError as error:
        raise invalid(str(path), f"It cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise invalid(str(path), "It is not UTF-8 text.", "Save it as “CSV UTF-8”.") from None
    except csv.Error as error:
        raise invalid(str(path), f"It is no CSV file: {error}.") from None


def round_number(given: object, where: str) -> int:
    """A round from 1, or 0 for every round. Raises Invalid saying where it stood."""
    text = str(given).strip()
    if isinstance(given, bool) or not text.isascii() or not text.isdigit() or int(text) > MOST_ROUNDS:
        raise invalid(where, f"It is {given!r}.", f"A round is a whole number up to {MOST_ROUNDS}; 0 fits every round.")
    return int(text)


@transaction.atomic
def _fill(suggester: Suggester, rules: Rules, offered: Iterable[Offered]) -> Filled:
    filled = Filled()
    known = set(PoolText.objects.filter(suggester=suggester).values_list("round", "text"))
    new: list[PoolText] = []
    for each in offered:
        cleaned = clean(each.text, prompt=each.prompt, rules=rules, ended=each.ended)
        if cleaned.why:
            filled.unusable[cleaned.why] += 1
        elif (each.round, cleaned.text) in known:
            filled.known += 1
        else:
            known.add((each.round, cleaned.text))
            new.append(PoolText(suggester=suggester, round=each.round, text=cleaned.text, sample_id=each.sample))
    PoolText.objects.bulk_create(new, batch_size=500, ignore_conflicts=True)
    filled.added = len(new)
    return filled
