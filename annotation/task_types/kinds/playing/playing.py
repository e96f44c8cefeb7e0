"""A recording that people play: sound or video. The page records which parts they played, how often and how long.

Task types in Python put it on their pages (`form` does for ``as: audio`` and ``as: video``). It asks nothing, but with
``to_the_end`` a page cannot be sent before everything was played.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from analysis.description import Kind, Score
from annotation.languages import gettext as _
from annotation.languages import item_language, ngettext, spoken_code
from annotation.task_types.kinds.playing.play_record import read_record, whole_record
from annotation.task_types.questions import Answer, AnswerError, Form, Question, Sketch, Stored

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

#: How long a recording is for a simulated worker if its file does not say.
SOME_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PlayingQuestion(Question):
    """A recording. ``source`` is the name of its stored file, ``captions`` that of a WebVTT file. ``seconds`` is its
    length, 0 if the file does not say. Its rating is the number of seconds played, with the record as its text."""

    kind: ClassVar[Kind] = "playing"
    kind_name: ClassVar[str] = "Playing"
    scripts: ClassVar[Sequence[str]] = ("playing.js",)
    styles: ClassVar[Sequence[str]] = ("playing.css",)
    source: str = ""
    is_video: bool = False
    captions: str = ""
    transcript: str = ""
    to_the_end: bool = False
    seconds: float = 0.0

    def drawn(self, values: Form) -> dict[str, Any]:
        return {"value": values.get(self.key, ""), "captions_language": item_language() or spoken_code()}

    @property
    def sketch(self) -> Sketch:
        return Sketch("bar")

    def clean(self, form: Form) -> Answer:
        record = read_record(form.get(self.key, ""))
        if not self.to_the_end:
            return record.as_json() if record else None
        if record is None or not record.parts:
            raise AnswerError(
                _(
                    "Please play this to the end. If you have played it, turn on JavaScript, reload the page and play "
                    "it again."
                )
            )
        if missing := record.missing(self.seconds):
            count = max(1, round(missing))
            what = ngettext(
                "Please play this to the end: %(count)s second was not played. What you skip does not count.",
                "Please play this to the end: %(count)s seconds were not played. What you skip does not count.",
                count,
            )
            raise AnswerError(what % {"count": count})
        return record.as_json()

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: answer if isinstance(answer, str) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        record = read_record(answer) if isinstance(answer, str) else None
        assert record is not None  # noqa: S101 - `clean` made it
        return [Stored(self.target, record.seconds, record.as_json())]

    def score(self) -> Score | None:
        """How long something was played is no judgement of it."""
        return None

    def in_words(self, answer: Answer) -> str:
        record = read_record(answer) if isinstance(answer, str) else None
        return f"{record.seconds:g} s" if record else ""

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """Everybody plays everything once."""
        return self.typed(whole_record(self.seconds or SOME_SECONDS).as_json())
