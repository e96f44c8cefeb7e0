"""Items from generated samples and from the outputs of other studies: a type's hooks, and what types share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from annotation.task_types.items import Json, Row, RowProblem, SourceOutput, SourceRow
from annotation.task_types.labels import label_cells
from annotation.task_types.reading import LONGEST_ID
from annotation.task_types.settings import ConfigForm

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow

# No page can show these, but a model that samples single bytes can generate them.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Sources:
    """The hooks of a task type that makes items from samples and outputs."""

    #: The form of options for `from_samples`; None if the type cannot use generated samples.
    sample_form: ClassVar[type[ConfigForm] | None] = None
    #: What an items file can add to a run's samples, such as “Texts by people”. Empty: nothing.
    adds_file: ClassVar[str] = ""
    #: The kinds of other types' outputs that `from_outputs` accepts, one kind at a time. Unless a study names a kind,
    #: it gets the first that the other study makes.
    takes_outputs: ClassVar[Sequence[str]] = ()
    #: Whether `choose_outputs` draws at random. Such items are drawn once, in the draft: no later outputs follow.
    draws_outputs: ClassVar[bool] = False

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        """Rows of an items file from all samples of one context, and how many samples are in no row.

        Called only if `sample_form` is not None.
        """
        raise NotImplementedError

    def choose_rows(self, rows: Sequence[SourceRow], options: Json) -> Sequence[SourceRow]:
        """Which of the rows from all contexts of a run become items. Default: all."""
        return rows

    def add_file(
        self, sample_rows: Sequence[SourceRow], rows: Sequence[Row], options: Json
    ) -> tuple[list[SourceRow], list[RowProblem]]:
        """The rows of a file to add to the ``sample_rows``, and the problems in the file. See `adds_file`."""
        raise NotImplementedError

    def choose_outputs(self, outputs: Sequence[SourceOutput], config: Json) -> Sequence[SourceOutput]:
        """The outputs that become items. Raises Invalid if they cannot be chosen. Default: all."""
        return outputs

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        """Rows of an items file from another study's outputs, of the kinds in ``takes_outputs``.

        Called only if `takes_outputs` is not empty, and again with more outputs as they arrive. Rows that already exist
        must stay the same and come first.
        """
        raise NotImplementedError


def sample_text(text: str) -> str:
    """A generated text as workers judge it: U+FFFD replaces what cannot be shown, and the ends are trimmed."""
    return _CONTROL.sub("\ufffd", text).strip()


def output_name(*outputs: SourceOutput) -> str:
    """An id for an item made from these outputs: the item that they are about, and their own ids.

    Their ids keep it unique, no matter how many outputs follow.
    """
    ending = "".join(f"-{output.id}" for output in outputs)
    return f"{outputs[0].item[: LONGEST_ID - len(ending)]}{ending}"


def rows_from_samples(samples: Sequence[SampleRow]) -> tuple[list[SourceRow], int]:
    """One row with a context and a text per sample that is not empty, and how many are empty."""
    rows = []
    for sample in samples:
        cells = {
            "sample_id": f"{sample.context_id}-{sample.model}-{sample.decoder}-{sample.number}",
            "context": sample.context,
            "text": sample_text(sample.text),
            **label_cells(sample.label),
            "model": sample.model,
            "decoder": sample.decoder,
        }
        rows.append(SourceRow(cells, (sample.id,)))
    written = [row for row in rows if row.cells["text"]]
    return written, len(rows) - len(written)


def rows_from_outputs(outputs: Sequence[SourceOutput]) -> list[SourceRow]:
    """One row with a context and a text per output."""
    rows = []
    for output in outputs:
        cells = {
            "sample_id": output_name(output),
            "context": output.context,
            "text": "\n\n".join(output.texts),
            **label_cells(output.label),
            "writer": output.author,
            "arm": output.arm,
        }
        rows.append(SourceRow(cells, (output.id,)))
    return rows
