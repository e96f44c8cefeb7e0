"""A story in turns: the first written alone, the second chosen from suggestions and edited, and so on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from analysis.description import Point, ReportSection, Scale, Score
from analysis.quality_control.work import WrittenText
from annotation.task_types.base import Answers, OutputData, Page, RatingData, Shown, TaskType, Text
from annotation.task_types.cyoa.config import CyoaConfig
from annotation.task_types.cyoa.pick import LineQuestion, PickQuestion, choice_scale
from annotation.task_types.cyoa.simulation import written_turn
from annotation.task_types.cyoa.story import (
    Place,
    Turn,
    as_paragraphs,
    as_text,
    pages_per_story,
    picks,
    place_of,
    stories,
    turn_at,
    turns_before,
)
from annotation.task_types.cyoa.words import AGREEMENT, texts_of
from annotation.task_types.hooks import Sizes
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.offers import Ask, OfferData, OfferUse, SuggesterNeed
from annotation.task_types.questions import Grid, Option, Part, Question, ScaleQuestion, TextQuestion
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.wording import worded
from common.text_length import count_characters

#: A topic with the name of its scale.
Stored = tuple[str, str]
FIELDS = ("story", "prompt")
#: The largest number of switches on one page that is counted.
MOST_SWITCHES = 20
SWITCHES = Scale("switches", "interval", tuple(Point(float(count)) for count in range(MOST_SWITCHES + 1)))


class Cyoa(TaskType):
    """A page for each turn, then one with questions about the story."""

    name = "cyoa"
    pictured = 1
    title = "Choose Your Own Adventure"
    summary = "Workers write a story in turns; for every second line, models suggest how the story continues."
    source = "Clark 2021, ch. 4"
    group = "Writing"
    own_work = True
    config_form = CyoaConfig
    # Once per worker; the number of stories per prompt is not published.
    suggested = Sizes(items_per_hit=1, ratings_per_item=10, hits_per_worker=1)
    output_kinds = ("text", "turn")

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        prompt = "a text that gives the writer an idea; may be empty"
        return (
            Column("prompt_id", "the prompt's id; one story is written to each prompt by each writer", example="p1"),
            Column("prompt", prompt, required=False, example="A door that nobody has opened for a hundred years."),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["prompt"])

    def scores(self, config: Json) -> Sequence[Score]:
        return [Score(row["topic"], row["question"]) for row in config["statements"]]

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

    def suggesters(self, config: Json) -> Sequence[SuggesterNeed]:
        counts: Counter[str] = Counter(config["suggesters"])
        return [SuggesterNeed(name, config["rounds"], count, FIELDS) for name, count in counts.items()]

    def _asks(self, shown: Shown, place: Place, story: str, prompt: str) -> list[Ask]:
        return [
            Ask(
                side=str(side),
                suggester=shown.config["suggesters"][index],
                fields={"story": story, "prompt": prompt},
                round=place.round,
                story=str(place.story),
            )
            for side, index in enumerate(self._sides(shown, place), start=1)
        ]

    def _sides(self, shown: Shown, place: Place) -> Sequence[int]:
        """Which suggester is on which side, by their positions in the setting."""
        sides: Sequence[int] = shown.order["sides"][place.story][place.round - 1]
        return sides

    def uses(self, shown: Shown, page: Page, given: Answers) -> Sequence[OfferUse]:
        picked = picks(given)
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
        for _ in items:
            turned = [[(at + shift + slot) % count for at in range(count)] for shift in range(config["rounds"])]
            rng.shuffle(turned)
            sides.append(turned)
        return {"items": order, "sides": sides}

    def length(self, shown: Shown) -> int:
        return pages_per_story(shown.config) * len(shown.items)

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        step = len(answers)
        if step >= self.length(shown):
            return None
        place = place_of(step, shown.config)
        turns = turns_before(shown, answers)
        if place.is_final:
            return self._final_page(shown, place, turns)
        return self._turn_page(shown, step, place, turns)

    def _turn_page(self, shown: Shown, step: int, place: Place, turns: Sequence[Turn]) -> Page:
        index, texts = shown.order["items"][place.story], shown.texts
        prompt = shown.items[index].payload["prompt"]
        asks = self._asks(shown, place, as_text(turns), prompt) if place.has_suggestions else []
        offers = shown.offers.at(step)
        arrived = all(ask.side in offers for ask in asks)
        usable = [offers[ask.side] for ask in asks if arrived and offers[ask.side].text]
        parts: list[Part] = []
        if usable:
            parts = [_pick(shown.config, texts, usable, place.round), _turn(shown.config, texts, place, edits=True)]
        elif arrived:
            parts = [_turn(shown.config, texts, place, edits=False)]
        title = texts["first.title"] if place.turn == 1 else texts["pick.title"] if asks else texts["alone.title"]
        context = self._context(shown, place, turns) | {"edit_without_script": texts["edit.without_script"]}
        name = f"turn-{place.story + 1}-{place.turn}"
        return Page(name, title, "cyoa/turn.html", parts, context, index, asks)

    def _final_page(self, shown: Shown, place: Place, turns: Sequence[Turn]) -> Page:
        config, texts = shown.config, shown.texts
        grid = Grid("statements", texts["final.statements"], tuple(_statements(config, texts)))
        context = self._context(shown, place, turns) | {"heading": texts["final.heading"]}
        parts: list[Part] = [grid, *_open_questions(config)]
        index = shown.order["items"][place.story]
        return Page(f"final-{place.story + 1}", texts["final.title"], "cyoa/final.html", parts, context, index)

    def _context(self, shown: Shown, place: Place, turns: Sequence[Turn]) -> Json:
        payload = shown.items[shown.order["items"][place.story]].payload
        image = {name: payload.get(name) for name in ("image", "image_alt", "image_size")}
        return image | {
            "prompt": payload["prompt"],
            "is_first": place.turn == 1,
            "prompt_heading": shown.texts["prompt.heading"],
            "heading": shown.texts["story.heading"],
            "paragraphs": as_paragraphs(turns),
            "story_number": place.story + 1,
            "stories": len(shown.items),
        }

    def check(self, shown: Shown, page: Page, given: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        """An unchanged suggestion must also be within the limits of a turn."""
        if "turn" not in given or given["turn"] is not None:
            return {}
        length = count_characters(turn_at(shown, len(before), given).text)
        least, most = shown.config["least_characters"], shown.config["most_characters"]
        if least <= length <= most:
            return {}
        return {
            "turn": f"This suggestion has {length:,} characters; a line has {least:,} to {most:,}. Please change it."
        }

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """The story's own topics, then the questions at the end."""
        scale = choice_scale(config["suggesters"])
        return [
            _turn(config, texts, Place(0, 1, 2), edits=False),
            PickQuestion("pick", texts["pick.label"], "choice", scale),
            ScaleQuestion("switches", "Switches from one suggestion to another", "switches", SWITCHES),
            TextQuestion("suggested", "The suggestion that was chosen, before it was edited", "suggested"),
            *_statements(config, texts),
            *_open_questions(config),
        ]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of it ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """Each turn as submitted. For each round: whose text was chosen, after how many switches, and its original
        text; no choice if a suggestion was missing. Then the answers at the end."""
        rows = [row for row in super().ratings(shown, pages, answers) if row.question != "turn"]
        for step, (page, given) in enumerate(zip(pages, answers, strict=True)):
            place = place_of(step, shown.config)
            if not place.is_final:
                rows += self._turn_ratings(shown, page, place, turn_at(shown, step, given), picks(given))
        return sorted(rows, key=lambda row: row.step)

    def _turn_ratings(
        self, shown: Shown, page: Page, place: Place, turn: Turn, picked: Sequence[str]
    ) -> list[RatingData]:
        def row(question: Stored, target: int, key: str, value: float | None = None, text: str = "") -> RatingData:
            topic, scale = question
            return RatingData(page.item, topic, scale, str(target), value, text, key, turn.step)

        rows = [row(("turn", "text"), turn.number, "turn", text=turn.text)]
        if turn.offer is not None:
            index = self._sides(shown, place)[int(turn.offer.side) - 1]
            switches = min(len(picked) - 1, MOST_SWITCHES)
            # Where one suggestion stood alone, nobody preferred it to another.
            if all(offer.text for offer in shown.offers.at(turn.step).values()):
                rows += [
                    row(("choice", "suggester"), place.round, "pick", float(index + 1)),
                    row(("switches", "switches"), place.round, "pick", float(switches)),
                ]
            rows.append(row(("suggested", "text"), place.round, "pick", text=turn.offer.text))
        return rows

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each story, and each of its turns with the story before it as the context."""
        found = []
        for index, turns in stories(shown, answers):
            prompt = shown.items[index].payload["prompt"]
            found.append(OutputData("text", prompt, [as_text(turns)], None, index))
            found += [
                OutputData("turn", as_text(turns[:at]), [turn.text], ("turn", float(turn.number)), index)
                for at, turn in enumerate(turns)
            ]
        return found

    def written(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> Iterable[WrittenText]:
        """All texts except turns that began as a suggestion, which are not the writer's own. Turns could be copied from
        the story before them."""
        for each in super().written(shown, pages, answers):
            if each.key != "turn":
                yield each
            elif (turn := turn_at(shown, each.step, answers[each.step])).offer is None:
                before = as_text(turns_before(shown, answers[: each.step]))
                yield WrittenText(turn.text, each.step, each.key, [before])

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        if page.name.startswith("final"):
            return super().simulate(worker, shown, page, before)
        question = page.questions[-1]
        assert isinstance(question, TextQuestion)  # noqa: S101 - the last one on every page of a turn
        offers = shown.offers.at(len(before))
        usable = [offers[ask.side] for ask in page.asks if ask.side in offers and offers[ask.side].text]
        return written_turn(worker, page, question, usable)


def _turn(config: Json, texts: Mapping[str, str], place: Place, *, edits: bool) -> LineQuestion:
    """The box of one turn. The worker writes it alone or, with ``edits``, from a suggestion."""
    return LineQuestion(
        "turn",
        texts["edit.label"] if edits else texts["turn.label"],
        "turn",
        help=texts["edit.help"] if edits else "",
        about=str(place.turn),
        min_chars=config["least_characters"],
        max_chars=config["most_characters"],
        rows=3,
        stands_for_pick=edits,
    )


def _pick(config: Json, texts: Mapping[str, str], offers: Sequence[OfferData], round: int) -> PickQuestion:
    neutral = choice_scale([""] * len(config["suggesters"]))
    options = tuple(Option(offer.side, offer.text) for offer in offers)
    return PickQuestion("pick", texts["pick.label"], "choice", neutral, about=str(round), options=options)


def _statements(config: Json, texts: Mapping[str, str]) -> list[ScaleQuestion]:
    scale = worded("agreement", AGREEMENT, texts)
    return [ScaleQuestion(row["topic"], row["question"], row["topic"], scale) for row in config["statements"]]


def _open_questions(config: Json) -> list[TextQuestion]:
    return [TextQuestion(row["topic"], row["question"], row["topic"], rows=3) for row in config["questions"]]
