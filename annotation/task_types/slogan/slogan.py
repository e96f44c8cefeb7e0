"""A slogan for each prompt: written alone, or with suggestions whenever the worker asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django import forms

from annotation.task_types.base import Answers, OutputData, Page, RatingData, Shown, Text
from annotation.task_types.items import Column, Json
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.offers import Ask, OfferUse
from annotation.task_types.questions import Part, Question
from annotation.task_types.settings import Sizes, SuggestersField, TopicsField, record_edits_field
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.slogan.slogan_texts import FEWER, NEEDS, NEEDS_KEYWORDS, NEEDS_SLOGAN, texts_of
from annotation.task_types.slogan.tries import COUNT, MOST, UsedQuestion, history, offered, used_offer, uses_of
from annotation.task_types.suggestion_fates import use_questions, use_ratings
from annotation.task_types.surveys import RESERVED, SurveyForm, statements, survey_questions
from annotation.task_types.writing import Position, WritingType, rating_page
from common.text_length import count_characters

#: What simulated writers build keywords and slogans from, and what they add to a suggestion.
WORDS = ("fresh", "morning", "quiet", "together", "bright", "simple", "home", "long", "light", "new")
ENDINGS = ("Every day.", "For you.", "Try it.", "Since today.")
#: How many times each kind of simulated writer asks for suggestions for one slogan.
REQUESTS = {"careful": 2, "noisy": 1, "careless": 0}
MOST_TRIES = 50
MOST_CHARACTERS = 500
#: Topics of the slogan itself, and names of other fields on its page.
TOPICS = (*RESERVED, "slogan", "keywords", "used", "tries", "suggested", "fate", "source")
STATEMENTS = [
    {"topic": "creative", "question": "The slogan is creative."},
    {"topic": "catchy", "question": "The slogan is catchy."},
    {"topic": "relevant", "question": "The slogan is relevant: it fits what it is for."},
    {"topic": "satisfied", "question": "I am satisfied with the slogan."},
]
ABOUT_SUGGESTIONS = [
    {"topic": "suggestions_surprising", "question": "The suggestions were surprising."},
    {"topic": "suggestions_creative", "question": "The suggestions were creative."},
    {"topic": "suggestions_catchy", "question": "The suggestions were catchy."},
    {"topic": "suggestions_relevant", "question": "The suggestions were relevant."},
    {"topic": "suggestions_liked", "question": "I liked the suggestions."},
    {"topic": "suggestions_appreciated", "question": "I was glad to have the suggestions."},
]


class SloganConfig(SurveyForm):
    """The suggesters, the length of a slogan, and the questions after it; initially as published."""

    suggesters = SuggestersField(
        label="Suggesters",
        least=1,
        most=3,
        initial=["model-a", "model-a", "model-a"],
        help_text="One suggestion from each at every press of the button. A name can be listed three times.",
    )
    most_tries = forms.IntegerField(
        label="Requests per slogan",
        min_value=1,
        max_value=MOST_TRIES,
        initial=20,
        help_text="How many times a worker can ask for suggestions while they write one slogan.",
    )
    most_characters = forms.IntegerField(
        label="Longest slogan, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=150
    )
    statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements after each slogan", initial=STATEMENTS
    )
    suggestion_statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements about the suggestions", initial=ABOUT_SUGGESTIONS
    )
    record_edits = record_edits_field()


class Slogan(WritingType):
    """Two pages for each prompt, one to write and one with statements; then a survey.

    A suggester's pool lasts for one request. If later requests are late and the pool is empty, they get no text.
    """

    name = "slogan"
    pictured = 0
    title = "Slogan with suggestions on request"
    summary = "Workers write slogans; at the press of a button, models suggest some from keywords."
    source = "Clark 2021, §2.5"
    config_form = SloganConfig
    # Three slogans per worker. Multiples of six use each order of three prompts equally often.
    suggested = Sizes(items_per_hit=3, ratings_per_item=12, hits_per_worker=1)
    suggester_fields = ("keywords", "slogan", "prompt")
    output_kinds = ("text",)
    has_pulls = True
    least_words = 2
    line_topic = "slogan"

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("prompt_id", "the prompt's id; each writer writes one slogan for it", example="p1"),
            Column("prompt", "what the slogan is for", example="A bakery that opens at four in the morning."),
        )

    # --- suggestions ---

    def pull(self, shown: Shown, page: Page, typed: Mapping[str, str]) -> Sequence[Ask]:
        # A stored press is answered whatever it had: before both boxes were required, one was enough.
        stored = any(press.typed == typed for press in shown.offers.pulls)
        if page.item is None or not (stored or all(text.strip() for text in typed.values())):
            return []
        payload = shown.items[page.item].payload
        fields = {"keywords": typed["keywords"], "slogan": typed["slogan"], "prompt": payload["prompt"]}
        fields = {name: " ".join(text.split()) for name, text in fields.items()}
        names = shown.config["suggesters"]
        return [Ask(str(side), name, fields, 1, page.name) for side, name in enumerate(names, start=1)]

    def uses(self, shown: Shown, page: Page, page_answers: Answers) -> Sequence[OfferUse]:
        if not page.pulls:
            return []
        return uses_of(shown.offers.tries(_step(page)), _used(page_answers), str(page_answers["slogan"]))

    # --- pages ---

    def lines(self, config: Json) -> int:
        return 1

    def line_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        config, texts, context = shown.config, shown.texts, self._context(shown, position)
        name, title, template = f"slogan-{position.text + 1}", texts["write.title"], "slogan/write.html"
        if not config["suggestions"]:
            return Page(name, title, template, [_slogan(config, texts)], context, position.item)
        tries = shown.offers.tries(position.step)
        words = ("heading", "button", "spent", "none", "use", "back")
        context |= {f"pull_{word}": texts[f"pull.{word}"] for word in words} | {"tries": history(tries)}
        # A study that went live before a text existed does not have it.
        context["pull_fewer"] = texts.get("pull.fewer", FEWER)
        context |= {"pull_left": max(0, config["most_tries"] - len(tries))}
        parts: list[Part] = [_keywords(texts), _slogan(config, texts), _used_question(tuple(offered(tries)))]
        needs = {"keywords": texts.get("pull.needs_keywords", NEEDS_KEYWORDS)}
        needs |= {"slogan": texts.get("pull.needs_slogan", NEEDS_SLOGAN)}
        context |= {"pull_needs": texts.get("pull.needs", NEEDS)}
        return Page(name, title, template, parts, context, position.item, pulls=config["most_tries"], pull_needs=needs)

    def statements_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        context = self._context(shown, position)
        context |= {"slogan": answers[-1]["slogan"], "slogan_heading": shown.texts["rating.heading"]}
        return rating_page(shown, position, "slogan/rating.html", context)

    def _context(self, shown: Shown, position: Position) -> Json:
        return {
            "prompt": shown.items[position.item].payload["prompt"],
            "prompt_heading": shown.texts["prompt.heading"],
            "slogan_number": position.text + 1,
            "slogans": len(shown.items),
        }

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """The slogan's own topics, the statements about it, and the survey."""
        questions: list[Question] = [_slogan(config, texts)]
        if config["suggestions"]:
            tries = ScaleQuestion("tries", "Requests for suggestions", "tries", COUNT)
            questions += [_keywords(texts), _used_question(()), tries, *use_questions()]
        return [*questions, *statements(config, texts, "statements"), *survey_questions(config, texts)]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of the answers ---

    def suggestion_ratings(
        self, shown: Shown, page: Page, question: TextQuestion, step: int, page_answers: Answers
    ) -> list[RatingData]:
        """The number of requests, and the suggestion used last: its text, where it came from and what became of it."""
        if not page.pulls:
            return []
        tries, slogan = shown.offers.tries(step), str(page_answers["slogan"])
        requests = float(min(len(tries), MOST))
        offer = used_offer(tries, _used(page_answers), slogan)
        return [
            RatingData(page.item, "tries", COUNT.name, "", requests, "", question.key, step),
            *use_ratings(page, question, step, offer, slogan),
        ]

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each slogan, with what it is for as the context."""
        return [
            OutputData("text", shown.items[page.item].payload["prompt"], [str(page_answers["slogan"])], None, page.item)
            for page, page_answers in zip(pages, answers, strict=True)
            if page.item is not None and "slogan" in page_answers
        ]

    # --- simulated workers ---

    def simulate_line(
        self, worker: SimulatedWorker, shown: Shown, page: Page, question: TextQuestion, *, step: int
    ) -> dict[str, str]:
        """The slogan, and the suggestion that it was made from, if any."""
        rng, tries = worker.rng(page.name), shown.offers.tries(step)
        form = {"keywords": tries[-1].typed.get("keywords", "")} if tries else {}
        offers = offered(tries)
        if not offers or rng.random() < 0.3:
            slogan = " ".join(rng.sample(WORDS, 3)).capitalize() + "."
            return form | {question.key: slogan[: question.max_chars]}
        (ref,) = rng.sample(sorted(offers), 1)
        slogan = offers[ref].text
        if rng.random() < 0.5:
            slogan = f"{slogan} {rng.choice(ENDINGS)}"
        if count_characters(slogan) > question.max_chars:
            slogan = slogan[: question.max_chars // 2]
        return form | {question.key: slogan, "used": ref}

    def simulate_pull(self, worker: SimulatedWorker, shown: Shown, page: Page) -> dict[str, str] | None:
        number = len(shown.offers.tries(_step(page)))
        if number >= min(REQUESTS[worker.profile], page.pulls):
            return None
        keywords = ", ".join(worker.rng(page.name, "keywords", number).sample(WORDS, 2))
        first_slogan = " ".join(worker.rng(page.name, "first slogan").sample(WORDS, 2)).capitalize()
        return {"keywords": keywords, "slogan": first_slogan}


def _step(page: Page) -> int:
    """The number of a page on which a slogan is written, from 0."""
    return 2 * (int(page.name.rpartition("-")[2]) - 1)


def _used(page_answers: Answers) -> list[str]:
    used = page_answers.get("used")
    return used if isinstance(used, list) else []


def _slogan(config: Json, texts: Mapping[str, str]) -> TextQuestion:
    return TextQuestion("slogan", texts["slogan.label"], "slogan", max_chars=config["most_characters"], rows=2)


def _keywords(texts: Mapping[str, str]) -> TextQuestion:
    label, help_text = texts["keywords.label"], texts["keywords.help"]
    return TextQuestion("keywords", label, "keywords", help=help_text, required=False, rows=1)


def _used_question(refs: tuple[str, ...]) -> UsedQuestion:
    return UsedQuestion("used", "Suggestions put into the box", "used", COUNT, required=False, offered=refs)
