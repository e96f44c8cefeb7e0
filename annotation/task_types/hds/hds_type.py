"""What the four HDS types share: settings, warm-up, pages, texts, simulated answers."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations

from django import forms

from analysis.description import ReportSection, Scale, Score
from annotation.task_types.base import FixedPages, Page, Shown, Text
from annotation.task_types.hds.hds_scales import QUALITY, ignore_quality, scale_for
from annotation.task_types.hds.sets import COLUMNS, name_sets, read_sets, set_columns, set_label, set_metrics
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, Row, RowProblem
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.placements import Placement, Seen, position_in
from annotation.task_types.questions import Question
from annotation.task_types.settings import ConfigForm, Sizes
from annotation.task_types.wording import TASK_WORDS, scale_texts, task_in_sentences, worded


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
        label="Warm-up: workers write their own response",
        initial=True,
        required=False,
        help_text="Before they see the set. Published studies do this.",
    )
    rate_first = forms.BooleanField(
        label="Warm-up: workers rate the quality of the first response",
        initial=True,
        required=False,
        help_text="The page then asks them to ignore quality. Published studies do this.",
    )
    max_words = forms.IntegerField(
        label="Maximum words in the worker's own response", min_value=3, max_value=200, initial=15
    )
    empty_responses = forms.ChoiceField(
        label="Empty cells among the responses",
        choices=[
            ("keep", "are empty responses, and shown as such"),
            ("drop", "mean that the set is smaller"),
        ],
        initial="keep",
    )


class HdsType(FixedPages):
    """Warm-up, then the diversity question of the subclass."""

    config_form = HdsConfig
    # Ten ratings of each set, one set per hit.
    suggested = Sizes(items_per_hit=1, ratings_per_item=10, hits_per_worker=None)
    source = "Tevet & Berant 2021, §4, §6.2, appendix A"
    balance = "The order of the sets in a task was random for every worker."
    group = "Diversity of sets"
    item_settings = ("empty_responses",)
    takes_outputs = ("set",)
    scale: Scale
    topic: str = "diversity"

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return COLUMNS

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
        sets, problems = read_sets(rows, keep_empty=config["empty_responses"] == "keep")
        return ([] if problems else name_sets(sets)), problems

    def export_columns(self, payload: Json) -> dict[str, str]:
        return set_columns(payload)

    def describe_item(self, payload: Json) -> ItemFacts:
        responses = list(payload["responses"])
        return ItemFacts(payload["context"], set_label(payload), [responses], responses, set_metrics(payload))

    def scores(self, config: Json) -> Sequence[Score]:
        return (Score(self.topic, self.title),)

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("diversity"),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the hit's items under ``items``, and the result of `arrange_item` for each under ``shown``."""
        places = shuffled_places(items, rng)
        return {"items": places, "shown": [self.arrange_item(item, slot=slot, rng=rng) for item in items]}

    @abstractmethod
    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """What to show of one item, and in which order. Stored under ``shown``, by the item's index in the hit."""

    def kinds(self, config: Json) -> list[str]:
        """The pages about one item."""
        warm_up = [("write", config["write_first"]), ("quality", config["rate_first"])]
        return [kind for kind, is_shown in warm_up if is_shown] + ["judge"]

    def length(self, shown: Shown) -> int:
        return len(self.kinds(shown.config)) * len(shown.items)

    def pages(self, shown: Shown) -> Sequence[Page]:
        return [page for number in range(self.length(shown)) if (page := self.page_at(shown, number))]

    def page_at(self, shown: Shown, number: int) -> Page | None:
        """Makes only this page: to make all of them would be most of the cost of each request."""
        kinds = self.kinds(shown.config)
        item_number, kind = divmod(number, len(kinds))
        if item_number >= len(shown.items):
            return None
        index = shown.order["items"][item_number]
        common: Json = {
            "wording": TASK_WORDS[shown.config["generation_task"]],
            "heading": shown.texts["heading"],
            "context_text": shown.items[index].payload["context"],
            "place": item_number + 1,
            "places": len(shown.items),
        }
        wording = common["wording"]
        if kinds[kind] == "write":
            title, warm_up = f"Write your own {wording['response']}", self._own_question(shown.config, shown.texts)
            return Page(f"write-{common['place']}", title, "hds/write.html", [warm_up], common, index)
        if kinds[kind] == "quality":
            title, quality = f"Rate one {wording['response']}", self._quality_question(shown.texts)
            context = common | {"first": self.first_response(shown.items[index].payload)}
            return Page(f"quality-{common['place']}", title, "hds/quality.html", [quality], context, index)
        notices = {name: shown.texts[name] for name in ("ignore_quality", "definition")}
        return self.judge_page(shown, index, common | notices)

    def first_response(self, payload: Json) -> str:
        return str(payload["responses"][0])

    @abstractmethod
    def judge_page(self, shown: Shown, index: int, common: Json) -> Page:
        """The page with the diversity question of this type about ``shown.items[index]``."""

    # --- questions ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        warm_up: list[Question] = []
        if config["write_first"]:
            warm_up.append(self._own_question(config, texts))
        if config["rate_first"]:
            warm_up.append(self._quality_question(texts))
        return [*warm_up, self.main_question(texts)]

    def _own_question(self, config: Json, texts: Mapping[str, str]) -> TextQuestion:
        label, help_text = texts["own_response.question"], texts["own_response.help"]
        return TextQuestion("own", label, "own_response", help=help_text, max_words=config["max_words"])

    def _quality_question(self, texts: Mapping[str, str]) -> ScaleQuestion:
        scale = worded("quality", QUALITY, texts)
        return ScaleQuestion("quality", texts["quality.question"], "quality", scale, target="0")

    def main_question(self, texts: Mapping[str, str]) -> ScaleQuestion:
        """The diversity question of this type, in the study's words."""
        return ScaleQuestion(
            self.topic, texts[f"{self.topic}.question"], self.topic, worded(self.topic, self.scale, texts)
        )

    # --- texts ---

    def texts(self, config: Json) -> Sequence[Text]:
        wording = TASK_WORDS[config["generation_task"]]
        notice = ignore_quality(after_warm_up=config["write_first"] or config["rate_first"])
        main = [
            Text("heading", "Heading of the context", wording["heading"], "The set"),
            Text("ignore_quality", "Notice to ignore quality", notice, "The set", 3),
            Text("definition", "Definition, shown above the question", self.define(config), "The set", 3),
            Text(f"{self.topic}.question", "Question", self.ask(config), "The set"),
            *scale_texts(self.topic, self.default_scale(config), "The set"),
        ]
        parts = []
        if config["write_first"]:
            parts.append(f"you write one {wording['response']} of your own")
        if config["rate_first"]:
            parts.append(f"you say how well one {wording['response']} fits")
        instructions = f"{task_in_sentences([*parts, self.task_in_words(config)])}\n\n{self.define(config)}"
        return [Text("instructions", "Instructions", instructions, lines=6), *_warm_up(config), *main]

    def default_scale(self, config: Json) -> Scale:
        return scale_for(self.scale, config["generation_task"])

    @abstractmethod
    def ask(self, config: Json) -> str:
        """The diversity question as workers read it."""

    @abstractmethod
    def task_in_words(self, config: Json) -> str:
        """The worker's task in the main question, as a clause that begins with “you”."""

    @abstractmethod
    def define(self, config: Json) -> str:
        """Definitions of the words in the main question, as whole sentences."""

    def placement(self, seen: Seen) -> Placement:
        """The part of a warm-up rating is the first response, which was alone on its page."""
        texts = [self.first_response(seen.payload)] if seen.topic == "quality" else []
        return Placement(position_in(seen.order["items"], seen.index), texts)

    # --- simulated workers ---

    def true_answer(self, shown: Shown, page: Page, question: Question) -> float | None:
        if page.item is None or not isinstance(question, ScaleQuestion):
            return None
        payload = shown.items[page.item].payload
        if question.topic == "quality":
            return 4.0 if self.first_response(payload).strip() else 1.0
        return self.true_score(shown, page, question)

    @abstractmethod
    def true_score(self, shown: Shown, page: Page, question: Question) -> float:
        """An ideal simulated worker's answer to the main question: a rough estimate from the words alone."""


def _warm_up(config: Json) -> list[Text]:
    """The texts of the study's warm-up pages."""
    wording = TASK_WORDS[config["generation_task"]]
    texts: list[Text] = []
    if config["write_first"]:
        group = "Warm-up: their own response"
        help_text = f"One sentence, at most {config['max_words']} words."
        texts += [
            Text("own_response.question", "Question", wording["write"], group),
            Text("own_response.help", "Line below the question", help_text, group),
        ]
    if config["rate_first"]:
        group = "Warm-up: quality of the first response"
        texts.append(Text("quality.question", "Question", wording["fit"], group))
        texts += scale_texts("quality", scale_for(QUALITY, config["generation_task"]), group)
    return texts


def shuffled_places(elements: Sequence[object], rng: random.Random) -> list[int]:
    """The indices of ``elements`` in random order."""
    indices = list(range(len(elements)))
    rng.shuffle(indices)
    return indices


def words_of(text: str) -> set[str]:
    """The different words of a text, without case and punctuation."""
    return {word.strip(".,;:!?\"'").casefold() for word in text.split()} - {""}


def word_overlap(first: str, second: str) -> float:
    """Shared words divided by all words of two texts, 0 to 1; 1 for two empty texts."""
    one, two = words_of(first), words_of(second)
    return len(one & two) / len(one | two) if one | two else 1.0


def rough_diversity(responses: Sequence[str]) -> float:
    """1 (all the same words) to 5 (no word shared by any two), for simulated workers only."""
    overlaps = [word_overlap(first, second) for first, second in combinations(responses, 2)]
    return 5.0 - 4.0 * min(1.0, 1.6 * sum(overlaps) / len(overlaps))
