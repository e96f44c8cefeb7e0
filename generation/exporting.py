"""The samples of a run as rows of text: all they hold, or as the items of a study.

The row makers are pure functions of one context's samples; their columns are those that the task types read. One
context is in memory at a time, whatever the size of the run.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TextIO

from generation.decoders import parse_decoder
from generation.models import GenerationRun, Sample
from generation.problems import Invalid, invalid, unknown
from generation.texts import first_sentence_end

Row = dict[str, str]
FETCH_AT_ONCE = 2000
LEAST_IN_SET, MOST_IN_SET = 2, 10
DETECTION_WORDS = 100
#: The field of a context with what a person wrote to it: the human side of detection items.
HUMAN_FIELD = "human_text"


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One sample with all that tells where it is from. ``context``: what a rater may be shown of the prompt."""

    id: int
    context_id: str
    context: str
    fields: Mapping[str, str]
    model: str
    decoder: str
    label: tuple[str, float] | None
    number: int
    seed: int
    text: str
    token_ids: Sequence[int] = ()
    n_tokens: int = 0
    prompt_tokens: int = 0
    cut_tokens: int = 0
    log_p: float | None = None
    log_q: float | None = None
    finish_reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """How items are made.

    ``set_size``: responses of a set. ``domain``: of detection items whose context has no field of that name.
    ``several``: the run has several models, so a system is named by its model too. ``min_words``: the least of a
    detection text.
    """

    set_size: int = MOST_IN_SET
    domain: str = ""
    several: bool = False
    min_words: int = DETECTION_WORDS


# No page can show these; a model that draws single bytes may well generate them.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

#: What a row maker gives: rows, and how many samples are in none of them.
Made = tuple[list[Row], int]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of export: its columns, and the rows of one context's samples."""

    summary: str
    columns: Callable[[Wanted], list[str]]
    rows: Callable[[Sequence[SampleRow], Wanted], Made]
    #: Whether its files are read back as a study's items, so that every cell has to stay as it is.
    items: bool = True


# --- rows ---

SAMPLE_COLUMNS = (
    *("sample", "context_id", "context", "model", "decoder", "parameter", "value", "number", "seed", "text"),
    *("n_tokens", "log_p", "log_q", "finish_reason", "seconds", "prompt_tokens", "cut_tokens", "token_ids"),
)


def sample_rows(samples: Sequence[SampleRow], wanted: Wanted) -> Made:
    """One row per sample."""
    rows = []
    for each in samples:
        name, value = _label(each.label)
        cells = (
            *(str(each.id), each.context_id, each.context, each.model, each.decoder, name, value),
            *(str(each.number), str(each.seed), each.text, str(each.n_tokens), _number(each.log_p)),
            *(_number(each.log_q), each.finish_reason, f"{each.seconds:.4f}", str(each.prompt_tokens)),
            *(str(each.cut_tokens), " ".join(map(str, each.token_ids))),
        )
        rows.append(dict(zip(SAMPLE_COLUMNS, cells, strict=True)))
    return rows, 0


def diversity_columns(wanted: Wanted) -> list[str]:
    responses = [f"resp_{place}" for place in range(wanted.set_size)]
    return ["sample_id", "context", "label_value", "label_name", *responses, "model", "decoder"]


def diversity_rows(samples: Sequence[SampleRow], wanted: Wanted) -> Made:
    """Sets of ``set_size`` samples of one context, model and decoder, labelled with the decoder's parameter.

    Samples that fill no set are left out, such as the one text of greedy decoding.
    """
    rows: list[Row] = []
    left_out = 0
    for _, found in groupby(samples, key=lambda each: (each.model, each.decoder)):
        group, size = list(found), wanted.set_size
        sets = [group[start : start + size] for start in range(0, len(group) - size + 1, size)]
        left_out += len(group) - size * len(sets)
        rows += [_set_row(each, place if len(sets) > 1 else None, wanted) for place, each in enumerate(sets, start=1)]
    return rows, left_out


def _set_row(texts: Sequence[SampleRow], place: int | None, wanted: Wanted) -> Row:
    first = texts[0]
    name, value = _label(first.label)
    parts = (first.context_id, first.model if wanted.several else "", str(place or ""))
    return {
        "sample_id": "-".join(filter(None, parts)),
        "context": first.context,
        "label_value": value,
        "label_name": name,
        **{f"resp_{at}": _clean(each.text).strip() for at, each in enumerate(texts)},
        "model": first.model,
        "decoder": first.decoder,
    }


QUALITY_COLUMNS = ("sample_id", "context", "text", "system", "log_prob")


def quality_rows(samples: Sequence[SampleRow], wanted: Wanted) -> Made:
    """One continuation a row; the system is the decoder, with its model before it where the run has several."""
    rows = []
    for each in samples:
        system = f"{each.model}:{each.decoder}" if wanted.several else each.decoder
        name = f"{each.context_id}-{system}-{each.number}"
        cells = (name, each.context, _clean(each.text), system, _number(each.log_p))
        rows.append(dict(zip(QUALITY_COLUMNS, cells, strict=True)))
    return rows, 0


DETECTION_COLUMNS = ("sample_id", "prompt", "text", "source", "domain")


def detection_rows(samples: Sequence[SampleRow], wanted: Wanted) -> Made:
    """One text a row, cut at the end of the sentence that passes ``min_words`` words; shorter ones are left out.

    A context's field ``human_text`` makes a row of source ``human``, cut by the same rule.
    """
    rows: list[Row] = []
    left_out = 0
    human = samples[0].fields.get(HUMAN_FIELD, "") if samples else ""
    sources = [(f"{samples[0].context_id}-human", "human", human)] if human.strip() else []
    sources += [
        (f"{each.context_id}-{each.model}-{each.decoder}-{each.number}", each.model, each.text) for each in samples
    ]
    for name, source, text in sources:
        end = first_sentence_end(text, min_words=wanted.min_words)
        if end is None:
            left_out += 1
            continue
        domain = samples[0].fields.get("domain", "") or wanted.domain
        cells = (name, samples[0].context, _clean(text[:end]).strip(), source, domain)
        rows.append(dict(zip(DETECTION_COLUMNS, cells, strict=True)))
    return rows, left_out


FORMATS: dict[str, Format] = {
    "samples": Format("one row per sample", lambda wanted: list(SAMPLE_COLUMNS), sample_rows, items=False),
    "diversity": Format("one row per set of samples, for HDS studies", diversity_columns, diversity_rows),
    "quality": Format("one row per continuation", lambda wanted: list(QUALITY_COLUMNS), quality_rows),
    "detection": Format("one row per text", lambda wanted: list(DETECTION_COLUMNS), detection_rows),
}


def format_called(name: str) -> Format:
    """The format of that name. Raises Invalid."""
    if name not in FORMATS:
        raise Invalid([unknown("format", name, FORMATS)])
    return FORMATS[name]


# --- a run's samples ---


def wanted_of(run: GenerationRun, *, set_size: int | None = None, domain: str = "") -> Wanted:
    """What suits the run where nothing is said. Raises Invalid for a set that cannot be filled."""
    samples = int(run.spec.get("samples", 1))
    size = min(samples, MOST_IN_SET) if set_size is None else set_size
    if set_size is not None and not LEAST_IN_SET <= size <= min(samples, MOST_IN_SET):
        what = f"Sets of {size} cannot be made."
        mend = f"A set has {LEAST_IN_SET} to {MOST_IN_SET} texts, and the run has {samples} of each decoder."
        raise invalid("set size", what, mend)
    return Wanted(
        set_size=max(size, LEAST_IN_SET),
        domain=domain,
        several=len(run.spec.get("models", ())) > 1,
        min_words=run.spec.get("limits", {}).get("min_words") or DETECTION_WORDS,
    )


def rows_of(run: GenerationRun, *, format: str, wanted: Wanted, left_out: Callable[[int], object]) -> Generator[Row]:
    """The run's rows, context by context; ``left_out`` is told how many samples found no place. Raises Invalid."""
    make = format_called(format).rows
    with closing(samples_of(run)) as contexts:
        for samples in contexts:
            rows, without = make(samples, wanted)
            left_out(without)
            yield from rows


def samples_of(run: GenerationRun) -> Generator[list[SampleRow]]:
    """The samples of one context after the other: by model, decoder (as the run file has them) and number."""
    models = {name: place for place, name in enumerate(run.spec.get("models", ()))}
    decoders = {name: place for place, name in enumerate(run.spec.get("decoders", ()))}
    swept = {parameter[0] for name in decoders if (parameter := parse_decoder(name).parameter)}
    stored = Sample.objects.filter(run=run).select_related("context", "model")
    stored = stored.order_by("context_id", "model_id", "decoder", "number")  # as the unique index has them
    with closing(stored.iterator(chunk_size=FETCH_AT_ONCE)) as fetched:  # type: ignore[type-var]  # it is a generator
        for _, found in groupby(fetched, key=lambda each: each.context_id):
            rows = [_row(sample, swept) for sample in found]
            yield sorted(rows, key=lambda row: (models.get(row.model, 0), decoders.get(row.decoder, 0), row.number))


def label_of(decoder: str, swept: Iterable[str]) -> tuple[str, float] | None:
    """The decoder's parameter and value. Ancestral sampling is temperature 1 where temperatures are swept."""
    parameter = parse_decoder(decoder).parameter
    return ("temperature", 1.0) if decoder == "ancestral" and "temperature" in swept else parameter


def shown_context(fields: Mapping[str, str], prompt: str, keep: int) -> str:
    """What raters see before a text: the field context, prompt or story, else the prompt without its priming text."""
    named = (fields[name] for name in ("context", "prompt", "story") if name in fields)
    return next(named, prompt[keep:])


def _row(sample: Sample, swept: Iterable[str]) -> SampleRow:
    context = sample.context
    return SampleRow(
        id=sample.pk,
        context_id=context.external_id,
        context=shown_context(context.fields, context.prompt, context.keep),
        fields=context.fields,
        model=sample.model.name,
        decoder=sample.decoder,
        label=label_of(sample.decoder, swept),
        number=sample.number,
        seed=sample.seed,
        text=sample.text,
        token_ids=sample.token_ids,
        n_tokens=sample.n_tokens,
        prompt_tokens=sample.prompt_tokens,
        cut_tokens=sample.cut_tokens,
        log_p=sample.log_p,
        log_q=sample.log_q,
        finish_reason=sample.finish_reason,
        seconds=sample.seconds,
    )


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


def _label(label: tuple[str, float] | None) -> tuple[str, str]:
    return (label[0], f"{label[1]:.6g}") if label else ("", "")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


# --- files ---


@dataclass(frozen=True, slots=True)
class Written:
    """What an export has written."""

    rows: int
    left_out: int


def write_run(
    run: GenerationRun,
    out: TextIO,
    *,
    format: str,
    wanted: Wanted,
    json_lines: bool = False,
    guard: Callable[[str], str] | None = None,
) -> Written:
    """The run as CSV or JSON lines, row by row. Raises Invalid.

    ``guard`` makes a cell safe for spreadsheets; files that a study reads back are written as they are. JSON lines
    never need it.
    """
    written = Written(0, 0)

    def count_left_out(number: int) -> None:
        nonlocal written
        written = replace(written, left_out=written.left_out + number)

    rows = rows_of(run, format=format, wanted=wanted, left_out=count_left_out)
    kind = format_called(format)
    safe = guard if guard and not kind.items else str
    writer = csv.DictWriter(out, kind.columns(wanted), lineterminator="\n")
    if not json_lines:
        writer.writeheader()
    with closing(rows):
        for row in rows:
            if json_lines:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            else:
                writer.writerow({name: safe(cell) for name, cell in row.items()})
            written = replace(written, rows=written.rows + 1)
    return written
