"""A conversation as it follows from the pages that were sent and the answers that came.

Each message is a page, so a conversation only grows: what was sent cannot be lost or changed. The page after a message
asks for its answers. If one does not come, the page after “try again” asks for it once more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotation.task_types.base import Answers, Shown
from annotation.task_types.chat.message_question import RETRY
from annotation.task_types.items import Json
from annotation.task_types.offers import OfferData

#: The places of the assistants, in the order shown.
SIDES = ("A", "B")


@dataclass(slots=True)
class Turn:
    """One message, and the answer to it by side as far as there is one."""

    number: int
    message: str
    step: int
    answers: dict[str, OfferData] = field(default_factory=dict)


@dataclass(slots=True)
class Talk:
    """One conversation. ``first`` and ``step``: the steps of its first page and of the one that is due. ``asked``: the
    sides that the page asks; ``arrived``: whether all of these have an answer or are known to have none."""

    item: int
    place: int
    first: int
    step: int
    sides: Sequence[str]
    turns: list[Turn] = field(default_factory=list)
    asked: Sequence[str] = ()
    arrived: bool = True
    is_over: bool = False

    @property
    def lacking(self) -> list[str]:
        """The sides that have not answered the last message."""
        return [side for side in self.sides if self.turns and side not in self.turns[-1].answers]

    def history(self, side: str, payload: Json) -> list[tuple[str, str]]:
        """What was said to and by one assistant, with its instructions first."""
        messages = [("system", payload["system_prompt"]), ("assistant", payload["first_message"])]
        for turn in self.turns:
            messages.append(("user", turn.message))
            if side in turn.answers:
                messages.append(("assistant", turn.answers[side].text))
        return [(role, text) for role, text in messages if text.strip()]

    def transcript(self, side: str, payload: Json) -> str:
        """The conversation with one assistant as JSON, which a form shows as a chat. No instructions to the model."""
        records = [
            {"role": "User" if role == "user" else "Assistant", "content": text}
            for role, text in self.history(side, payload)
            if role != "system"
        ]
        return json.dumps(records, ensure_ascii=False)


def talks(shown: Shown, answers: Sequence[Answers], *, has_questions: bool) -> list[Talk]:
    """The conversations that have begun, after the pages with ``answers``. The last one is due, if it is not over and
    judged: then its ``step`` is that of the page to show."""
    begun: list[Talk] = []
    step = 0
    for place, item in enumerate(shown.order["items"], start=1):
        talk = Talk(item, place, step, step, SIDES[: len(shown.order["models"][item])])
        begun.append(talk)
        while True:
            offers = shown.offers.at(talk.step)
            talk.arrived = set(talk.asked) <= set(offers)
            if talk.arrived and talk.turns:
                came = {side: offers[side] for side in talk.asked if offers[side].text}
                talk.turns[-1].answers |= came
            if talk.is_over or talk.step >= len(answers):
                break
            sent = answers[talk.step].get("message")
            if isinstance(sent, str):
                talk.turns.append(Turn(len(talk.turns) + 1, sent, talk.step))
            talk.is_over = not isinstance(sent, str) and sent != RETRY
            talk.step += 1
            talk.asked = [] if talk.is_over else talk.lacking
        if not talk.is_over or (has_questions and talk.step >= len(answers)):
            return begun
        step = talk.step + has_questions
    return begun
