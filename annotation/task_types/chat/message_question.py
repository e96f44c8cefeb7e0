"""The box for the next message, with the buttons beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Answer, AnswerError, Form, Stored
from common.text_length import is_blank

#: What somebody does on a page in place of a message. Lists, so that no message can be mistaken for one.
END, RETRY = ["end"], ["retry"]


@dataclass(frozen=True, slots=True)
class MessageQuestion(TextQuestion):
    """The next message; or the end of the conversation, or another try for an answer that did not come.

    ``refusal`` is what somebody reads who ends the conversation with a text in the box.
    """

    scripts: ClassVar[Sequence[str]] = ("chat/talk.js",)
    can_send: bool = True
    can_end: bool = False
    can_retry: bool = False
    refusal: str = ""

    @property
    def template(self) -> str:
        return "annotation/questions/text.html"

    def clean(self, form: Form) -> Answer:
        action = "end" if form.get("end") else "retry" if form.get("retry") else form.get("action", "")
        if action == "retry" and self.can_retry:
            return RETRY
        if action == "end" and self.can_end and is_blank(form.get(self.key, "")):
            return END
        if action in ("end", "retry") or not self.can_send:
            raise AnswerError(self.refusal)
        return TextQuestion.clean(self, form)

    def typed(self, answer: Answer) -> dict[str, str]:
        if isinstance(answer, list):
            return {self.key: "", "action": answer[0]}
        return {self.key: str(answer or ""), "action": ""}

    def stored(self, answer: Answer) -> list[Stored]:
        return TextQuestion.stored(self, answer) if isinstance(answer, str) else []
