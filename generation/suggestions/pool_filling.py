"""Texts for the pools, from a run's samples or from a CSV file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet

from common.numbers import whole_number
from common.problems import Invalid, invalid, unknown
from generation.decoding.decoders import DecoderError, parse_decoder
from generation.models import GenerationRun, PoolText, RunContext, Sample, Suggester
from generation.suggestions.cleaning import Rules, clean, why_no_whole_sentence
from generation.suggestions.definitions import MOST_ROUNDS, rules_of
from generation.suggestions.pool import EVERY_ROUND

ROUND_FIELD = "round"
OTHERS = "is for suggester {name}"
MOST_CSV_BYTES = 64 * 1024 * 1024


@dataclass
class Filled:
    """What happened to the texts: new in the pool, already there, or unusable and why."""

    added: int = 0
    duplicates: int = 0
    unusable: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Offered:
    """A text that may go into the pool, with the prompt it was written for."""

    round: int
    text: str
    prompt: str = ""
    sample: int | None = None
    ended: bool = True
    suggester: str = ""


def fill_from_run(
    *,
    suggester: Suggester,
    run: GenerationRun,
    decoder: str = "",
    round: int | None = None,
    round_field: str = ROUND_FIELD,
) -> Filled:
    """Put a run's samples of the suggester's model and decoder (or of ``decoder``) into its pool, cleaned like live
    suggestions.

    The round is ``round``, or else the context's field ``round_field``, or else every round. Raises Invalid if the run
    has no such samples, a round is not a number, or no context has the field that was named.
    """
    try:
        name = parse_decoder(decoder).name if decoder else suggester.decoder
    except DecoderError as error:
        raise invalid("decoder", str(error)) from None
    samples: QuerySet[Sample] = Sample.objects.filter(run=run, model=suggester.model_id, decoder=name)
    if not samples.exists():
        what = f"It has no samples of {suggester.model.name} with {name}."
        pairs = Sample.objects.filter(run=run).values_list("model__name", "decoder").distinct().order_by("model__name")
        names = [f"{model_name} with {decoder_name}" for model_name, decoder_name in pairs[:6]]
        more = ", …" if len(pairs) > 6 else ""
        raise invalid(
            f"run {run.name}", what, f"It has: {', '.join(names)}{more}." if names else "It has no samples yet."
        )
    rounds = _rounds_of(run, round, round_field)
    rows = samples.select_related("context").order_by("pk").iterator(chunk_size=1000)
    offers = (
        Offered(
            round=rounds[sample.context_id],
            text=sample.text,
            prompt=sample.context.prompt,
            sample=sample.pk,
            ended=sample.finish_reason == "end",
        )
        for sample in rows
    )
    return _fill(suggester, rules_of(suggester), offers)


def fill_from_csv(*, suggester: Suggester, path: Path) -> Filled:
    """Put the texts of a CSV file into the pool: column ``text``, and optionally ``round`` and ``suggester``.

    White space is cleaned up, and length and word list apply. A text that names another suggester is left to it. Raises
    Invalid that names the line.
    """
    return fill_from_texts(suggester=suggester, texts=_lines_of(path))


def fill_from_texts(*, suggester: Suggester, texts: Iterable[Offered]) -> Filled:
    """Put these texts into the pool, cleaned like those of a CSV file. Raises Invalid."""
    return _fill(suggester, replace(rules_of(suggester), one_sentence=False), texts)


@transaction.atomic
def remove_texts(*, suggester: Suggester, ids: Collection[int]) -> int:
    """Take texts out of the pool, such as those that fit no story. Returns how many. What writers have seen of them is
    stored with their offers. Raises Invalid if the pool does not have one of them; then none is removed."""
    texts = PoolText.objects.filter(suggester=suggester, pk__in=ids)
    if missing := sorted(set(ids) - set(texts.values_list("pk", flat=True))):
        what = f"The pool of {suggester.name} has no text {missing[0]}."
        raise invalid("ids", what, f"List its texts: manage.py suggester pool-texts {suggester.name}")
    return texts.delete()[1].get(PoolText._meta.label, 0)


def _rounds_of(run: GenerationRun, round: int | None, round_field: str) -> dict[int, int]:
    """The round of each context of the run, by its id. All are read before any sample."""
    contexts = list(RunContext.objects.filter(run=run).order_by("number"))
    if round is not None:
        return dict.fromkeys((context.pk for context in contexts), round_number(round, "round"))
    if round_field != ROUND_FIELD and not any(round_field in context.fields for context in contexts):
        names = dict.fromkeys(name for context in contexts for name in context.fields)
        raise Invalid([unknown(f"run {run.name}, fields of its contexts", round_field, names)])
    return {
        context.pk: round_number(
            context.fields.get(round_field, EVERY_ROUND), f"context {context.external_id}, field {round_field}"
        )
        for context in contexts
    }


def _lines_of(path: Path) -> Iterator[Offered]:
    try:
        if path.stat().st_size > MOST_CSV_BYTES:
            raise invalid(
                str(path), f"It is larger than {MOST_CSV_BYTES >> 20} MB.", "A pool needs a few hundred texts."
            )
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if "text" not in (reader.fieldnames or ()):
                columns = ", ".join(f"“{name[:60]}”" for name in (reader.fieldnames or ())[:10]) or "nothing"
                what = f"It has no column text; its first line has {columns}."
                raise invalid(str(path), what, "Write the names of the columns there, separated by commas: round,text.")
            for row in reader:
                where = f"{path}, line {reader.line_num}, column round"
                yield Offered(
                    round=round_number(row.get("round") or EVERY_ROUND, where),
                    text=row["text"] or "",
                    suggester=(row.get("suggester") or "").strip(),
                )
    except OSError as error:
        raise invalid(str(path), f"It cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise invalid(str(path), "It is not UTF-8 text.", "Save it as “CSV UTF-8”.") from None
    except csv.Error as error:
        raise invalid(str(path), f"It is not a CSV file: {error}.") from None


def round_number(value: object, where: str) -> int:
    """A round from 1, or 0 for every round. Raises Invalid that names the place."""
    text = str(value).strip()
    number = None if isinstance(value, bool) else whole_number(text, least=0, most=MOST_ROUNDS)
    if number is None:
        shown = repr(text[:60] if isinstance(value, str) else value)
        raise invalid(where, f"It is {shown}.", f"A round is a whole number up to {MOST_ROUNDS}; 0 fits every round.")
    return number


@transaction.atomic
def _fill(suggester: Suggester, rules: Rules, offered: Iterable[Offered]) -> Filled:
    filled = Filled()
    existing = set(PoolText.objects.filter(suggester=suggester).values_list("round", "text"))
    new: list[PoolText] = []
    for offer in offered:
        if offer.suggester not in ("", suggester.name):
            filled.unusable[OTHERS.format(name=offer.suggester)] += 1
            continue
        cleaned = clean(offer.text, prompt=offer.prompt, rules=rules, ended=offer.ended)
        # Nobody knows which story a text from the pool will follow, so it must stand on its own.
        why = cleaned.why or (why_no_whole_sentence(cleaned.text) if rules.continues else "")
        if why:
            filled.unusable[why] += 1
        elif (offer.round, cleaned.text) in existing:
            filled.duplicates += 1
        else:
            existing.add((offer.round, cleaned.text))
            new.append(PoolText(suggester=suggester, round=offer.round, text=cleaned.text, sample_id=offer.sample))
    PoolText.objects.bulk_create(new, batch_size=500, ignore_conflicts=True)
    filled.added = len(new)
    return filled
