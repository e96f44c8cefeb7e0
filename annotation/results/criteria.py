"""What the answers to every question of a study mean: the scale, the words of its points, the names of options.

The export ``long`` and the API show it beside every answer, so that their rows can be analysed without the study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from analysis.description import QuestionDescription
from annotation.models import Arm, Study
from annotation.studies.declared_scores import instruments_of, questions_of
from annotation.task_types.registry import UnknownTaskType


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question with its scale. ``low`` and ``high`` are None if the scale has no points. ``words`` are the names of
    its points by value, ``options`` those of the options of a question with several choices by target."""

    level: str = ""
    low: float | None = None
    high: float | None = None
    words: dict[float, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, question: QuestionDescription) -> Criterion:
        scale = question.ratings_scale
        words = {point.value: point.label for point in scale.points}
        low, high = (scale.low, scale.high) if scale.points else (None, None)
        return cls(scale.level, low, high, words, dict(question.targets))


#: For answers to a question that the study does not describe.
UNDESCRIBED = Criterion()


class Criteria:
    """The criteria of a study. Its arms may word them differently."""

    def __init__(self, study: Study, arms: Sequence[Arm]) -> None:
        """Without the study's type, no criterion is described."""
        try:
            instruments = instruments_of(study, arms)
        except UnknownTaskType:
            self._of_study, self._of_arm = {}, {}
            return
        self._of_study = {question.topic: Criterion.of(question) for question in questions_of(instruments)}
        self._of_arm = {
            instrument.arm: {
                question.topic: Criterion.of(question)
                for question in instrument.task.describe_questions(instrument.config, instrument.texts)
            }
            for instrument in instruments[1:]
        }

    def of(self, arm: str, topic: str) -> Criterion:
        in_arm = self._of_arm.get(arm, {}).get(topic)
        return in_arm or self._of_study.get(topic, UNDESCRIBED)
