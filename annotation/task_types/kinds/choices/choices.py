"""Any number of options, as check boxes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind, QuestionDescription, Scale
from annotation.languages import ngettext
from annotation.task_types.answer_rules import About, RulesRead, chosen_in
from annotation.task_types.for_judges import ForJudge, NoAnswer, letter_in, lettered, options_in_words
from annotation.task_types.questions import (
    CHOSEN,
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
from annotation.task_types.settings import ConfigForm, OptionsField, refuse_crossed_limits

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker


class ChoicesForm(ConfigForm):
    """Options as a study describes them, and how many may be chosen."""

    options = OptionsField(label="Options", least=1)
    least = forms.IntegerField(label="Choose at least", min_value=0, initial=0, required=False)
    most = forms.IntegerField(label="Choose at most", min_value=1, required=False, help_text="Empty: any number.")

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        settings["least"] = settings.get("least") or 0
        refuse_crossed_limits(self, "least", "most", "highest number")
        options = settings.get("options")
        if options and settings["least"] > len(options):
            self.add_error("least", f"There are only {len(options)} options.")
        return settings


@dataclass(frozen=True, slots=True)
class ChoicesQuestion(Question):
    """Any number of options. Each option gives a rating: 1 if chosen, else 0. The target is its key."""

    kind: ClassVar[Kind] = "choices"
    kind_name: ClassVar[str] = "Any number of options"
    options: tuple[Option, ...] = ()
    least: int = 0
    most: int | None = None
    settings_form: ClassVar[type[forms.Form] | None] = ChoicesForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        options = tuple(Option(**row) for row in settings["options"])
        return cls(**asked.arguments(), options=options, least=settings["least"], most=settings.get("most"))

    def drawn(self, values: Form) -> dict[str, Any]:
        fields = ((option, self.field(option)) for option in self.options)
        return {"options": [(option, field, values.get(field, "")) for option, field in fields]}

    def for_judge(self) -> ForJudge:
        options = lettered(self.options)
        least = max(self.least, 1 if self.required else 0)
        limits = f"at least {least}" + (f", at most {self.most}" if self.most is not None else "")

        def read(value: Any) -> Form:
            if not isinstance(value, list):
                raise NoAnswer("a list of letters")
            return {self.field(letter_in(letter, options)): "yes" for letter in value}

        ask = f"A list of the letters that apply ({limits}): {options_in_words(options)}"
        return ForJudge(ask, {"type": "array", "items": {"type": "string", "enum": list(options)}}, read)

    @property
    def sketch(self) -> Sketch:
        return Sketch("tick", len(self.options))

    def field(self, option: Option) -> str:
        return f"{self.key}.{option.key}"

    def clean(self, form: Form) -> Answer:
        chosen = [option.key for option in self.options if form.get(self.field(option))]
        least = max(self.least, 1) if self.required or chosen else 0
        if len(chosen) < least:
            raise AnswerError(
                ngettext("Please choose at least one.", "Please choose at least %(limit)s.", least) % {"limit": least}
            )
        if self.most is not None and len(chosen) > self.most:
            message = ngettext(
                "Please choose at most %(limit)s; you chose %(count)s.",
                "Please choose at most %(limit)s; you chose %(count)s.",
                self.most,
            )
            raise AnswerError(message % {"limit": self.most, "count": len(chosen)})
        return chosen

    def typed(self, answer: Answer) -> dict[str, str]:
        chosen = answer if isinstance(answer, list) else []
        return {self.field(option): "yes" for option in self.options if option.key in chosen}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, list)  # noqa: S101 - `clean` made it
        return [Stored(joined_target(self.target, option.key), float(option.key in answer)) for option in self.options]

    @property
    def stored_on(self) -> Scale:
        return CHOSEN

    def describe(self) -> QuestionDescription:
        return describe_options(self, self.options)

    def names(self) -> Mapping[float | str, str]:
        return {option.key: option.label for option in self.options}

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        least = max(self.least, 1 if self.required else 0)
        count = rng.randint(least, self.most or len(self.options))
        return self.typed(rng.sample([option.key for option in self.options], count))

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``{a, b}``: exactly these options."""
        return chosen_in(cell, [option.key for option in self.options], self._can_be_chosen)

    def _can_be_chosen(self, keys: list[str]) -> bool:
        try:
            return self.clean(self.typed(keys)) is not None
        except AnswerError:
            return False

    def alternatives(self, right: Right) -> Iterator[Answer]:
        keys = [option.key for option in self.options]
        right_keys = [key for key in keys if "1" in right(joined_target(self.target, key))]
        yield list(right_keys)
        yield list(keys)
        for key in keys:
            yield [key]
            yield [name for name in keys if (name in right_keys) != (name == key)]
