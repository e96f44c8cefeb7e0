"""A story sentence by sentence: alone, or with every second sentence begun by a suggestion."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.description import ReportSection, Score
from analysis.quality_control.work import WrittenText
from annotation.task_types.base import Answers, OutputData, Page, RatingData, Shown, TaskType, Text
from annotation.task_types.counterbalancing import balanced_order
from annotation.task_types.hooks import Sizes
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.mil_story.config import MilStoryConfig
from annotation.task_types.mil_story.simulation import written_sentence
from annotation.task_types.mil_story.story import (
    SIDE,
    Place,
    Sentence,
    as_text,
    pages_per_story,
    place_of,
    sentence_at,
    sentences_before,
)
from annotation.task_types.mil_story.words import texts_of
from annotation.task_types.offers import Ask, OfferUse, SuggesterNeed
from annotation.task_types.questions import Grid, Question, TextQuestion
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.suggestion_uses import DELETED, fate_of, use_questions, use_values
from annotation.task_types.surveys import statements, survey_page, survey_questions, survey_sections

FIELDS = ("story", "prompt")


class MilStory(TaskType):
    """A page for each sentence, one with statements after each story, and a survey at the end."""

    name = "mil_story"
    pictured = 1
    title = "Story with suggestions in the box"
    summary = (
        "Workers write stories sentence by sentence; every second sentence starts as a suggestion to edit or delete."
    )
    source = "Clark 2021, §2.4"
    group = "Writing"
    own_work = True
    config_form = MilStoryConfig
    # Three stories per worker. Multiples of six use each order of three prompts equally often.
    suggested = Sizes(items_per_hit=3, ratings_per_item=12, hits_per_worker=1)
    output_kinds = ("text", "turn")

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        prompt = "a text that gives the writer an idea; may be empty"
        return (
            Column("prompt_id", "the prompt's id; each writer writes one story to it", example="p1"),
            Column("prompt", prompt, required=False, example="Two strangers wait for the same bus in the snow."),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["prompt"])

    def scores(self, config: Json) -> Sequence[Score]:
        return [Score(row["topic"], row["question"]) for row in config["statements"]]

    def sections(self, config: Json) -> Sequence[ReportSection]:
        lines = {"topic": "sentence"}
        return (
            ReportSection("edits", lines),
            ReportSection("story_texts", lines),
            *survey_sections(config),
            ReportSection("waiting"),
        )

    # --- suggestions ---

    def suggesters(self, config: Json) -> Sequence[SuggesterNeed]:
        if not config["suggestions"]:
            return ()
        return [SuggesterNeed(name, config["sentences"] // 2, 1, FIELDS) for name in config["suggesters"]]

    def _asks(self, shown: Shown, place: Place, story: str, prompt: str) -> list[Ask]:
        if not (shown.config["suggestions"] and place.is_suggested):
            return []
        fields = {"story": story, "prompt": prompt}
        return [Ask(SIDE, shown.config["suggesters"][0], fields, place.sentence // 2, str(place.story))]

    def uses(self, shown: Shown, page: Page, given: Answers) -> Sequence[OfferUse]:
        text = page.initial.get("sentence", "")
        return [OfferUse(SIDE, fate_of(text, str(given["sentence"])) != DELETED)] if text else []

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the prompts, counterbalanced over the writers of a hit."""
        return {"items": balanced_order(len(items), slot)}

    def length(self, shown: Shown) -> int:
        return pages_per_story(shown.config) * len(shown.items) + 1

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        step, last = len(answers), self.length(shown) - 1
        if step >= last:
            return survey_page(shown.config, shown.texts) if step == last else None
        place = place_of(step, shown.config)
        before = sentences_before(shown, answers)
        return self._rating_page(shown, place, before) if place.is_rating else self._page(shown, step, place, before)

    def _page(self, shown: Shown, step: int, place: Place, before: Sequence[Sentence]) -> Page:
        index, texts = shown.order["items"][place.story], shown.texts
        asks = self._asks(shown, place, as_text(before), shown.items[index].payload["prompt"])
        offer = shown.offers.at(step).get(SIDE) if asks else None
        suggested = offer.text if offer else ""
        title = texts["suggested.title"] if suggested else texts["next.title"] if before else texts["first.title"]
        parts = [] if asks and offer is None else [_sentence(shown.config, texts, place, suggested=bool(suggested))]
        context = self._context(shown, place, before)
        if suggested:
            labels = {"empty_label": texts["suggested.empty"], "restore_label": texts["suggested.restore"]}
            context |= {"suggested": suggested} | labels
        name = f"sentence-{place.story + 1}-{place.sentence}"
        initial = {"sentence": suggested} if suggested else {}
        return Page(name, title, "mil_story/sentence.html", parts, context, index, asks, initial)

    def _rating_page(self, shown: Shown, place: Place, before: Sequence[Sentence]) -> Page:
        config, texts = shown.config, shown.texts
        grid = Grid("statements", texts["rating.question"], tuple(statements(config, texts, "statements")))
        context = self._context(shown, place, before) | {"story_heading": texts["rating.heading"]}
        index, name = shown.order["items"][place.story], f"rating-{place.story + 1}"
        return Page(name, texts["rating.title"], "mil_story/rating.html", [grid], context, index)

    def _context(self, shown: Shown, place: Place, before: Sequence[Sentence]) -> Json:
        payload = shown.items[shown.order["items"][place.story]].payload
        image = {name: payload.get(name) for name in ("image", "image_alt", "image_size")}
        return image | {
            "prompt": payload["prompt"],
            "prompt_heading": shown.texts["prompt.heading"],
            "story_heading": shown.texts["story.heading"],
            "story": as_text(before),
            "story_number": place.story + 1,
            "stories": len(shown.items),
            "sentence_number": 0 if place.is_rating else place.sentence,
            "sentences": place.sentences,
        }

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """The story's own topics, the statements about it, and the survey."""
        return [
            _sentence(config, texts, Place(0, 1, 2), suggested=False),
            *(use_questions() if config["suggestions"] else []),
            *statements(config, texts, "statements"),
            *survey_questions(config, texts),
        ]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of it ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """Each sentence as submitted; for each suggestion its text, where it came from and what became of it; then the
        answers to the other questions."""
        rows = super().ratings(shown, pages, answers)
        for sentence in _sentences(shown, pages, answers):
            page, offer, target = pages[sentence.step], sentence.offer, str(sentence.number)
            for topic, scale, value, text in use_values(offer, sentence.text) if offer else []:
                rows.append(RatingData(page.item, topic, scale, target, value, text, "sentence", sentence.step))
        return sorted(rows, key=lambda row: row.step)

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each story, and each of its sentences with the story before it as the context."""
        found = []
        for story, index in enumerate(shown.order["items"]):
            prompt = shown.items[index].payload["prompt"]
            of_story = [
                each for each in _sentences(shown, pages, answers) if place_of(each.step, shown.config).story == story
            ]
            found.append(OutputData("text", prompt, [as_text(of_story)], None, index))
            found += [
                OutputData("turn", as_text(of_story[:at]), [each.text], ("turn", float(each.number)), index)
                for at, each in enumerate(of_story)
            ]
        return found

    def written(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> Iterable[WrittenText]:
        """All texts except sentences made from a suggestion, which are not the writer's own. Sentences could be copied
        from the story before them or from the prompt."""
        for each in super().written(shown, pages, answers):
            if each.key != "sentence":
                yield each
                continue
            sentence = sentence_at(shown, each.step, answers[each.step])
            if sentence.offer is None or fate_of(sentence.offer.text, sentence.text) == DELETED:
                before = as_text(sentences_before(shown, answers[: each.step]))
                sources = [before, str(pages[each.step].context["prompt"])]
                yield WrittenText(each.text, each.step, each.key, sources, least_words=2)

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        question = page.questions[0]
        if isinstance(question, TextQuestion) and question.key == "sentence":
            return written_sentence(worker, page, question)
        return super().simulate(worker, shown, page, before)


def _sentences(shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> Iterator[Sentence]:
    """All sentences of a hit, in order."""
    for step, (page, given) in enumerate(zip(pages, answers, strict=True)):
        if any(question.key == "sentence" for question in page.questions):
            yield sentence_at(shown, step, given)


def _sentence(config: Json, texts: Mapping[str, str], place: Place, *, suggested: bool) -> TextQuestion:
    """The box for one sentence. ``suggested``: there is a suggestion in it."""
    return TextQuestion(
        "sentence",
        texts["suggested.label"] if suggested else texts["sentence.label"],
        "sentence",
        help=texts["suggested.help"] if suggested else "",
        about=str(place.sentence),
        min_chars=config["least_characters"],
        max_chars=config["most_characters"],
        rows=3,
    )
