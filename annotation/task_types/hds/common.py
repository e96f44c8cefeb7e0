"""What the four HDS types share: settings, warm-up, texts, simulated answers."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from django import forms

from annotation.task_types.base import (
    ConfigForm,
    FlagData,
    ItemData,
    Json,
    Problem,
    Profile,
    Row,
    Score,
    Shown,
    StepSpec,
    TaskType,
)
from annotation.task_types.hds.sets import name_sets, read_sets, set_columns
from annotation.task_types.questions import Answer, Question, Scale, TextQuestion
from annotation.task_types.text_checks import text_flags

QUALITY = Scale.of("quality", "ordinal", ["Excellent", "Good", "Somewhat", "Poor", "Invalid"], half_steps=True)

#: Wording by generation task: what the context is called, what one response is, and what the worker writes.
WORDING = {
    "story": {
        "context": "Beginning of a story",
        "response": "ending",
        "responses": "endings",
        "write": "Write your own ending for this story in one sentence.",
        "fit": "How well does this ending fit the story?",
    },
    "response": {
        "context": "Comment",
        "response": "reply",
        "responses": "replies",
        "write": "Write your own reply to this comment in one sentence.",
        "fit": "How well does this reply fit the comment?",
    },
    "prompt": {
        "context": "First words of a sentence",
        "response": "continuation",
        "responses": "continuations",
        "write": "Continue these words in your own way, up to the end of the sentence.",
        "fit": "How well does this continuation fit the first words?",
    },
}

#: What simulated workers write as their own response.
OWN_RESPONSES = (
    "In the end everybody went home and had a long quiet dinner.",
    "I would rather wait until tomorrow and ask somebody who knows.",
    "That sounds like a good reason to try something different.",
    "Nobody expected the weather to change so quickly that day.",
    "My neighbour told me almost the same thing last week.",
    "They looked at each other and started to laugh out loud.",
    "It took a while, but the plan worked better than before.",
    "Perhaps the old answer was the right one after all.",
)
NOISE = {"careful": 0.5, "noisy": 1.3}


class HdsConfig(ConfigForm):
    """Settings of the HDS family."""

    generation_task = forms.ChoiceField(
        label="What the responses are",
        choices=[
            ("story", "Story completion: endings of a story"),
            ("response", "Response generation: replies to a comment"),
            ("prompt", "Prompt completion: continuations of a few words"),
        ],
        initial="response",
        help_text="Gives the context and the responses their names on the page.",
    )
    write_first = forms.BooleanField(
        label="Warm-up: workers write a response of their own",
        initial=True,
        required=False,
        help_text="Before they see the set. Published studies do this.",
    )
    rate_first = forms.BooleanField(
        label="Warm-up: workers rate the quality of the first response",
        initial=True,
        required=False,
        help_text="Then they are told to ignore quality. Published studies do this.",
    )
    max_words = forms.IntegerField(
        label="Most words in the worker's own response", min_value=3, max_value=200, initial=15
    )
    empty_responses = forms.ChoiceField(
        label="Empty cells among the responses",
        choices=[
            ("keep", "are empty responses, and shown as such"),
            ("drop", "mean that the set is smaller"),
        ],
        initial="keep",
    )


class HdsType(TaskType):
    """Warm-up, then the diversity question of the subclass."""

    config_form = HdsConfig
    source = "Tevet & Berant 2021, §4, §6.2, appendix A"
    report_sections = ("diversity",)
    run_format = "diversity"
    scale: Scale
    topic: str = "diversity"

    def columns(self, config: Json) -> str:
        return (
            "One row per response set: sample_id, context, resp_0, resp_1 … (2 to 10 responses). Optional: label_name "
            "and label_value, the parameter that should change diversity (temp and 0.7, or content_diversity and 0 or "
            "1). Further columns are kept and come back in exports. The released diversity-eval files load as they are."
        )

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[Problem]]:
        sets, problems = read_sets(rows, keep_empty=config["empty_responses"] == "keep")
        return ([] if problems else name_sets(sets)), problems

    def export_columns(self, payload: Json) -> dict[str, str]:
        return set_columns(payload)

    def parameter(self, payload: Json) -> tuple[str, float] | None:
        if payload["label_value"] is None:
            return None
        return payload["label_name"], float(payload["label_value"])

    def responses(self, payload: Json) -> list[str]:
        return list(payload["responses"])

    def scores(self) -> Sequence[Score]:
        return (Score(self.topic, self.title, +1),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the hit's items under ``items``, and what `arrange_item` gives for each under ``shown``."""
        places = shuffled_places(items, rng)
        return {"items": places, "shown": [self.arrange_item(item, slot=slot, rng=rng) for item in items]}

    @abstractmethod
    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """What of one item is shown in which order. Stored under ``shown``, by the item's index in the hit."""

    def steps(self, shown: Shown, texts: Mapping[str, str]) -> list[StepSpec]:
        pages: list[StepSpec] = []
        for place, index in enumerate(shown.order["items"], start=1):
            item = shown.items[index]
            common = {
                "wording": WORDING[shown.config["generation_task"]],
                "context_text": item.payload["context"],
                "place": place,
                "places": len(shown.items),
            }
            if shown.config["write_first"]:
                pages.append(self._write_page(shown, index, common))
            if shown.config["rate_first"]:
                pages.append(self._quality_page(item, index, common))
            pages.append(self.judge_page(shown, index, common | {"ignore_quality": texts["ignore_quality"]}))
        return pages

    def _write_page(self, shown: Shown, index: int, common: Json) -> StepSpec:
        most = shown.config["max_words"]
        question = TextQuestion(
            "own",
            str(common["wording"]["write"]),
            "own_response",
            help=f"One sentence, at most {most} words.",
            max_words=most,
        )
        title = f"Write your own {common['wording']['response']}"
        return StepSpec(f"write-{common['place']}", title, "hds/write.html", [question], common, index)

    def _quality_page(self, item: ItemData, index: int, common: Json) -> StepSpec:
        question = Question("quality", str(common["wording"]["fit"]), "quality", QUALITY, about="0")
        context = common | {"first": self.first_response(item.payload)}
        name = f"quality-{common['place']}"
        title = f"Rate one {common['wording']['response']}"
        return StepSpec(name, title, "hds/quality.html", [question], context, index)

    def first_response(self, payload: Json) -> str:
        return str(payload["responses"][0])

    @abstractmethod
    def judge_page(self, shown: Shown, index: int, common: Json) -> StepSpec:
        """The page with the diversity question of this type about ``shown.items[index]``."""

    def question_topics(self, config: Json) -> dict[str, Question]:
        wording = WORDING[config["generation_task"]]
        topics: dict[str, Question] = {}
        if config["write_first"]:
            topics["own_response"] = TextQuestion("own", wording["write"], "own_response")
        if config["rate_first"]:
            topics["quality"] = Question("quality", wording["fit"], "quality", QUALITY)
        topics[self.topic] = Question(self.topic, self.ask(config), self.topic, self.scale)
        return topics

    @abstractmethod
    def ask(self, config: Json) -> str:
        """The diversity question as workers read it."""

    # --- texts ---

    def default_texts(self, config: Json) -> dict[str, str]:
        wording = WORDING[config["generation_task"]]
        parts = []
        if config["write_first"]:
            parts.append(f"you write one {wording['response']} of your own")
        if config["rate_first"]:
            parts.append(f"you say how well one {wording['response']} fits")
        parts.append(self.task_in_words(config))
        order = (["First"] if len(parts) > 1 else []) + ["Then"] * (len(parts) - 2)
        sentences = [f"{word} {part}." for word, part in zip(order, parts, strict=False)]
        last = f"Last, {parts[-1]}." if len(parts) > 1 else f"{parts[-1][0].upper()}{parts[-1][1:]}."
        return {
            "instructions": "\n\n".join([" ".join([*sentences, last]), self.explain(config)]),
            "ignore_quality": (
                "From here on, ignore quality: it does not matter whether what you read is good, true or well written. "
                "Judge only what is asked below."
            ),
        }

    @abstractmethod
    def task_in_words(self, config: Json) -> str:
        """What the worker does for the main question, as a clause that begins with “you”."""

    @abstractmethod
    def explain(self, config: Json) -> str:
        """What the words of the main question mean, as whole sentences."""

    # --- flags and bots ---

    def flags(
        self, shown: Shown, steps: Sequence[StepSpec], answers: Sequence[Mapping[str, Answer]], *, pastes: int
    ) -> Iterable[FlagData]:
        for step, given in zip(steps, answers, strict=True):
            own = given.get("own")
            if isinstance(own, str):
                payload = shown.items[step.item].payload
                yield from text_flags(own, sources=[payload["context"], *self.all_responses(payload)])
        if pastes:
            yield FlagData("pasted", f"Text was pasted {pastes} time{'s' if pastes > 1 else ''}.")

    def all_responses(self, payload: Json) -> list[str]:
        return self.responses(payload)

    def simulate(self, shown: Shown, step: StepSpec, *, profile: Profile, rng: random.Random) -> dict[str, str]:
        form: dict[str, str] = {}
        payload = shown.items[step.item].payload
        for question in step.questions:
            if isinstance(question, TextQuestion):
                words = rng.choice(OWN_RESPONSES).split() if profile != "careless" else ["ok"]
                form[question.key] = " ".join(words[: question.max_words])
            elif question.topic == "quality":
                fit = 4.0 if self.first_response(payload).strip() else 1.0
                form[question.key] = nearest_point(question.scale, fit, profile, rng)
            else:
                form[question.key] = nearest_point(question.scale, self.true_score(shown, step, question), profile, rng)
        return form

    @abstractmethod
    def true_score(self, shown: Shown, step: StepSpec, question: Question) -> float:
        """What an ideal simulated worker would answer: a rough figure from the words alone."""


def nearest_point(scale: Scale, true: float, profile: Profile, rng: random.Random) -> str:
    """The point that a simulated worker chooses when ``true`` is right."""
    if profile == "careless":
        return rng.choice(scale.points).key
    wanted = true + rng.gauss(0, NOISE[profile])
    return min(scale.points, key=lambda point: abs(point.value - wanted)).key


def shuffled_places(things: Sequence[object], rng: random.Random) -> list[int]:
    """The indices of ``things`` in random order."""
    places = list(range(len(things)))
    rng.shuffle(places)
    return places


def words_of(text: str) -> set[str]:
    return {word.strip(".,;:!?\"'").casefold() for word in text.split()} - {""}


def word_overlap(first: str, second: str) -> float:
    """Shared words over all words of two texts, 0 to 1; two empty texts share everything."""
    one, two = words_of(first), words_of(second)
    return len(one & two) / len(one | two) if one | two else 1.0


def rough_diversity(responses: Sequence[str]) -> float:
    """1 (all the same words) to 5 (no word shared by any two), for simulated workers only."""
    pairs = [word_overlap(first, second) for at, first in enumerate(responses) for second in responses[at + 1 :]]
    return 5.0 - 4.0 * min(1.0, 1.6 * sum(pairs) / len(pairs))
