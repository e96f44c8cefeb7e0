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
    groups = [list(found) for _, found in groupby(samples, key=lambda each: (each.model, each.decoder))]
    size = options["set_size"] or min(MOST, max((len(group) for group in groups), default=0))
    if size < FEWEST:
        return []
    return [group[start : start + size] for group in groups for start in range(0, len(group) - size + 1, size)]


def set_rows(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """One row per set, labelled with the decoder's parameter, and how many samples are in no set."""
    sets = sets_from(samples, options)
    several = len({each.model for each in samples}) > 1
    rows = []
    for _, found in groupby(sets, key=_made_by):
        group = list(found)
        for place, each in enumerate(group, start=1):
            first = each[0]
            parts = (first.context_id, first.model if several else "", str(place) if len(group) > 1 else "")
            rows.append(_row("-".join(filter(None, parts)), each))
    return rows, len(samples) - sum(len(row.sources) for row in rows)


def pair_rows(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """Two rows per pair of sets from different decoders (or models), and how many samples are in no pair.

    If decoders have several sets each, the first set of one is paired with the first of the other, and so on.
    """
    groups = [list(found) for _, found in groupby(sets_from(samples, options), key=_made_by)]
    pairs = [both for one, two in combinations(groups, 2) for both in zip(one, two, strict=False)]
    if pairs and options["pairs"]:
        pairs = balanced(pairs, options["pairs"], random.Random(f"{options['seed']}/{samples[0].context_id}"))
    rows = [
        _row(f"{first[0].context_id}-{place}", each)
        for place, (first, second) in enumerate(pairs, start=1)
        for each in (first, second)
    ]
    return rows, len(samples) - len({source for row in rows for source in row.sources})


def balanced(
    pairs: Sequence[tuple[SampleSet, SampleSet]], wanted: int, rng: random.Random
) -> list[tuple[SampleSet, SampleSet]]:
    """``wanted`` of the pairs, in their order. Each choice is a pair whose decoders were used least so far, at random
    among equals."""
    left = list(range(len(pairs)))
    rng.shuffle(left)
    taken: dict[tuple[str, str], int] = {}
    chosen: list[int] = []
    while left and len(chosen) < wanted:
        least = min(left, key=lambda at: sorted((taken.get(_made_by(each), 0) for each in pairs[at]), reverse=True))
        left.remove(least)
        chosen.append(least)
        for each in pairs[least]:
            taken[_made_by(each)] = taken.get(_made_by(each), 0) + 1
    return [pairs[at] for at in sorted(chosen)]


def _made_by(samples: SampleSet) -> tuple[str, str]:
    return samples[0].model, samples[0].decoder


def _row(name: str, samples: SampleSet) -> SourceRow:
    first = samples[0]
    cells = {
        "sample_id": name,
        "context": first.context,
        **label_cells(first.label),
        **{f"resp_{at}": sample_text(each.text) for at, each in enumerate(samples)},
        "model": first.model,
        "decoder": first.decoder,
    }
    return SourceRow(cells, tuple(each.id for each in samples))


# --- outputs ---


def output_rows(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """One row per set that a writer made."""
    return [_output_row(output_name(each), each) for each in outputs]


def output_pair_rows(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """Two rows per pair of sets that one writer made about one item with different labels, the higher one first."""
    waiting: dict[tuple[str, str], SourceOutput] = {}
    rows: list[SourceRow] = []
    for each in outputs:
        other = waiting.get((each.author, each.item))
        if other is None or each.label is None or other.label is None or each.label[0] != other.label[0]:
            waiting[each.author, each.item] = each
        elif each.label[1] != other.label[1]:
            del waiting[each.author, each.item]
            high, low = sorted((each, other), key=lambda one: one.label[1] if one.label else 0.0, reverse=True)
            rows += [_output_row(output_name(high), one) for one in (high, low)]
    return rows


def _output_row(name: str, output: SourceOutput) -> SourceRow:
    cells = {
        "sample_id": name,
        "context": output.context,
        **label_cells(output.label),
        **{f"resp_{at}": text for at, text in enumerate(output.texts)},
        "writer": output.author,
        "arm": output.arm,
    }
    return SourceRow(cells, (output.id,))
