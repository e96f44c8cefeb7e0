"""Pairs of texts from a run's samples, or from the texts in another study's submissions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from django import forms

from annotation.task_types.items import Json, SourceOutput, SourceRow
from annotation.task_types.settings import ConfigForm
from annotation.task_types.sources import output_name, sample_text

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


class SystemsForm(ConfigForm):
    """Which systems of a run to compare."""

    system_1 = forms.CharField(
        label="First system",
        max_length=200,
        required=False,
        help_text="A decoder such as top_p=0.9, a model, or both as model:decoder. Empty: every pair of systems.",
    )
    system_2 = forms.CharField(label="Second system", max_length=200, required=False)

    def clean(self) -> dict[str, str]:
        given: dict[str, str] = super().clean() or self.cleaned_data
        if bool(given.get("system_1")) != bool(given.get("system_2")):
            missing = "system_2" if given.get("system_1") else "system_1"
            self.add_error(missing, "Name both systems, or neither.")
        elif given.get("system_1") and given["system_1"] == given.get("system_2"):
            self.add_error("system_2", "This is the first system again. Name another one.")
        return given


def sample_pairs(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """Rows with two samples of one context: the first of one system with the first of the other, and so on.

    The second result is how many samples are in no pair.
    """
    several = len({each.model for each in samples}) > 1
    by_system: dict[str, list[SampleRow]] = defaultdict(list)
    for each in samples:
        if sample_text(each.text):
            by_system[_system(each, options, several)].append(each)
    wanted = [options["system_1"], options["system_2"]] if options["system_1"] else list(by_system)
    rows = [
        _row(place, (one, first), (two, second))
        for one, two in combinations(wanted, 2)
        for place, (first, second) in enumerate(zip(by_system[one], by_system[two], strict=False), start=1)
    ]
    return rows, len(samples) - len({source for row in rows for source in row.sources})


def _system(sample: SampleRow, options: Json, several: bool) -> str:
    """The name in the options that matches the sample; otherwise its decoder, with its model if there are several."""
    whole = f"{sample.model}:{sample.decoder}"
    asked = (options["system_1"], options["system_2"])
    named = next((name for name in (whole, sample.decoder, sample.model) if name in asked), "")
    return named or (whole if several else sample.decoder)


def _row(place: int, first: tuple[str, SampleRow], second: tuple[str, SampleRow]) -> SourceRow:
    (one, a), (two, b) = first, second
    cells = {
        "sample_id": f"{a.context_id}-{one}-{two}-{place}",
        "context": a.context,
        "text_1": sample_text(a.text),
        "text_2": sample_text(b.text),
        "system_1": one,
        "system_2": two,
    }
    return SourceRow(cells, (a.id, b.id))


def output_pairs(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """Pairs each text with the first unpaired text that has the same context, a different writer and, if the writers
    had arms, a different arm. When more texts arrive, existing pairs stay the same and come first."""
    waiting: dict[str, list[SourceOutput]] = defaultdict(list)
    rows: list[SourceRow] = []
    for each in outputs:
        others = waiting[each.context.strip() or f"item {each.item}"]
        partner = next((other for other in others if _may_meet(other, each)), None)
        if partner is None:
            others.append(each)
        else:
            others.remove(partner)
            rows.append(_output_row(partner, each))
    return rows


def _may_meet(one: SourceOutput, two: SourceOutput) -> bool:
    return one.author != two.author and (one.arm != two.arm or not one.arm)


def _output_row(one: SourceOutput, two: SourceOutput) -> SourceRow:
    cells = {
        "sample_id": output_name(one, two),
        "context": one.context,
        "text_1": "\n\n".join(one.texts),
        "text_2": "\n\n".join(two.texts),
        "system_1": one.arm,
        "system_2": two.arm,
        "writer_1": one.author,
        "writer_2": two.author,
    }
    return SourceRow(cells, (one.id, two.id))
