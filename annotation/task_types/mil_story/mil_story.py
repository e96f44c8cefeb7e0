"""A story sentence by sentence: alone, or with every second sentence begun by a suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms

from analysis.description import ReportSection
from analysis.quality_control.work import WrittenText
from annotation.task_types.base import Answers, Page, RatingData, Shown, Text
from annotation.task_types.items import Column, Json
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.mil_story.mil_story_texts import texts_of
from annotation.task_types.offers import Ask, OfferUse
from annotation.task_types.questions import Question
from annotation.task_types.settings import (
    Sizes,
    SuggestersField,
    TopicsField,
    record_edits_field,
    refuse_crossed_limits,
)
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.stories import ADDITIONS, StoryLine, StoryType, as_text
from annotation.task_types.suggestion_fates import DELETED, fate_of, use_questions, use_ratings
from annotation.task_types.surveys import RESERVED, SurveyForm, statements, survey_questions
from annotation.task_types.writing import Position, rating_page
from common.text_length import count_characters

#: The side of the only suggestion on a page.
SIDE = "1"
#: How many times a simulated writer looks for a sentence that the story does not have. There may be none.
TRIES = 100
MOST_SENTENCES = 40
MOST_CHARACTERS = 2_000
#: Topics of the story itself.
TOPICS = (*RESERVED, "sentence", "suggested", "fate", "source")
STATEMENTS = [
    {"topic": "creative", "question": "The story is creative."},
    {"topic": "coherent", "question": "The story is coherent: everything in it fits together."},
    {"topic": "entertaining", "question": "The story is entertaining."},
    {"topic": "grammatical", "question": "The story is grammatically correct."},
    {"topic": "satisfied", "question": "I am satisfied with the story."},
]
ABOUT_SUGGESTIONS = [
    {"topic": "suggestions_surprising", "question": "The suggestions were surprising."},
    {"topic": "suggestions_creative", "question": "The suggestions were creative."},
    {"topic": "suggestions_grammatical", "question": "The suggestions were grammatically correct."},
    {"topic": "suggestions_liked", "question": "I liked the suggestions."},
    {"topic": "suggestions_appreciated", "question": "I was glad to have the suggestions."},
]


class MilStoryConfig(SurveyForm):
    """The suggester, the length of a story, and the questions after it; initially as published."""

    suggesters = SuggestersField(
        label="Suggester",
        least=1,
        most=1,
        initial=["model-a"],
        help_text="It writes every second sentence. The writer gets it in the box, to edit or delete.",
    )
    sentences = forms.IntegerField(label="Sentences of a story", min_value=2, max_value=MOST_SENTENCES, initial=10)
    least_characters = forms.IntegerField(
        label="Shortest sentence, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=5
    )
    most_characters = forms.IntegerField(
        label="Longest sentence, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=300
    )
    statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements after each story", initial=STATEMENTS
    )
    suggestion_statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements about the suggestions", initial=ABOUT_SUGGESTIONS
    )
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        config = super().clean()
        refuse_crossed_limits(self, "least_characters", "most_characters", "longest sentence")
        return config


class MilStory(StoryType):
    """A page for each sentence, one with statements after each story, and a survey at the end."""

    name = "mil_story"
    pictured = 1
    title = "Story with suggestions in the box"
    summary = (
        "Workers write stories sentence by sentence; every second sentence starts as a suggestion to edit or delete."
    )
    source = "Clark 2021, §2.4"
    config_form = MilStoryConfig
    # Three stories per worker. Multiples of six use each order of three prompts equally often.
    suggested = Sizes(items_per_hit=3, ratings_per_item=12, hits_per_worker=1)
    least_words = 2
    line_topic = "sentence"

    def columns(self, config: Json) -> Sequence[Column]:
        prompt = "a text that gives the writer an idea; may be empty"
        return (
            Column("prompt_id", "the prompt's id; each writer writes one story to it", example="p1"),
            Column("prompt", prompt, required=False, example="Two strangers wait for the same bus in the snow."),
        )

    def sections(self, config: Json) -> Sequence[ReportSection]:
        lines = {"topic": "sentence"}
        return (ReportSection("edits", lines), ReportSection("story_texts", lines), *super().sections(config))

    def uses(self, shown: Shown, page: Page, page_answers: Answers) -> Sequence[OfferUse]:
        text = page.initial.get("sentence", "")
        return [OfferUse(SIDE, fate_of(text, str(page_answers["sentence"])) != DELETED)] if text else []

    # --- pages ---

    def lines(self, config: Json) -> int:
        return int(config["sentences"])

    def line_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        texts, story = shown.texts, as_text(self.story(shown, answers, position.text))
        asks = []
        if shown.config["suggestions"] and position.round:
            fields = {"story": story, "prompt": shown.items[position.item].payload["prompt"]}
            asks = [Ask(SIDE, shown.config["suggesters"][0], fields, position.round, str(position.text))]
        offer = shown.offers.at(position.step).get(SIDE) if asks else None
        suggested = offer.text if offer else ""
        heading = "suggested.title" if suggested else "first.title" if position.line == 1 else "next.title"
        parts = [] if asks and offer is None else [_box(shown.config, texts, position.line, suggested=bool(suggested))]
        context = self._context(shown, position, story)
        if suggested:
            labels = {"empty_label": texts["suggested.empty"], "restore_label": texts["suggested.restore"]}
            context |= {"suggested": suggested} | labels
        name = f"sentence-{position.text + 1}-{position.line}"
        initial = {"sentence": suggested} if suggested else {}
        return Page(name, texts[heading], "mil_story/sentence.html", parts, context, position.item, asks, initial)

    def statements_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        context = self._context(shown, position, as_text(self.story(shown, answers, position.text)))
        context["story_heading"] = shown.texts["rating.heading"]
        return rating_page(shown, position, "mil_story/rating.html", context)

    def _context(self, shown: Shown, position: Position, story: str) -> Json:
        return self.story_context(shown, position) | {
            "story_heading": shown.texts["story.heading"],
            "story": story,
            "sentence_number": 0 if position.is_after_last_line else position.line,
            "sentences": position.lines,
        }

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """The story's own topics, the statements about it, and the survey."""
        return [
            _box(config, texts, 1, suggested=False),
            *(use_questions() if config["suggestions"] else []),
            *statements(config, texts, "statements"),
            *survey_questions(config, texts),
        ]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of the answers ---

    def line_at(self, shown: Shown, step: int, page_answers: Answers) -> StoryLine:
        offer = shown.offers.at(step).get(SIDE) if shown.config["suggestions"] else None
        return StoryLine(step, self.position_of(shown, step).line, str(page_answers["sentence"]), offer)

    def suggestion_ratings(
        self, shown: Shown, page: Page, question: TextQuestion, step: int, page_answers: Answers
    ) -> list[RatingData]:
        """For each suggestion its text, where it came from and what became of it."""
        sentence = self.line_at(shown, step, page_answers)
        return use_ratings(page, question, step, sentence.offer, sentence.text)

    def is_own(self, line: StoryLine) -> bool:
        return line.offer is None or fate_of(line.offer.text, line.text) == DELETED

    def written(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> Iterable[WrittenText]:
        """Sentences could be copied from the prompt, too."""
        for text in super().written(shown, pages, answers):
            prompt = [str(pages[text.step].context["prompt"])] if text.key == "sentence" else []
            yield replace(text, sources=[*text.sources, *prompt])

    # --- simulated workers ---

    def simulate_line(
        self, worker: SimulatedWorker, shown: Shown, page: Page, question: TextQuestion, *, step: int
    ) -> dict[str, str]:
        """Careless writers keep every suggestion; others keep, edit or delete it, and what they write themselves is not
        in the story yet."""
        rng = worker.rng(page.name)
        text = page.initial.get("sentence", "")
        if text and worker.profile != "careless":
            chance = rng.random()
            text = "" if chance < 0.25 else f"{text} {rng.choice(ADDITIONS)}" if chance < 0.6 else text
        if not question.min_chars <= count_characters(text) <= question.max_chars:
            text = question.text_by(worker, rng)
            for _ in range(TRIES if worker.profile != "careless" else 0):
                if text not in str(page.context["story"]):
                    break
                text = question.text_by(worker, rng)
        return {question.key: text}


def _box(config: Json, texts: Mapping[str, str], number: int, *, suggested: bool) -> TextQuestion:
    """The box for one sentence. ``suggested``: there is a suggestion in it."""
    return TextQuestion(
        "sentence",
        texts["suggested.label"] if suggested else texts["sentence.label"],
        "sentence",
        help=texts["suggested.help"] if suggested else "",
        target=str(number),
        min_chars=config["least_characters"],
        max_chars=config["most_characters"],
        rows=3,
    )
