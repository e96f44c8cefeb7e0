"""Suggesters: a model with its decoder, its limits and the rules for what a writer may be shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields as fields_in
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from common.problems import Invalid, Problem, invalid, refuse_if_any, unknown
from generation.decoding.decoders import DecoderError, Limits, parse_decoder
from generation.decoding.prompts import TemplateError, fields_of, uses_entities
from generation.models import LanguageModel, Suggester
from generation.suggestions.cleaning import Rules
from generation.suggestions.suggester_uses import refuse_changes_in_use, snapshot_of

# One sentence. Most end within 25 tokens; of those that reach 40, most end before 60, and continuing them costs a
# writer less time than a new draw, which starts again at the first token.
DEFAULT_LIMITS: dict[str, Any] = {"max_new_tokens": 60, "stop": "sentence", "min_words": 4}
MOST_CHARACTERS = 2000
LEAST_WAIT, LONGEST_WAIT = 0.5, 120.0
MOST_TRIES = 10
MOST_ROUNDS = 1000
#: The field of a template that holds a story to continue.
STORY = "story"


def create_suggester(*, name: str, model: LanguageModel, decoder: str = "ancestral", **values: Any) -> Suggester:
    """A suggester under a new name. ``values``: limits, template, priming, least_characters, most_characters,
    word_list, wait_seconds, tries, active, created_by. Raises Invalid."""
    suggester = Suggester(
        name=name, model=model, decoder=decoder, limits=values.pop("limits", DEFAULT_LIMITS), **values
    )
    if model.retired:
        raise invalid("model", f"Model {model.name} is retired.", "Choose another model.")
    check(suggester)
    try:
        with transaction.atomic():
            suggester.save(force_insert=True)
    except IntegrityError:
        raise invalid("name", f"There is already a suggester {name}.", "Choose another name.") from None
    return suggester


def find_suggester(name: str) -> Suggester:
    """The suggester called ``name``. Raises Invalid, with the closest name that exists."""
    suggester = Suggester.objects.select_related("model").filter(name=name).first()
    if suggester is None:
        raise Invalid([unknown("suggester", name, Suggester.objects.order_by("name").values_list("name", flat=True))])
    return suggester


@transaction.atomic
def change_suggester(*, suggester: Suggester, **values: Any) -> Suggester:
    """Set these values. Suggestions that are still waiting use the new values. Raises Invalid, or InUse if a live study
    uses the suggester."""
    suggester = Suggester.objects.select_for_update(of=("self",)).select_related("model").get(pk=suggester.pk)
    before = snapshot_of(suggester)
    if "model" in values and values["model"] != suggester.model:
        values |= {"origin": {}, "other_origin": {}}
    for name, value in values.items():
        setattr(suggester, name, value)
    check(suggester)
    refuse_changes_in_use(suggester, before)
    suggester.save(update_fields=list(values))
    return suggester


def check(suggester: Suggester) -> None:
    """Put decoder and limits into their canonical form. Raises Invalid with every problem."""
    try:
        suggester.clean_fields(exclude=["model", "limits"])
    except ValidationError as error:  # values that the columns cannot hold
        raise Invalid([Problem(name, " ".join(texts)) for name, texts in error.message_dict.items()]) from None
    problems: list[Problem] = []
    try:
        suggester.decoder = parse_decoder(suggester.decoder).name
    except DecoderError as error:
        problems.append(Problem("decoder", str(error)))
    try:
        suggester.limits = limits_of(suggester).as_json()
    except Invalid as error:
        problems += error.problems
    try:
        if not fields_of(suggester.template) and not uses_entities(suggester.template):
            what = "It has no field, so every story would get the same prompt."
            problems.append(Problem("template", what, "Use one: {story}."))
    except TemplateError as error:
        problems.append(Problem("template", str(error)))
    least, most = suggester.least_characters, suggester.most_characters
    if not 1 <= least <= most <= MOST_CHARACTERS:
        fix = f"Use 1 to {MOST_CHARACTERS}; the minimum cannot exceed the maximum."
        problems.append(Problem("least_characters, most_characters", f"They are {least} and {most}.", fix))
    if not math.isfinite(suggester.wait_seconds) or not LEAST_WAIT <= suggester.wait_seconds <= LONGEST_WAIT:
        fix = f"Use {LEAST_WAIT:g} to {LONGEST_WAIT:g} seconds."
        problems.append(Problem("wait_seconds", f"It is {suggester.wait_seconds:g}.", fix))
    if not 1 <= suggester.tries <= MOST_TRIES:
        problems.append(Problem("tries", f"It is {suggester.tries}.", f"Use 1 to {MOST_TRIES}."))
    refuse_if_any(problems)


def limits_of(suggester: Suggester) -> Limits:
    """Its limits. Raises Invalid."""
    limits, names = suggester.limits, [limit.name for limit in fields_in(Limits)]
    if not isinstance(limits, Mapping) or set(limits) - set(names):
        raise invalid("limits", f"It is {limits!r}.", f"Use {', '.join(names)}, each with a value.")
    try:
        return Limits(**limits)
    except DecoderError as error:
        raise invalid("limits", str(error)) from None


def rules_of(suggester: Suggester) -> Rules:
    return Rules(
        least=suggester.least_characters,
        most=suggester.most_characters,
        one_sentence=limits_of(suggester).stop == "sentence",
        continues=STORY in fields_of(suggester.template),
        word_list=suggester.word_list,
    )
