"""All options in order, best first.

With ties, each of several options in one place gets the mean of the ranks that they share (Kendall 1948, ch. 3), so
that the ranks of an answer always have the same sum: 1, 2.5, 2.5, 4.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from analysis.description import Kind, Point, QuestionDescription, Scale, Score
from analysis.quality_control.work import as_number
from annotation.languages import gettext as _
from annotation.task_types.answer_rules import About, RulesRead, above_in
from annotation.task_types.for_judges import (
    ForJudge,
    NoAnswer,
    letter_in,
    lettered,
    number_of,
    options_in_words,
    texts_in_words,
)
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


#: Between options in one place.
TIED = "="
#: A simulated worker sees no difference between options that are closer, from 0 to 1.
CLOSE = 0.05


class RankingForm(ConfigForm):
    """The options to order, as a study describes them."""

    options = OptionsField(label="Options", least=0, help_text="Empty: the texts of the item, in the order shown.")
    ties = forms.BooleanField(label="Several may have the same rank", initial=False, required=False)

    def clean_options(self) -> list[dict[str, str]]:
        options: list[dict[str, str]] = self.cleaned_data["options"]
        if len(options) == 1:
            raise ValidationError("One option has no order. Name at least two.", code="least")
        return options


def _tied(answer: Answer) -> list[list[str]]:
    """The keys in each place, best first."""
    return [place.split(TIED) for place in answer] if isinstance(answer, list) else []


@dataclass(frozen=True, slots=True)
class RankingQuestion(Question):
    """All options in order, best first. Each option gives a rating: its rank from 1. The target is its key.

    The answer lists the keys; options in one place are joined by ``=``.
    """

    kind: ClassVar[Kind] = "ranking"
    kind_name: ClassVar[str] = "Order of options"
    options: tuple[Option, ...] = ()
    settings_form: ClassVar[type[forms.Form] | None] = RankingForm
    scripts: ClassVar[Sequence[str]] = ("ranking.js",)
    styles: ClassVar[Sequence[str]] = ("ranking.css",)
    ties: bool = False
    #: Whether the options are the item's texts.
    of_texts: bool = False

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        options = tuple(Option(**row) for row in settings["options"])
        return cls(**asked.arguments(), options=options, ties=settings["ties"], of_texts=not options)

    def of_item(self, texts: Mapping[str, str]) -> Question:
        if not self.of_texts:
            return self
        return replace(self, options=tuple(Option(name, text) for name, text in texts.items()))

    @property
    def shows_text(self) -> bool:
        return self.of_texts

    def drawn(self, values: Form) -> dict[str, Any]:
        fields = ((option, self.field(option)) for option in self.options)
        return {
            "options": [(option, field, values.get(field, "")) for option, field in fields],
            "ranks": [str(rank) for rank in range(1, len(self.options) + 1)],
        }

    def for_judge(self) -> ForJudge:
        options = lettered(self.options)
        last = len(options)

        def read(value: Any) -> Form:
            if not isinstance(value, dict):
                raise NoAnswer("an object with a rank for each letter")
            ranks = {letter_in(letter, options).key: number_of(rank) for letter, rank in value.items()}
            return {f"{self.key}.{key}": f"{rank:g}" for key, rank in ranks.items()}

        each = "several may have the same" if self.ties else "each rank once"
        listed = ", ".join(options) if self.of_texts else options_in_words(options)
        ask = f"An object with the rank of each letter from 1 (best) to {last}, {each}: {listed}"
        ranks = {letter: {"type": "integer", "minimum": 1, "maximum": last} for letter in options}
        schema = {"type": "object", "properties": ranks, "required": list(options), "additionalProperties": False}
        return ForJudge(ask, schema, read, texts_in_words(options) if self.of_texts else "")

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
        last = len(self.options)
        possible = {str(rank): rank for rank in range(1, last + 1)}
        if self.ties:
            if not all(rank in possible for rank in ranks.values()):
                message = _("Please give each option a rank from 1 to %(last)s. Several may have the same.")
                raise AnswerError(message % {"last": last})
            places: dict[int, list[str]] = {}  # the keys with each rank
            for key, rank in ranks.items():
                places.setdefault(possible[rank], []).append(key)
            return [TIED.join(places[rank]) for rank in sorted(places)]
        if sorted(ranks.values(), key=lambda rank: (len(rank), rank)) != list(possible):
            raise AnswerError(_("Please use each rank from 1 to %(last)s exactly once.") % {"last": last})
        return sorted(ranks, key=lambda key: int(ranks[key]))

    def typed(self, answer: Answer) -> dict[str, str]:
        typed: dict[str, str] = {}
        for tied in _tied(answer):
            rank = str(len(typed) + 1)
            typed |= {f"{self.key}.{key}": rank for key in tied}
        return typed

    def stored(self, answer: Answer) -> list[Stored]:
        rows: list[Stored] = []
        for tied in _tied(answer):
            mean = len(rows) + (len(tied) + 1) / 2
            rows += [Stored(joined_target(self.target, key), mean) for key in tied]
        return rows

    def agrees(self, answer: Answer, right: Answer) -> bool:
        """Whether the order is the same."""
        return [set(tied) for tied in _tied(answer)] == [set(tied) for tied in _tied(right)]

    @property
    def stored_on(self) -> Scale:
        last = max(2, len(self.options))
        scale = Scale.numbered("rank", last, low="best", high="worst")
        if not self.ties:
            return scale
        halves = [Point(rank + 0.5) for rank in range(1, last)]
        return replace(scale, points=tuple(sorted((*scale.points, *halves), key=lambda point: point.value)))

    def describe(self) -> QuestionDescription:
        return describe_options(self, self.options)

    def score(self) -> Score | None:
        """Texts have the mean of their ranks, the lowest the best. None for options: all items have the same."""
        return Score(self.topic, self.label, sign=-1, low=1, over="part") if self.of_texts else None

    def names(self) -> Mapping[float | str, str]:
        return {option.key: option.label for option in self.options}

    def in_words(self, answer: Answer) -> str:
        names = self.names()
        return " > ".join(" = ".join(names.get(key, key) for key in tied) for tied in _tied(answer))

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """By the true quality of each option, the same for all workers, with error. Those close together are tied."""
        keys = [option.key for option in self.options]
        if worker.profile == "careless":
            rng.shuffle(keys)
            return self.typed(keys)
        quality = {key: random.Random(f"{item}/{self.topic}/{key}").random() for key in keys}
        judged = {key: worker.placed(quality[key], 0, 1, rng) for key in keys}
        order = sorted(keys, key=lambda key: -judged[key])
        places: list[str] = []
        for before, key in zip(["", *order], order, strict=False):
            if self.ties and before and judged[before] - judged[key] < CLOSE:
                places[-1] += TIED + key
            else:
                places.append(key)
        return self.typed(places)

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``first > second``: ranked better."""
        return above_in(cell, about, sign=-1)

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
