"""Rows of an items file from a run's samples, or from the sets in another study's submissions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, groupby
from typing import TYPE_CHECKING

from django import forms

from annotation.task_types.hds.sets import FEWEST, MOST
from annotation.task_types.items import Json, SourceOutput, SourceRow
from annotation.task_types.labels import label_cells
from annotation.task_types.settings import ConfigForm
from annotation.task_types.sources import output_name, sample_text

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow

#: The samples of one set.
SampleSet = list["SampleRow"]


class SetsForm(ConfigForm):
    """How a run's samples become sets."""

    set_size = forms.IntegerField(
        label="Responses per set",
        min_value=FEWEST,
        max_value=MOST,
        required=False,
        help_text=f"Empty: all samples of one context and decoder, up to {MOST}.",
    )


class DrawnSetsForm(SetsForm):
    """How a run's samples become sets, and which of the sets are judged."""

    sets_per_value = forms.IntegerField(
        label="Sets per value of the decoder's parameter",
        min_value=1,
        max_value=1000,
        required=False,
        help_text="Empty: all sets. A number: that many for each value, such as each temperature, drawn at random from "
        "the sets of all contexts.",
    )
    seed = forms.IntegerField(label="Seed of that draw", min_value=0, max_value=2**31 - 1, initial=1, required=False)


class PairsForm(SetsForm):
    """How a run's samples become pairs of sets."""

    pairs = forms.IntegerField(
        label="Pairs per context",
        min_value=1,
        max_value=1000,
        required=False,
        help_text="Empty: every pair of decoders. A number: that many pairs, with each decoder in about equally many.",
    )
    seed = forms.IntegerField(label="Seed of the choice of pairs", min_value=0, max_value=2**31 - 1, initial=1)


def sets_from(samples: Sequence[SampleRow], options: Json) -> list[SampleSet]:
    """Sets of equal size, each of one context, model and decoder, in the order of the samples."""
    groups = [
        list(samples_of_decoder)
        for _, samples_of_decoder in groupby(samples, key=lambda sample: (sample.model, sample.decoder))
    ]
    size = options["set_size"] or min(MOST, max((len(group) for group in groups), default=0))
    if size < FEWEST:
        return []
    return [group[start : start + size] for group in groups for start in range(0, len(group) - size + 1, size)]


def set_rows(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """One row per set, labelled with the decoder's parameter, and how many samples are in no set."""
    sets = sets_from(samples, options)
    several = len({sample_set.model for sample_set in samples}) > 1
    rows = []
    for _, sets_of_decoder in groupby(sets, key=_made_by):
        group = list(sets_of_decoder)
        for number, sample_set in enumerate(group, start=1):
            first = sample_set[0]
            parts = (first.context_id, first.model if several else "", str(number) if len(group) > 1 else "")
            rows.append(_row("-".join(filter(None, parts)), sample_set))
    return rows, len(samples) - sum(len(row.sources) for row in rows)


def drawn_rows(rows: Sequence[SourceRow], options: Json) -> list[SourceRow]:
    """``sets_per_value`` rows for each model and decoder, drawn with ``seed``, in their order.

    With 2 and sets of 100 temperatures these are the 200 sets of decTest (Tevet & Berant 2021, §6.3).
    """
    count = options.get("sets_per_value")
    if not count:
        return list(rows)
    made_by: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(rows):
        made_by.setdefault((row.cells["model"], row.cells["decoder"]), []).append(number)
    rng = random.Random(options.get("seed") or 0)
    drawn = {number for numbers in made_by.values() for number in rng.sample(numbers, min(count, len(numbers)))}
    return [row for number, row in enumerate(rows) if number in drawn]


def pair_rows(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """Two rows per pair of sets from different decoders (or models), and how many samples are in no pair.

    If decoders have several sets each, the first set of one is paired with the first of the other, and so on.
    """
    groups = [list(sets_of_decoder) for _, sets_of_decoder in groupby(sets_from(samples, options), key=_made_by)]
    pairs = [pair for one, two in combinations(groups, 2) for pair in zip(one, two, strict=False)]
    if pairs and options["pairs"]:
        pairs = balanced(pairs, options["pairs"], random.Random(f"{options['seed']}/{samples[0].context_id}"))
    rows = [
        _row(f"{first[0].context_id}-{number}", sample_set)
        for number, (first, second) in enumerate(pairs, start=1)
        for sample_set in (first, second)
    ]
    return rows, len(samples) - len({source for row in rows for source in row.sources})


def balanced(
    pairs: Sequence[tuple[SampleSet, SampleSet]], count: int, rng: random.Random
) -> list[tuple[SampleSet, SampleSet]]:
    """``count`` of the pairs, in their order. Each choice is a pair whose decoders were used least so far, at random
    among equals."""
    unused = list(range(len(pairs)))
    rng.shuffle(unused)
    times_used: dict[tuple[str, str], int] = {}
    chosen: list[int] = []
    while unused and len(chosen) < count:
        least = min(
            unused,
            key=lambda index: sorted(
                (times_used.get(_made_by(sample_set), 0) for sample_set in pairs[index]), reverse=True
            ),
        )
        unused.remove(least)
        chosen.append(least)
        for sample_set in pairs[least]:
            times_used[_made_by(sample_set)] = times_used.get(_made_by(sample_set), 0) + 1
    return [pairs[index] for index in sorted(chosen)]


def _made_by(samples: SampleSet) -> tuple[str, str]:
    return samples[0].model, samples[0].decoder


def _row(name: str, samples: SampleSet) -> SourceRow:
    first = samples[0]
    cells = {
        "sample_id": name,
        "context": first.context,
        **label_cells(first.label),
        **{f"resp_{number}": sample_text(sample.text) for number, sample in enumerate(samples)},
        "model": first.model,
        "decoder": first.decoder,
    }
    return SourceRow(cells, tuple(sample.id for sample in samples))


# --- outputs ---


def output_rows(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """One row per set that a writer made."""
    return [_output_row(output_name(output), output) for output in outputs]


def output_pair_rows(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """Two rows per pair of sets that one writer made about one item with different labels, the higher one first."""
    waiting: dict[tuple[str, str], SourceOutput] = {}
    rows: list[SourceRow] = []
    for output in outputs:
        earlier = waiting.get((output.author, output.item))
        if earlier is None or output.label is None or earlier.label is None or output.label[0] != earlier.label[0]:
            waiting[output.author, output.item] = output
        elif output.label[1] != earlier.label[1]:
            del waiting[output.author, output.item]
            pair = sorted((output, earlier), key=lambda member: member.label[1] if member.label else 0.0, reverse=True)
            rows += [_output_row(output_name(pair[0]), member) for member in pair]
    return rows


def _output_row(name: str, output: SourceOutput) -> SourceRow:
    cells = {
        "sample_id": name,
        "context": output.context,
        **label_cells(output.label),
        **{f"resp_{number}": text for number, text in enumerate(output.texts)},
        "writer": output.author,
        "arm": output.arm,
    }
    return SourceRow(cells, (output.id,))
