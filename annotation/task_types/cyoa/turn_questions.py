"""The questions of a turn: which suggestion to use, with all switches, and the line itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from analysis.description import Kind, Point, Scale
from annotation.languages import gettext as _
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Answer, AnswerError, Form, Option, Question, Sketch, Stored, clean_text
from common.text_length import is_blank

MOST_PICKS = 50


@dataclass(frozen=True, slots=True)
class PickQuestion(Question):
    """Which suggestion to use. The answer lists the sides in the order picked. The last one counts.

    Without the page's script, only the last pick is known.
    """

    kind: ClassVar[Kind] = "choice"
    options: tuple[Option, ...] = ()

    @property
    def template(self) -> str:
        return "cyoa/_pick.html"

    @property
    def sketch(self) -> Sketch:
        return Sketch("dot", len(self.options))

    @property
    def history_field(self) -> str:
        return f"{self.key}_history"

    def clean(self, form: Form) -> Answer:
        sides = [option.key for option in self.options]
        last = form.get(self.key, "").strip()
        if not last:
            raise AnswerError(_("Please choose one of the suggestions."))
        if last not in sides:
            strange = _("“%(text)s” is not a suggestion. Please choose one of those shown.")
            raise AnswerError(strange % {"text": clean_text(last)[:40]})
        before = [side for side in form.get(self.history_field, "").split()[-MOST_PICKS:] if side in sides]
        picked = [*before, last]
        return [picked[0], *(side for previous, side in pairwise(picked) if side != previous)]

    def typed(self, answer: Answer) -> dict[str, str]:
        picked = answer if isinstance(answer, list) and answer else []
        return {self.key: picked[-1] if picked else "", self.history_field: " ".join(picked)}

    def stored(self, answer: Answer) -> list[Stored]:
        """Nothing: only the type knows the meaning of a side, so the type stores it."""
        return []


@dataclass(frozen=True, slots=True)
class LineQuestion(TextQuestion):
    """One line of the story. With ``stands_for_pick``, an empty box means the unchanged suggestion.

    Only a browser without JavaScript sends an empty box. The page's script puts the suggestion into the box and
    requires a text.
    """

    stands_for_pick: bool = False

    def clean(self, form: Form) -> Answer:
        if self.stands_for_pick and is_blank(form.get(self.key, "")):
            return None
        return TextQuestion.clean(self, form)


def choice_scale(suggesters: Sequence[str]) -> Scale:
    """The scale of which suggester's text was chosen: its position in the study's setting, from 1."""
    points = tuple(Point(float(position), name) for position, name in enumerate(suggesters, start=1))
    return Scale("suggester", "nominal", points)
