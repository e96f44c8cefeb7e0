"""A slogan for each prompt: written alone, or with suggestions whenever the worker asks for them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from analysis.description import ReportSection, Score
from annotation.task_types.base import Answers, OutputData, Page, RatingData, Shown, TaskType, Text
from annotation.task_types.counterbalancing import balanced_order
from annotation.task_types.hooks import Sizes
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.offers import Ask, OfferUse, SuggesterNeed
from annotation.task_types.questions import Grid, Part, Question, ScaleQuestion, TextQuestion
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.slogan.config import SloganConfig
from annotation.task_types.slogan.simulation import ASKS, first_slogan, keywords, written_slogan
from annotation.task_types.slogan.used import COUNT, MOST, UsedQuestion, history, offered, used_offer, uses_of
from annotation.task_types.slogan.words import FEWER, NEEDS, NEEDS_KEYWORDS, NEEDS_SLOGAN, texts_of
from annotation.task_types.suggestion_uses import StoredUse, use_questions, use_values
from annotation.task_types.surveys import statements, survey_page, survey_questions, survey_sections

FIELDS = ("keywords", "slogan", "prompt")


class Slogan(TaskType):
    """Two pages for each prompt, one to write and one with statements; then a survey."""

    name = "slogan"
    pictured = 0
    title = "Slogan with suggestions on request"
    summary = "Workers write slogans; at the press of a button, models suggest some from keywords."
    source = "Clark 2021, §2.5"
    group = "Writing"
    own_work = True
    config_form = SloganConfig
    # Three slogans per worker. Multiples of six use each order of three prompts equally often.
    suggested = Sizes(items_per_hit=3, ratings_per_item=12, hits_per_worker=1)
    output_kinds = ("text",)
    has_pulls = True
    least_words = 2

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("prompt_id", "the prompt's id; each writer writes one slogan for it", example="p1"),
            Column("prompt", "what the slogan is for", example="A bakery that opens at four in the morning."),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["prompt"])

    def scores(self, config: Json) -> Sequence[Score]:
        return [Score(row["topic"], row["question"]) for row in config["statements"]]

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (*survey_sections(config), ReportSection("waiting"))

    # --- suggestions ---

    def suggesters(self, config: Json) -> Sequence[SuggesterNeed]:
        """The suggesters, with pools for one request. If later requests are late and the pool is empty, they get no
        text."""
        names = config["suggesters"] if config["suggestions"] else []
        return [SuggesterNeed(name, 1, names.count(name), FIELDS) for name in dict.fromkeys(names)]

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

    def uses(self, shown: Shown, page: Page, given: Answers) -> Sequence[OfferUse]:
        if not page.pulls:
            return []
        return uses_of(shown.offers.tries(_step(page)), _used(given), str(given["slogan"]))

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the prompts, counterbalanced over the writers of a hit."""
        return {"items": balanced_order(len(items), slot)}

    def length(self, shown: Shown) -> int:
        return 2 * len(shown.items) + 1

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        step, last = len(answers), self.length(shown) - 1
        if step >= last:
            return survey_page(shown.config, shown.texts) if step == last else None
        number, is_rating = divmod(step, 2)
        index = shown.order["items"][number]
        context = {
            "prompt": shown.items[index].payload["prompt"],
            "prompt_heading": shown.texts["prompt.heading"],
            "slogan_number": number + 1,
            "slogans": len(shown.items),
        }
        if is_rating:
            return self._rating_page(shown, number, index, context | {"slogan": answers[-1]["slogan"]})
        return self._writing_page(shown, number, index, context)

    def _writing_page(self, shown: Shown, number: int, index: int, context: Json) -> Page:
        config, texts = shown.config, shown.texts
        name, title, template = f"slogan-{number + 1}", texts["write.title"], "slogan/write.html"
        if not config["suggestions"]:
            return Page(name, title, template, [_slogan(config, texts)], context, index)
        tries = shown.offers.tries(2 * number)
        words = ("heading", "button", "spent", "none", "use", "back")
        context |= {f"pull_{word}": texts[f"pull.{word}"] for word in words} | {"tries": history(tries)}
        # A study that went live before a text existed does not have it.
        context["pull_fewer"] = texts.get("pull.fewer", FEWER)
        context |= {"pull_left": max(0, config["most_tries"] - len(tries))}
        parts: list[Part] = [_keywords(texts), _slogan(config, texts), _used_question(tuple(offered(tries)))]
        needs = {"keywords": texts.get("pull.needs_keywords", NEEDS_KEYWORDS)}
        needs |= {"slogan": texts.get("pull.needs_slogan", NEEDS_SLOGAN)}
        context |= {"pull_needs": texts.get("pull.needs", NEEDS)}
        return Page(name, title, template, parts, context, index, pulls=config["most_tries"], pull_needs=needs)

    def _rating_page(self, shown: Shown, number: int, index: int, context: Json) -> Page:
        texts = shown.texts
        grid = Grid("statements", texts["rating.question"], tuple(statements(shown.config, texts, "statements")))
        context |= {"slogan_heading": texts["rating.heading"]}
        return Page(f"rating-{number + 1}", texts["rating.title"], "slogan/rating.html", [grid], context, index)

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        """The slogan's own topics, the statements about it, and the survey."""
        found: list[Question] = [_slogan(config, texts)]
        if config["suggestions"]:
            tries = ScaleQuestion("tries", "Requests for suggestions", "tries", COUNT)
            found += [_keywords(texts), _used_question(()), tries, *use_questions()]
        return [*found, *statements(config, texts, "statements"), *survey_questions(config, texts)]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of it ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """The slogan and, with suggestions, its last keywords, the number of requests, and the suggestion used last:
        its text, where it came from and what became of it. Then the answers to the other questions."""
        rows = super().ratings(shown, pages, answers)
        for step, (page, given) in enumerate(zip(pages, answers, strict=True)):
            if not page.pulls:
                continue
            tries, text = shown.offers.tries(step), str(given["slogan"])
            requests = float(min(len(tries), MOST))
            stored: list[StoredUse] = [("tries", COUNT.name, requests, "")]
            offer = used_offer(tries, _used(given), text)
            stored += use_values(offer, text) if offer else []
            rows += [
                RatingData(page.item, topic, scale, "", value, text, "slogan", step)
                for topic, scale, value, text in stored
            ]
        return sorted(rows, key=lambda row: row.step)

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each slogan, with what it is for as the context."""
        return [
            OutputData("text", shown.items[page.item].payload["prompt"], [str(given["slogan"])], None, page.item)
            for page, given in zip(pages, answers, strict=True)
            if page.item is not None and "slogan" in given
        ]

    # --- simulated workers ---

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        box = next((each for each in page.questions if each.key == "slogan"), None)
        if not isinstance(box, TextQuestion):
            return super().simulate(worker, shown, page, before)
        tries = shown.offers.tries(len(before))
        typed = {"keywords": tries[-1].typed.get("keywords", "")} if tries else {}
        return typed | written_slogan(worker, page, box, tries)

    def simulate_pull(self, worker: SimulatedWorker, shown: Shown, page: Page) -> dict[str, str] | None:
        at = len(shown.offers.tries(_step(page)))
        if at >= min(ASKS[worker.profile], page.pulls):
            return None
        return {"keywords": keywords(worker, page, at), "slogan": first_slogan(worker, page)}


def _step(page: Page) -> int:
    """The number of a page on which a slogan is written, from 0."""
    return 2 * (int(page.name.rpartition("-")[2]) - 1)


def _used(given: Answers) -> list[str]:
    used = given.get("used")
    return used if isinstance(used, list) else []


def _slogan(config: Json, texts: Mapping[str, str]) -> TextQuestion:
    return TextQuestion("slogan", texts["slogan.label"], "slogan", max_chars=config["most_characters"], rows=2)


def _keywords(texts: Mapping[str, str]) -> TextQuestion:
    label, help_text = texts["keywords.label"], texts["keywords.help"]
    return TextQuestion("keywords", label, "keywords", help=help_text, required=False, rows=1)


def _used_question(refs: tuple[str, ...]) -> UsedQuestion:
    return UsedQuestion("used", "Suggestions put into the box", "used", COUNT, required=False, offered=refs)
