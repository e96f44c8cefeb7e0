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
        options: dict[str, str] = super().clean() or self.cleaned_data
        if bool(options.get("system_1")) != bool(options.get("system_2")):
            missing = "system_2" if options.get("system_1") else "system_1"
            self.add_error(missing, "Name both systems, or neither.")
        elif options.get("system_1") and options["system_1"] == options.get("system_2"):
            self.add_error("system_2", "This is the first system again. Name another one.")
        return options


def sample_pairs(samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
    """Rows with two samples of one context: the first of one system with the first of the other, and so on.

    The second result is how many samples are in no pair.
    """
    several = len({sample.model for sample in samples}) > 1
    named = (options["system_1"], options["system_2"])
    by_system: dict[str, list[SampleRow]] = defaultdict(list)
    for sample in samples:
        if sample_text(sample.text):
            # The name in the options that matches; otherwise the decoder, with the model if there are several.
            full_name = f"{sample.model}:{sample.decoder}"
            name = next((name for name in (full_name, sample.decoder, sample.model) if name in named), "")
            by_system[name or (full_name if several else sample.decoder)].append(sample)
    systems = [options["system_1"], options["system_2"]] if options["system_1"] else list(by_system)
    rows = []
    for one, two in combinations(systems, 2):
        for number, (first, second) in enumerate(zip(by_system[one], by_system[two], strict=False), start=1):
            cells = {
                "sample_id": f"{first.context_id}-{one}-{two}-{number}",
                "context": first.context,
                "text_1": sample_text(first.text),
                "text_2": sample_text(second.text),
                "system_1": one,
                "system_2": two,
            }
            rows.append(SourceRow(cells, (first.id, second.id)))
    return rows, len(samples) - len({source for row in rows for source in row.sources})


def output_pairs(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """Pairs each text with the first unpaired text that has the same context, a different writer and, if the writers
    had arms, a different arm. When more texts arrive, existing pairs stay the same and come first."""
    waiting: dict[str, list[SourceOutput]] = defaultdict(list)
    rows: list[SourceRow] = []
    for output in outputs:
        unpaired = waiting[output.context.strip() or f"item {output.item}"]
        partner = next(
            (
                earlier
                for earlier in unpaired
                if earlier.author != output.author and (earlier.arm != output.arm or not earlier.arm)
            ),
            None,
        )
        if partner is None:
            unpaired.append(output)
            continue
        unpaired.remove(partner)
        cells = {
            "sample_id": output_name(partner, output),
            "context": partner.context,
            "text_1": "\n\n".join(partner.texts),
            "text_2": "\n\n".join(output.texts),
            "system_1": partner.arm,
            "system_2": output.arm,
            "writer_1": partner.author,
            "writer_2": output.author,
        }
        rows.append(SourceRow(cells, (partner.id, output.id)))
    return rows
