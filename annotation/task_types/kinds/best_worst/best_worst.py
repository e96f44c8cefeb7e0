"""Best–worst scaling: which of these is best, and which is worst?

Source: Louviere and Woodworth 1991; for texts Kiritchenko and Mohammad 2017, §3. Each option gets a rating: 1 if it is
the best, −1 if it is the worst, 0 for the others. Their mean is the published score: the share as best minus the share
as worst.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind, Point, QuestionDescription, Scale, Score
from annotation.languages import gettext
from annotation.task_types.answer_rules import About, RulesRead, above_in
from annotation.task_types.for_judges import (
    ForJudge,
    NoAnswer,
    letter_in,
    lettered,
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

#: Of two, the choice of the best says everything.
FEWEST = 3
MOST_ALTERNATIVES = 12
BEST_WORST = Scale("best_worst", "ordinal", (Point(1.0, "best"), Point(0.0, "neither"), Point(-1.0, "worst")))


class BestWorstForm(ConfigForm):
    """What is compared, as a study describes it."""

    options = OptionsField(
        label="Options", least=0, help_text="At least three. Empty: the texts of the item, in the order shown."
    )
    best_label = forms.CharField(label="Name of the first column", max_length=60, initial="Best", required=False)
    worst_label = forms.CharField(label="Name of the second column", max_length=60, initial="Worst", required=False)

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        options = settings.get("options")
        if options and len(options) < FEWEST:
            self.add_error("options", f"Best and worst need at least {FEWEST} options; there are {len(options)}.")
        for name, default in (("best_label", "Best"), ("worst_label", "Worst")):
            settings[name] = settings.get(name) or default
        return settings


@dataclass(frozen=True, slots=True)
class BestWorstQuestion(Question):
    """The best and the worst of the options. The answer lists the keys of both, best first."""

    kind: ClassVar[Kind] = "best_worst"
    kind_name: ClassVar[str] = "Best and worst"
    styles: ClassVar[Sequence[str]] = ("best-worst.css",)
    settings_form: ClassVar[type[forms.Form] | None] = BestWorstForm
    options: tuple[Option, ...] = ()
    best_label: str = "Best"
    worst_label: str = "Worst"
    #: Whether the options are the item's texts.
    of_texts: bool = False

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        options = tuple(Option(**row) for row in settings["options"])
        labels = {name: settings[name] for name in ("best_label", "worst_label")}
        return cls(**asked.arguments(), options=options, of_texts=not options, **labels)

    def of_item(self, texts: Mapping[str, str]) -> Question:
        if not self.of_texts:
            return self
        return replace(self, options=tuple(Option(name, text) for name, text in texts.items()))

    @property
    def fields(self) -> tuple[str, str]:
        """The form fields of the best and of the worst."""
        return f"{self.key}.best", f"{self.key}.worst"

    def drawn(self, values: Form) -> dict[str, Any]:
        best, worst = (values.get(field, "") for field in self.fields)
        fields = dict(zip(("best_field", "worst_field"), self.fields, strict=True))
        return fields | {
            "rows": [(option, option.key == best, option.key == worst) for option in self.options],
        }

    def for_judge(self) -> ForJudge:
        options = lettered(self.options)

        def read(value: Any) -> Form:
            if not isinstance(value, dict):
                raise NoAnswer("an object with best and worst")
            chosen = (letter_in(value.get(name), options).key for name in ("best", "worst"))
            return dict(zip(self.fields, chosen, strict=True))

        listed = ", ".join(options) if self.of_texts else options_in_words(options)
        ask = f"An object with two letters, best ({self.best_label}) and worst ({self.worst_label}): {listed}"
        letter = {"type": "string", "enum": list(options)}
        properties = {"best": letter, "worst": letter}
        schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
        return ForJudge(ask, schema, read, texts_in_words(options) if self.of_texts else "")

    @property
    def shows_text(self) -> bool:
        return self.of_texts

    @property
    def sketch(self) -> Sketch:
        return Sketch("dot", len(self.options) or FEWEST)

    def clean(self, form: Form) -> Answer:
        best, worst = (form.get(field, "").strip() for field in self.fields)
        keys = {option.key for option in self.options}
        if not best and not worst and not self.required:
            return None
        if best not in keys:
            raise AnswerError(gettext("Please choose which is best."))
        if worst not in keys:
            raise AnswerError(gettext("Please choose which is worst."))
        if best == worst:
            raise AnswerError(gettext("You chose the same one as best and as worst. Please change one of them."))
        return [best, worst]

    def typed(self, answer: Answer) -> dict[str, str]:
        chosen = answer if isinstance(answer, list) else []
        return dict(zip(self.fields, chosen, strict=False))

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, list)  # noqa: S101 - `clean` made it
        value = {answer[0]: 1.0, answer[1]: -1.0}
        return [Stored(joined_target(self.target, option.key), value.get(option.key, 0.0)) for option in self.options]

    @property
    def stored_on(self) -> Scale:
        return BEST_WORST

    def score(self) -> Score:
        """The published score of each option: its share as best minus its share as worst."""
        return Score(self.topic, self.label, low=-1, high=1, over="part")

    def describe(self) -> QuestionDescription:
        return describe_options(self, self.options)

    def names(self) -> Mapping[float | str, str]:
        return {option.key: option.label for option in self.options}

    def in_words(self, answer: Answer) -> str:
        if not isinstance(answer, list):
            return ""
        names = self.names()
        best, worst = (names.get(key, key) for key in answer)
        return f"{self.best_label}: {best}; {self.worst_label}: {worst}"

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """By the true quality of each option, the same for all workers, with error."""
        keys = [option.key for option in self.options]
        if worker.profile == "careless":
            return self.typed(rng.sample(keys, 2))
        quality = {key: random.Random(f"{item}/{self.topic}/{key}").random() for key in keys}
        judged = sorted(keys, key=lambda key: worker.placed(quality[key], 0, 1, rng))
        return self.typed([judged[-1], judged[0]])

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``first > second``: one is the best, or the other the worst."""
        return above_in(cell, about, most=3)

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """The right pair if both are known, then other pairs."""
        keys = [option.key for option in self.options]
        best = [key for key in keys if "1" in right(joined_target(self.target, key))] or keys
        worst = [key for key in keys if "-1" in right(joined_target(self.target, key))] or keys
        pairs = [[first, last] for first in best for last in worst if first != last]
        every: Sequence[list[str]] = [*pairs[:1], *map(list, permutations(keys, 2))]
        yield from every[:MOST_ALTERNATIVES]
