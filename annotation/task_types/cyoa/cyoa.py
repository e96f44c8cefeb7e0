"""A story in turns: the first written alone, the second chosen from suggestions and edited, and so on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from django import forms

from analysis.description import Point, ReportSection, Scale
from annotation.languages import gettext as _
from annotation.languages import number
from annotation.task_types.base import Answers, Page, RatingData, Shown, Text
from annotation.task_types.cyoa.authors_script import AUTHORS_SCRIPT
from annotation.task_types.cyoa.cyoa_texts import AGREEMENT, texts_of
from annotation.task_types.cyoa.turn_questions import LineQuestion, PickQuestion, choice_scale
from annotation.task_types.items import Column, ItemData, Json
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.offers import Ask, OfferData, OfferUse
from annotation.task_types.placements import Placement, Seen, side_of
from annotation.task_types.questions import Grid, Option, Part, Question
from annotation.task_types.settings import (
    ConfigForm,
    Sizes,
    SuggestersField,
    TopicsField,
    record_edits_field,
    refuse_crossed_limits,
)
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.stories import ADDITIONS, StoryLine, StoryType, as_text
from annotation.task_types.wording import worded
from annotation.task_types.writing import Position
from common.text_length import count_characters

MOST_ROUNDS = 20
MOST_CHARACTERS = 2_000
#: The largest number of switches on one page that is counted.
MOST_SWITCHES = 20
SWITCHES = Scale("switches", "interval", tuple(Point(float(count)) for count in range(MOST_SWITCHES + 1)))
#: Topics of the story itself.
TOPICS = ("turn", "choice", "switches", "suggested", "pick", "pick_history", "turn_edits", "statements")
STATEMENTS = [
    {"topic": "satisfied", "question": "I am happy with the final story."},
    {"topic": "collaborative", "question": "The system and I worked collaboratively."},
    {"topic": "useful", "question": "Having suggestions was useful."},
    {"topic": "connected", "question": "The suggestions were connected to the story so far."},
    {"topic": "inspiring", "question": "The suggestions helped me come up with new ideas."},
]
QUESTIONS = [
    {"topic": "why_chosen", "question": "What made you choose one suggestion over the other?"},
    {"topic": "looked_for", "question": "What were you looking for in a suggestion?"},
]


class CyoaConfig(ConfigForm):
    """The suggesters, the length of a story, and the questions at the end; initially as published."""

    suggesters = SuggestersField(
        label="Suggesters",
        least=1,
        most=4,
        initial=["model-a", "model-b"],
        help_text="One suggestion from each, in random order. You may name a suggester twice: it then suggests twice.",
    )
    rounds = forms.IntegerField(
        label="Rounds",
        min_value=1,
        max_value=MOST_ROUNDS,
        initial=5,
        help_text="In each round, workers first write a turn alone and then one with suggestions.",
    )
    least_characters = forms.IntegerField(
        label="Shortest turn, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=20
    )
    most_characters = forms.IntegerField(
        label="Longest turn, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=260
    )
    statements = TopicsField(question="Statement", reserved=TOPICS, label="Statements at the end", initial=STATEMENTS)
    questions = TopicsField(question="Question", reserved=TOPICS, label="Open questions at the end", initial=QUESTIONS)
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        config: dict[str, Any] = super().clean() or self.cleaned_data
        refuse_crossed_limits(self, "least_characters", "most_characters", "longest turn")
        statement_topics = {row["topic"] for row in config.get("statements") or []}
        for row in config.get("questions") or []:
            if row["topic"] in statement_topics:
                self.add_error("questions", f"The topic “{row['topic']}” is already the name of a statement.")
        return config


class Cyoa(StoryType):
    """A page for each turn, then one with questions about the story."""

    name = "cyoa"
    pictured = 1
    title = "Choose Your Own Adventure"
    summary = "Workers write a story in turns; for every second line, models suggest how the story continues."
    source = "Clark 2021, ch. 4"
    balance = (
        "The order of the prompts was random; each suggester was on each side equally often, over the rounds "
        "of a story and over the writers of a prompt."
    )
    config_form = CyoaConfig
    # Once per worker; the number of stories per prompt is not published.
    suggested = Sizes(items_per_hit=1, ratings_per_item=10, hits_per_worker=1)
    line_topic = "turn"
    has_survey = False
    extra_exports = (AUTHORS_SCRIPT,)

    def columns(self, config: Json) -> Sequence[Column]:
        prompt = "a text that gives the writer an idea; may be empty"
        return (
            Column("prompt_id", "the prompt's id; one story is written to each prompt by each writer", example="p1"),
            Column("prompt", prompt, required=False, example="A door that nobody has opened for a hundred years."),
        )

    def sections(self, config: Json) -> Sequence[ReportSection]:
        statements = {"topics": [row["topic"] for row in config["statements"]]}
        return (
            ReportSection("choices"),
            ReportSection("edits"),
            ReportSection("story_texts"),
            ReportSection("scales", statements),
            ReportSection("arm_tests", statements),
            ReportSection("waiting"),
        )

    # --- suggestions ---

    def sides(self, shown: Shown, position: Position) -> Sequence[int]:
        """Which suggester is on which side, by their positions in the setting."""
        sides: Sequence[int] = shown.order["sides"][position.text][position.round - 1]
        return sides

    def uses(self, shown: Shown, page: Page, page_answers: Answers) -> Sequence[OfferUse]:
        picked = picked_sides(page_answers)
        switched = Counter(side for _, side in pairwise(picked))
        return [OfferUse(side, side == picked[-1], switched[side]) for side in dict.fromkeys(picked)]

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the prompts, and for every round which suggester is on which side.

        Sides are balanced: over the rounds and over the writers of a prompt, each suggester is on each side equally
        often.
        """
        count = len(config["suggesters"])
        order = rng.sample(range(len(items)), len(items))
        sides = []
        for _item in items:
            rotated = [
                [(position + shift + slot) % count for position in range(count)] for shift in range(config["rounds"])
            ]
            rng.shuffle(rotated)
            sides.append(rotated)
        return {"items": order, "sides": sides}

    def lines(self, config: Json) -> int:
        return int(2 * config["rounds"])

    def line_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        texts, turns = shown.texts, self.story(shown, answers, position.text)
        fields = {"story": as_text(turns), "prompt": shown.items[position.item].payload["prompt"]}
        asks = [
            Ask(str(side), shown.config["suggesters"][suggester], fields, position.round, str(position.text))
            for side, suggester in enumerate(self.sides(shown, position) if position.round else (), start=1)
        ]
        offers = shown.offers.at(position.step)
        arrived = all(ask.side in offers for ask in asks)
        usable = [offers[ask.side] for ask in asks if arrived and offers[ask.side].text]
        parts: list[Part] = []
        if usable:
            options = tuple(Option(offer.side, offer.text) for offer in usable)
            # No suggester's name may be on the page.
            nameless = choice_scale([""] * len(shown.config["suggesters"]))
            label, target = texts["pick.label"], str(position.round)
            parts.append(PickQuestion("pick", label, "choice", nameless, target=target, options=options))
        if arrived:
            parts.append(_turn(shown.config, texts, position.line, edits=bool(usable)))
        title = texts["first.title"] if position.line == 1 else texts["pick.title"] if asks else texts["alone.title"]
        context = self._context(shown, position, turns) | {"edit_without_script": texts["edit.without_script"]}
        name = f"turn-{position.text + 1}-{position.line}"
        return Page(name, title, "cyoa/turn.html", parts, context, position.item, asks)

    def statements_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        config, texts = shown.config, shown.texts
        grid = Grid("statements", texts["final.statements"], tuple(_statements(config, texts)))
        turns = self.story(shown, answers, position.text)
        context = self._context(shown, position, turns) | {"heading": texts["final.heading"]}
        parts: list[Part] = [grid, *_open_questions(config)]
        return Page(
            f"final-{position.text + 1}", texts["final.title"], "cyoa/final.html", parts, context, position.item
        )

    def _context(self, shown: Shown, position: Position, turns: Sequence[StoryLine]) -> Json:
        return self.story_context(shown, position) | {
            "is_first": position.line == 1,
            "heading": shown.texts["story.heading"],
            "paragraphs": as_paragraphs(turns),
        }

    def check(self, shown: Shown, page: Page, page_answers: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        """An unchanged suggestion must also be within the limits of a turn."""
        if "turn" not in page_answers or page_answers["turn"] is not None:
            return {}
        length = count_characters(self.line_at(shown, len(before), page_answers).text)
        least, most = shown.config["least_characters"], shown.config["most_characters"]
        if least <= length <= most:
            return {}
        limits = {"count": number(length), "least": number(least), "most": number(most)}
        unfit = _("This suggestion has %(count)s characters; a line has %(least)s to %(most)s. Please change it.")
        return {"turn": unfit % limits}

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """The story's own topics, then the questions at the end."""
        scale = choice_scale(config["suggesters"])
        return [
            _turn(config, texts, 1, edits=False),
            PickQuestion("pick", texts["pick.label"], "choice", scale),
            ScaleQuestion("switches", "Switches from one suggestion to another", "switches", SWITCHES),
            TextQuestion("suggested", "The suggestion that was chosen, before it was edited", "suggested"),
            *_statements(config, texts),
            *_open_questions(config),
        ]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of the answers ---

    def line_at(self, shown: Shown, step: int, page_answers: Answers) -> StoryLine:
        """The turn that was written on a page. An empty box means the unchanged suggestion."""
        picked, text = picked_sides(page_answers), page_answers.get("turn")
        offer = shown.offers.at(step).get(picked[-1]) if picked else None
        return StoryLine(
            step, self.position_of(shown, step).line, str(text) if text else offer.text if offer else "", offer
        )

    def suggestion_ratings(
        self, shown: Shown, page: Page, question: TextQuestion, step: int, page_answers: Answers
    ) -> list[RatingData]:
        """Whose text was chosen in this round, after how many switches, and its original text; no choice if a
        suggestion was missing. The turn itself if its box was left empty."""
        turn, position = self.line_at(shown, step, page_answers), self.position_of(shown, step)
        rows = []
        if page_answers.get("turn") is None:
            rows.append(RatingData(page.item, "turn", "text", str(turn.number), text=turn.text, key="turn", step=step))
        if turn.offer is None:
            return rows

        def about_round(topic: str, scale: str, value: float | None = None, text: str = "") -> RatingData:
            return RatingData(page.item, topic, scale, str(position.round), value, text, "pick", step)

        # Where one suggestion stood alone, nobody preferred it to another.
        if all(offer.text for offer in shown.offers.at(step).values()):
            suggester = self.sides(shown, position)[int(turn.offer.side) - 1]
            switches = min(len(picked_sides(page_answers)) - 1, MOST_SWITCHES)
            rows.append(about_round("choice", "suggester", float(suggester + 1)))
            rows.append(about_round("switches", "switches", float(switches)))
        return [*rows, about_round("suggested", "text", text=turn.offer.text)]

    def placement(self, seen: Seen) -> Placement:
        """The side of a choice is that of the suggestion that was chosen."""
        placement = super().placement(seen)
        if seen.topic != "choice" or placement.item_position is None or seen.value is None:
            return placement
        sides = seen.order["sides"][placement.item_position - 1][int(seen.target) - 1]
        return replace(placement, side=side_of(sides.index(int(seen.value) - 1)))

    # --- simulated workers ---

    def simulate_line(
        self, worker: SimulatedWorker, shown: Shown, page: Page, question: TextQuestion, *, step: int
    ) -> dict[str, str]:
        offers = shown.offers.at(step)
        usable = [offers[ask.side] for ask in page.asks if ask.side in offers and offers[ask.side].text]
        return written_turn(worker, page, question, usable)


def picked_sides(page_answers: Answers) -> list[str]:
    """The sides picked on a page, in order; empty if there was nothing to pick."""
    picked = page_answers.get("pick")
    return picked if isinstance(picked, list) else []


def as_paragraphs(turns: Sequence[StoryLine]) -> list[str]:
    """One paragraph per round, for reading."""
    return [as_text(turns[start : start + 2]) for start in range(0, len(turns), 2)]


def _turn(config: Json, texts: Mapping[str, str], number: int, *, edits: bool) -> LineQuestion:
    """The box of one turn. The worker writes it alone or, with ``edits``, from a suggestion."""
    return LineQuestion(
        "turn",
        texts["edit.label"] if edits else texts["turn.label"],
        "turn",
        help=texts["edit.help"] if edits else "",
        target=str(number),
        min_chars=config["least_characters"],
        max_chars=config["most_characters"],
        rows=3,
        stands_for_pick=edits,
    )


def _statements(config: Json, texts: Mapping[str, str]) -> list[ScaleQuestion]:
    scale = worded("agreement", AGREEMENT, texts)
    return [ScaleQuestion(row["topic"], row["question"], row["topic"], scale) for row in config["statements"]]


def _open_questions(config: Json) -> list[TextQuestion]:
    return [TextQuestion(row["topic"], row["question"], row["topic"], rows=3) for row in config["questions"]]


def written_turn(
    worker: SimulatedWorker, page: Page, question: TextQuestion, offers: Sequence[OfferData]
) -> dict[str, str]:
    """The form of one turn. Careless writers use the first suggestion unchanged; others use, change or switch."""
    rng = worker.rng(page.name)
    if not offers:
        return {question.key: question.text_by(worker, rng)}
    picked = [offers[0] if worker.profile == "careless" else rng.choice(offers)]
    text = picked[0].text
    if worker.profile != "careless":
        while len(picked) < 4 and len(offers) > 1 and rng.random() < 0.3:
            picked.append(rng.choice([offer for offer in offers if offer.side != picked[-1].side]))
        text = picked[-1].text
        if rng.random() < 0.5:
            text = f"{text} {rng.choice(ADDITIONS)}"
    if not question.min_chars <= count_characters(text) <= question.max_chars:
        text = question.text_by(worker, worker.rng(text))
    sides = [offer.side for offer in picked]
    return {"pick": sides[-1], "pick_history": " ".join(sides), question.key: text}
