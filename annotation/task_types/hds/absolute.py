"""absHDS and aspHDS: how diverse is the set, over all or in one aspect?"""

from __future__ import annotations

import random

from django import forms

from annotation.task_types.base import ItemData, Json, Shown, StepSpec
from annotation.task_types.hds.common import WORDING, HdsConfig, HdsType, rough_diversity, shuffled_places
from annotation.task_types.questions import Question, Scale

DIVERSITY = Scale.of(
    "diversity",
    "ordinal",
    ["Very diverse", "Diverse", "Slightly diverse", "Almost not diverse", "Not diverse at all"],
    half_steps=True,
)


class AbsHds(HdsType):
    """One set, one question, nine points."""

    name = "abs_hds"
    title = "absHDS"
    summary = "How diverse is a set of responses? One rating per set, from 1 to 5 in half steps."
    scale = DIVERSITY

    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """The responses in random order. The warm-up is about the file's first one, wherever it stands."""
        return {"responses": shuffled_places(item.payload["responses"], rng)}

    def judge_page(self, shown: Shown, index: int, common: Json) -> StepSpec:
        question = Question(self.topic, self.ask(shown.config), self.topic, self.scale)
        responses = shown.items[index].payload["responses"]
        context = common | {"responses": [responses[at] for at in shown.order["shown"][index]["responses"]]}
        name = f"diversity-{common['place']}"
        return StepSpec(name, "Judge the set", "hds/judge.html", [question], context, index)

    def ask(self, config: Json) -> str:
        return f"How diverse is this set of {WORDING[config['generation_task']]['responses']}?"

    def task_in_words(self, config: Json) -> str:
        return f"you read a set of {WORDING[config['generation_task']]['responses']} and say how diverse the set is"

    def explain(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return (
            f"A set is diverse when its {plural} differ from each other in what they say and how they say it; it is "
            "not diverse when they all say much the same."
        )

    def true_score(self, shown: Shown, step: StepSpec, question: Question) -> float:
        return rough_diversity(shown.items[step.item].payload["responses"])


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
        plural = WORDING[config["generation_task"]]["responses"]
        way = "what they say" if config["aspect"] == "content" else "how they say it"
        return f"How diverse is the {config['aspect']} of these {plural} ({way})?"

    def task_in_words(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return f"you read a set of {plural} and say how diverse their {config['aspect']} is"

    def explain(self, config: Json) -> str:
        if config["aspect"] == "content":
            return (
                "Content is what they say: the same thing in other words is not diverse; different things in much the "
                "same words are."
            )
        return (
            "Form is how they say it: words, order, style and tone. The same thing in other words is diverse in form; "
            "different things in sentences of one pattern are not."
        )
