"""absHDS and aspHDS: how diverse is the set, overall or in one aspect?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django import forms

from annotation.task_types.base import Page, Shown
from annotation.task_types.hds.hds_scales import DIVERSITY
from annotation.task_types.hds.hds_type import HdsConfig, HdsType, rough_diversity, shuffled_places
from annotation.task_types.hds.sets_from_sources import DrawnSetsForm, drawn_rows, output_rows, set_rows
from annotation.task_types.items import ItemData, Json, SourceOutput, SourceRow
from annotation.task_types.questions import Question
from annotation.task_types.wording import TASK_WORDS

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


class OneSet(HdsType):
    """A type whose item is one set. Makes items from samples and outputs for its subclasses."""

    sample_form = DrawnSetsForm

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        return set_rows(samples, options)

    def choose_rows(self, rows: Sequence[SourceRow], options: Json) -> Sequence[SourceRow]:
        return drawn_rows(rows, options)

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        return output_rows(outputs)


class AbsHds(OneSet):
    """One set, one question, nine points."""

    name = "abs_hds"
    title = "absHDS"
    summary = "How diverse is a set of responses? One rating per set, from 1 to 5 in half steps."
    scale = DIVERSITY
    balance = "The order of the sets in a task, and of the responses within a set, was random for every worker."

    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """The responses in random order. The warm-up is about the first one in the file, wherever it is shown."""
        return {"responses": shuffled_places(item.payload["responses"], rng)}

    def judge_page(self, shown: Shown, index: int, common: Json) -> Page:
        responses = shown.items[index].payload["responses"]
        context = common | {"responses": [responses[number] for number in shown.order["shown"][index]["responses"]]}
        name = f"diversity-{common['place']}"
        return Page(name, "Judge the set", "hds/judge.html", [self.main_question(shown.texts)], context, index)

    def ask(self, config: Json) -> str:
        return f"How diverse is this set of {TASK_WORDS[config['generation_task']]['responses']}?"

    def task_in_words(self, config: Json) -> str:
        return f"you read a set of {TASK_WORDS[config['generation_task']]['responses']} and say how diverse the set is"

    def define(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        return (
            f"A set is diverse when its {plural} differ from each other in what they say and how they say it. It is "
            "not diverse when they all say much the same thing."
        )

    def true_score(self, shown: Shown, page: Page, question: Question) -> float:
        return rough_diversity(shown.items[page.item or 0].payload["responses"])


class AspHdsConfig(HdsConfig):
    """Settings of aspHDS."""

    aspect = forms.ChoiceField(
        label="Aspect",
        choices=[("content", "Content: what is said"), ("form", "Form: how it is said")],
        initial="content",
        help_text="The one aspect of diversity that workers judge.",
    )


class AspHds(AbsHds):
    """The same question about one named aspect."""

    name = "asp_hds"
    title = "aspHDS"
    summary = "How diverse is a set of responses in one aspect: content (what is said) or form (how it is said)?"
    config_form = AspHdsConfig

    def ask(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        way = "what they say" if config["aspect"] == "content" else "how they say it"
        return f"How diverse is the {config['aspect']} of these {plural} ({way})?"

    def task_in_words(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        return f"you read a set of {plural} and say how diverse their {config['aspect']} is"

    def define(self, config: Json) -> str:
        if config["aspect"] == "content":
            return (
                "Content is what they say. Saying the same thing in other words is not diverse; saying different "
                "things in much the same words is."
            )
        return (
            "Form is how they say it: words, order, style and tone. Saying the same thing in other words is diverse; "
            "saying different things in sentences of one pattern is not."
        )
