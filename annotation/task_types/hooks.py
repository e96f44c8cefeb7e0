"""Parts of the interface of a task type: where items come from, and work for members of a study.

``base.TaskType`` has all of them. See there for the rest of the interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from annotation.task_types.items import Json, Row, RowProblem, SourceOutput, SourceRow
from annotation.task_types.settings import ConfigForm

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a new study is, in fields of the study: the sizes of the published study where it tells them.

    Study files and the console's form start with these. A reward is never suggested: a study that does not name one
    must not promise money.
    """

    items_per_hit: int = 1
    ratings_per_item: int = 10
    hits_per_worker: int | None = 1


class Sources:
    """Items from generated samples and from the outputs of other studies."""

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

    def add_file(
        self, made: Sequence[SourceRow], rows: Sequence[Row], options: Json
    ) -> tuple[list[SourceRow], list[RowProblem]]:
        """The rows of a file to add to those ``made`` from samples, and the problems in the file. See `adds_file`."""
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


class MembersWork:
    """Types whose workers are members of the study instead of people from outside."""

    #: Whether members do the work, as coders who start on a page of the console. Such a study has no link, no
    #: platform and no reward.
    for_members: ClassVar[bool] = False
    #: The topic of the question with several choices whose answers members compare and settle. Empty: none.
    adjudicates: ClassVar[str] = ""
