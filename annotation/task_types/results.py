"""What a study's report computes, compares and shows: a type's declarations."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.description import Factor, ReportSection, Score
from annotation.task_types.items import Json


class Results:
    """The hooks of a task type for its report."""

    def scores(self, config: Json) -> Sequence[Score]:
        """The scores of an item or of its parts; none for types whose data are texts.

        A score is a question's, with its topic, or is computed from several: then it has ``terms`` and a topic that no
        question has. `analysis.scores` computes it for the report, the console, the API and the exports alike.
        """
        return ()

    def factors(self, config: Json) -> Sequence[Factor]:
        """What findings compare if the researcher declares nothing: the attributes by which people ask of this
        instrument which is better. The most important first.

        Each names what has its levels (see `analysis.description.Factor`): a column of the items, the columns of an
        item's parts (of a pair, first the part that a positive rating favours), a setting in which arms differ, a topic
        of a question about the workers. It may name what a study lacks: a suggestion is used only if there are two
        levels or more, and none that says the same comes before. Default: none. Columns with a name such as ``system``
        or ``domain``, the items' parameter and the arms need no mention: `analysis.factors` suggests them for every
        type.
        """
        return ()

    def sections(self, config: Json) -> Sequence[ReportSection]:
        """Sections of `analysis.report` besides the general ones, with their parameters."""
        return ()
