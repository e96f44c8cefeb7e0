"""All options in order, best first."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind, QuestionDescription, Scale
from analysis.quality_control.work import as_number
from annotation.languages import gettext as _
from annotation.task_types.questions import (
    Answer,
    AnswerError,
    Asked,
    Form,
    Option,
    Question,
    Right,
    Sketch,
    Stored,
    describe_options,
    joined_target,
)
from annotation.task_types.settings import ConfigForm, OptionsField

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker


class RankingForm(ConfigForm):
    """The options to order, as a study describes them."""

    options = OptionsField(label="Options")


@dataclass(frozen=True, slots=True)
class RankingQuestion(Question):
    """All options in order, best first. Each option gives a rating: its rank from 1. The target is its key."""

    kind: ClassVar[Kind] = "ranking"
    kind_name: ClassVar[str] = "Order of options"
    options: tuple[Option, ...] = ()
    settings_form: ClassVar[type[forms.Form] | None] = RankingForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        return cls(**asked.arguments(), options=tuple(Option(**row) for row in settings["options"]))

    def drawn(self, values: Form) -> dict[str, Any]:
        fields = ((option, self.field(option)) for option in self.options)
        return {
            "options": [(option, field, values.get(field, "")) for option, field in fields],
            "ranks": [str(rank) for rank in range(1, len(self.options) + 1)],
        }

    @property
    def sketch(self) -> Sketch:
        return Sketch("tick", len(self.options))

    def field(self, option: Option) -> str:
        return f"{self.key}.{option.key}"

    def clean(self, form: Form) -> Answer:
        ranks = {option.key: form.get(self.field(option), "").strip() for option in self.options}
        if not any(ranks.values()):
            if self.required:
                raise AnswerError(_("Please give each option a rank."))
            return None
        each_rank_once = [str(rank) for rank in range(1, len(self.options) + 1)]
        if sorted(ranks.values(), key=lambda rank: (len(rank), rank)) != each_rank_once:
            raise AnswerError(_("Please use each rank from 1 to %(last)s exactly once.") % {"last": len(self.options)})
        return sorted(ranks, key=lambda key: int(ranks[key]))

    def typed(self, answer: Answer) -> dict[str, str]:
        order = answer if isinstance(answer, list) else []
        return {f"{self.key}.{key}": str(rank) for rank, key in enumerate(order, start=1)}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, list)  # noqa: S101 - `clean` made it
        return [Stored(joined_target(self.target, key), float(rank)) for rank, key in enumerate(answer, start=1)]

    @property
    def stored_on(self) -> Scale:
        return Scale.numbered("rank", max(2, len(self.options)), low="best", high="worst")

    def describe(self) -> QuestionDescription:
        return describe_options(self, self.options)

    def score(self) -> None:
        """None: ranks are about options, and those of all options always have the same mean."""

    def names(self) -> Mapping[float | str, str]:
        return {option.key: option.label for option in self.options}

    def in_words(self, answer: Answer) -> str:
        names = self.names()
        return " > ".join(names.get(key, key) for key in answer) if isinstance(answer, list) else ""

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        keys = [option.key for option in self.options]
        rng.shuffle(keys)
        return self.typed(keys)

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """The options in the order of their right ranks, then two of them swapped."""
        keys = [option.key for option in self.options]
        right_rank = {}
        for key in keys:
            numbers = [as_number(answer) for answer in right(joined_target(self.target, key))]
            right_rank[key] = min((number for number in numbers if number), default=len(keys) / 2 + 0.25)
        best = sorted(keys, key=right_rank.__getitem__)
        yield best
        for first, second in combinations(range(len(best)), 2):
            swapped = list(best)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            yield swapped
