"""Conversations with one model, or with two side by side that get the same messages, and questions about them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from analysis.description import Factor, QuestionDescription, ReportSection, Score
from annotation.task_types.base import Answers, OutputData, Page, RatingData, Shown, TaskType, Text
from annotation.task_types.chat.chat_export import CHAT_TURNS
from annotation.task_types.chat.chat_settings import (
    MOST_TURNS,
    ChatConfig,
    asked_about,
    columns_of,
    limit_of,
    read_scenarios,
)
from annotation.task_types.chat.chat_texts import texts_of
from annotation.task_types.chat.comparisons import (
    both_bad_questions,
    compares,
    comparison_questions,
    described,
    stored_comparison,
)
from annotation.task_types.chat.conversation import SIDES, Talk, talks
from annotation.task_types.chat.message_question import MessageQuestion
from annotation.task_types.chat.question_page import question_page, side_names
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, Row, RowProblem
from annotation.task_types.offers import Ask, Conversation, SuggesterNeed
from annotation.task_types.placements import Placement, Seen, position_in
from annotation.task_types.questions import Question
from annotation.task_types.settings import Sizes
from annotation.task_types.simulation import SimulatedWorker
from generation.decoding.conversations import transcript

#: What suggesters get of a conversation as a text; the messages themselves have no limit of this kind.
LONGEST_STORY = 50_000
#: How many times a simulated person asks again for an answer that does not come, and how likely they end.
MOST_RETRIES, ENDS = 2, 0.35
#: What questions are about, from the smallest part to the whole.
PARTS = ("turn", "assistant", "conversation")


class Chat(TaskType):
    """A page for each message, then one with questions, for each scenario.

    Ratings of an assistant have its suggester's name as their target, those of an answer ``NUMBER/NAME``, comparisons
    ``FIRST:SECOND``, in the order of the setting. Pages show sides, never names.
    """

    name = "chat"
    title = "Conversations"
    summary = "People talk with a language model, or with two side by side, and judge what they said."
    balance = (
        "The order of the scenarios was random for every worker; each assistant was asked, and each of two was on each "
        "side, about equally often."
    )
    group = "Writing"
    group_rank = 1
    own_work = True
    config_form = ChatConfig
    suggested = Sizes(items_per_hit=1, ratings_per_item=10, hits_per_worker=None)
    least_words = 1
    output_kinds = ("conversation",)
    extra_exports = (CHAT_TURNS,)

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return columns_of(config)

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
        return read_scenarios(rows, config)

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["scenario"])

    # --- suggestions ---

    def suggesters(self, config: Json) -> Sequence[SuggesterNeed]:
        return [SuggesterNeed(name, MOST_TURNS, pool=False) for name in config["suggesters"]]

    def _asks(self, shown: Shown, talk: Talk) -> list[Ask]:
        payload, models = shown.items[talk.item].payload, shown.order["models"][talk.item]
        most_tokens = limit_of("most_tokens", payload, shown.config)
        asks = []
        for side in talk.asked:
            asked_turns = replace(talk, turns=[*talk.turns[:-1], replace(talk.turns[-1], answers={})])
            messages = asked_turns.history(side, payload)
            name = shown.config["suggesters"][models[SIDES.index(side)]]
            story = {"story": transcript(messages)[-LONGEST_STORY:]}
            asks.append(Ask(side, name, story, len(talk.turns), str(talk.place), Conversation(messages, most_tokens)))
        return asks

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the scenarios, and for each which suggesters answer, from left to right."""
        order = list(range(len(items)))
        rng.shuffle(order)
        count = len(config["suggesters"])
        groups = list(permutations(range(count), min(2 if config["sides"] == "two" else 1, count)))
        return {
            "items": order,
            "models": [list(groups[(slot + sum(map(ord, item.external_id))) % len(groups)]) for item in items],
        }

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        asks_questions = has_questions(shown.config)
        talk = talks(shown, answers, has_questions=asks_questions)[-1]
        if not talk.is_over:
            return self._talk_page(shown, talk)
        return question_page(shown, talk) if asks_questions and talk.step >= len(answers) else None

    def _talk_page(self, shown: Shown, talk: Talk) -> Page:
        texts, config, payload = shown.texts, shown.config, shown.items[talk.item].payload
        failed = talk.arrived and bool(talk.lacking)
        most = limit_of("max_turns", payload, config)
        written = len(talk.turns)
        is_last = written >= most

        def count_of(number: int) -> str:
            return texts["count"].replace("{n}", str(number)).replace("{most}", str(most)) if number <= most else ""

        question = message_question(
            config,
            texts,
            number=written + 1,
            most_characters=limit_of("most_characters", payload, config),
            can_send=not failed and not is_last,
            can_end=failed or written >= limit_of("min_turns", payload, config),
            can_retry=failed,
        )
        context = log_context(shown, talk) | {
            "message": question,
            "count": count_of(written + 1),
            "next_count": count_of(written + 2),
            "keys": texts["message.keys"],
            "buttons": {name: texts[name] for name in ("send", "end", "retry")},
            "end_help": texts["end.help"],
            "failed": texts["failed"] if failed else "",
            "last": texts["last"] if is_last and not failed and talk.arrived else "",
        }
        parts = [question] if talk.arrived else []
        name = f"talk-{talk.place}-{talk.step - talk.first + 1}"
        asks = self._asks(shown, talk)
        return Page(name, texts["title"], "chat/talk.html", parts, context, talk.item, asks, waiting=texts["waiting"])

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return [
            message_question(config, texts),
            *comparison_questions(config, texts),
            *both_bad_questions(config),
            *(question for of in PARTS for question in asked_about(config, of)),
        ]

    def describe_questions(self, config: Json, texts: Mapping[str, str]) -> list[QuestionDescription]:
        return [described(question, config) for question in super().describe_questions(config, texts)]

    def texts(self, config: Json) -> Sequence[Text]:
        return texts_of(config)

    # --- what becomes of the answers ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """Names of suggesters in place of sides."""
        about = {question.topic: of for of in ("turn", "assistant") for question in asked_about(shown.config, of)}
        compared = {question.topic for question in comparison_questions(shown.config, shown.texts)}
        rows: list[RatingData] = []
        for row in super().ratings(shown, pages, answers):
            models = shown.order["models"][row.item]
            names = [shown.config["suggesters"][number] for number in models]
            if row.question in compared:
                rows += stored_comparison(row, models, shown.config)
            elif of := about.get(row.question):
                parts = row.target.split("/")
                position = int(of == "turn")
                parts[position] = names[SIDES.index(parts[position])]
                rows.append(replace(row, target="/".join(parts)))
            else:
                rows.append(row)
        return rows

    def placement(self, seen: Seen) -> Placement:
        """The side of the assistant that a rating is about; of a comparison, of the one that its target names first."""
        position = position_in(seen.order["items"], seen.index)
        models = seen.order["models"][seen.index]
        if len(models) < 2 or seen.topic == "message" or not seen.target:
            return Placement(position)
        if ":" in seen.target:
            return Placement(position, side=SIDES[models.index(min(models))])
        return Placement(position)

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Every conversation with one assistant, labelled with the assistant's number in the setting."""
        outputs = []
        for talk in talks(shown, answers, has_questions=has_questions(shown.config)):
            payload = shown.items[talk.item].payload
            for side, model in zip(talk.sides, shown.order["models"][talk.item], strict=True):
                text, label = talk.transcript(side, payload), ("system", float(model + 1))
                outputs.append(OutputData("conversation", payload["scenario"], [text], label, talk.item))
        return outputs

    # --- the report ---

    def scores(self, config: Json) -> Sequence[Score]:
        """Each assistant has a score of its own, and so has each pair that was compared."""
        rated = [(of, question) for of in PARTS for question in asked_about(config, of)]
        scores = [(of, score) for of, question in rated if (score := question.score())]
        compared = config["comparisons"] if compares(config) else []
        return [
            *(replace(score, over="part") if of == "assistant" else score for of, score in scores),
            *(Score(row["topic"], row["question"], middle=0.0, over="part") for row in compared),
        ]

    def factors(self, config: Json) -> Sequence[Factor]:
        """Which assistant a rating is about: the end of its target."""
        return (Factor("system", "part"),)

    def sections(self, config: Json) -> Sequence[ReportSection]:
        asked = [question for of in PARTS for question in asked_about(config, of)]
        scored = [question.topic for question in asked if question.score()]
        own = [section for question in asked for section in question.sections()]
        compared = [row["topic"] for row in config["comparisons"]] if compares(config) else []
        return (
            ReportSection("conversations"),
            *([ReportSection("arena", {"topics": compared})] if compared else []),
            *([ReportSection("scales", {"topics": scored})] if scored else []),
            *own,
            ReportSection("waiting"),
        )

    # --- simulated workers ---

    def true_answer(self, shown: Shown, page: Page, question: Question) -> float | None:
        """One assistant is better than the other, whichever side it is on: its name decides."""
        compared = {row["topic"] for row in shown.config["comparisons"]}
        if page.item is None or question.topic not in compared or question.scale.level != "pairwise":
            return None
        first, second = (shown.config["suggesters"][number] for number in shown.order["models"][page.item])
        return 1.0 if random.Random(first).random() > random.Random(second).random() else -1.0

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        """Somebody who writes sentences, ends at some point, and asks again a few times if no answer comes."""
        question = next((asked for asked in page.questions if isinstance(asked, MessageQuestion)), None)
        if question is None:
            return super().simulate(worker, shown, page, before)
        rng = worker.rng(page.name)
        if question.can_retry:
            retries = sum(page_answers.get("message") == ["retry"] for page_answers in before[-MOST_RETRIES:])
            return {"message": "", "action": "retry" if retries < MOST_RETRIES else "end"}
        if not question.can_send or (question.can_end and rng.random() < ENDS):
            return {"message": "", "action": "end"}
        return {"message": question.text_by(worker, rng), "action": ""}


def has_questions(config: Json) -> bool:
    return bool(config["questions"]) or compares(config)


def message_question(
    config: Json,
    texts: Mapping[str, str],
    *,
    number: int = 1,
    most_characters: int = 0,
    can_send: bool = True,
    can_end: bool = False,
    can_retry: bool = False,
) -> MessageQuestion:
    return MessageQuestion(
        "message",
        texts["message.label"],
        "message",
        target=str(number),
        max_chars=most_characters or config["most_characters"],
        rows=3,
        can_send=can_send,
        can_end=can_end,
        can_retry=can_retry,
        refusal=texts["end.help"],
    )


def log_context(shown: Shown, talk: Talk) -> Json:
    """What was said so far, for the template. Never instructions to the model, nor the name of a suggester."""
    texts, payload = shown.texts, shown.items[talk.item].payload
    names = side_names(texts, talk.sides)
    return {
        "place": talk.place,
        "places": len(shown.items),
        "scenario": payload["scenario"],
        "scenario_heading": texts["scenario.heading"],
        "log_name": texts["log.name"],
        "you": texts["you"],
        "first_message": payload["first_message"],
        "side_names": names,
        "sides": talk.sides,
        "turns": [
            {
                "number": turn.number,
                "message": turn.message,
                "answers": [
                    {"side": side, "name": name, "text": turn.answers[side].text if side in turn.answers else ""}
                    for side, name in zip(talk.sides, names, strict=True)
                ],
            }
            for turn in talk.turns
        ],
    }
