"""The page after a conversation: what was said, with the questions about each answer, each assistant and the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from annotation.task_types.base import Page, Shown
from annotation.task_types.chat.comparisons import comparison_questions
from annotation.task_types.chat.conversation import Talk
from annotation.task_types.described_questions import Described, build
from annotation.task_types.items import Json
from annotation.task_types.questions import Part


def side_names(texts: Mapping[str, str], sides: Sequence[str]) -> list[str]:
    """What the page calls the assistants, from left to right."""
    return [texts["side.a"], texts["side.b"]] if len(sides) == 2 else [texts["side.one"]]


def question_page(shown: Shown, talk: Talk) -> Page:
    """Targets and fields name sides: no page may show who answered."""
    config, texts, payload = shown.config, shown.texts, shown.items[talk.item].payload
    names = dict(zip(talk.sides, side_names(texts, talk.sides), strict=True))
    parts: list[Part] = []

    def asked(of: str, target: str = "", text: str | None = None) -> Sequence[Described]:
        records = [record for record in config["questions"] if record["of"] == of]
        ending = f"-{target.replace('/', '-')}" if target else ""
        questions = [build(record, target=target, key=lambda topic: f"{topic}{ending}") for record in records]
        of_text = [question.of_item({target: text}) for question in questions] if text is not None else questions
        parts.extend(of_text)
        return of_text

    turns: list[Json] = []
    for turn in talk.turns:
        answers = []
        for side in talk.sides:
            text = turn.answers[side].text if side in turn.answers else ""
            questions = asked("turn", f"{turn.number}/{side}", text) if text else []
            heading = texts["turn.heading"].replace("{n}", str(turn.number)) if questions else ""
            answers.append(
                {
                    "name": names[side],
                    "text": text,
                    "visible": not any(question.shows_text for question in questions),
                    "heading": f"{names[side]}, {heading}" if len(names) > 1 else heading,
                    "questions": questions,
                }
            )
        turns.append({"number": turn.number, "message": turn.message, "answers": answers})
    assistants = [
        {"heading": texts["assistant.heading"].replace("{name}", names[side]), "questions": questions}
        for side in talk.sides
        if (questions := asked("assistant", side))
    ]
    comparisons: list[Part] = list(comparison_questions(config, texts)) if len(talk.sides) == 2 else []
    parts += comparisons
    whole = [*comparisons, *asked("conversation")]
    context: Json = {
        "place": talk.place,
        "places": len(shown.items),
        "scenario": payload["scenario"],
        "scenario_heading": texts["scenario.heading"],
        "log_name": texts["log.name"],
        "you": texts["you"],
        "first_message": payload["first_message"],
        "side_names": list(names.values()),
        "sides": talk.sides,
        "turns": turns,
        "assistants": assistants,
        "whole": whole,
        "whole_heading": texts.get("whole.heading", ""),
    }
    return Page(f"questions-{talk.place}", texts["questions.title"], "chat/questions.html", parts, context, talk.item)
