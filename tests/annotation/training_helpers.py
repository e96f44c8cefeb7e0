"""A Likert study with a training of two texts, and somebody who takes it over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from annotation.models import Participant, Study
from tests.annotation.pages import Fields, WorkerBrowser, fields
from tests.annotation.quality_helpers import MAIN, gold_study
from tests.annotation.questionnaire_helpers import stored
from tests.factories import make_participant

#: The right answers are lively 2 and dull 6 or 7, then lively 5 to 7.
TRAINING = (
    {
        "sample_id": "t1",
        "text": "Buzz buzz buzz.",
        "training:lively": "2",
        "training:dull": "6..7",
        "gold_explanation": "It says one word.",
        "gold_explanation:dull": "Nothing happens.",
    },
    {"sample_id": "t2", "text": "An owl sold maps of the wind.", "training:lively": "5..7"},
)
RIGHT = {"t1": {"lively": "2", "dull": "6"}, "t2": {"lively": "6", "dull": "1"}}
WRONG = {"lively": "4", "dull": "1"}


def training_study(
    rows: Sequence[Mapping[str, str]] = (*TRAINING, *MAIN), *, settings: Mapping[str, Any] | None = None, **given: Any
) -> Study:
    """A live study with the training of `TRAINING`. ``settings``: keys of the study file around the tasks."""
    return gold_study(rows, questionnaires=stored(**(settings or {})), **given)


class Trainee(WorkerBrowser):
    """A participant in the training."""

    def __init__(self, study: Study, participant: Participant | None = None) -> None:
        self.participant = participant or make_participant(study=study)
        super().__init__(self.participant)
        self.training_url = reverse("work_training", args=[self.token])

    @property
    def practises(self) -> bool:
        return "Practice ·" in fields(self.get()).text

    def practise(self, answers: Mapping[str, str], form: str = "") -> Any:
        """Answer the training page that is due."""
        return self.client.post(self.training_url, {"form": form or self.form(), **answers})

    def feedback(self) -> Fields:
        return fields(self.client.get(self.training_url))

    def round(self, *answers: Mapping[str, str]) -> None:
        for page_answers in answers:
            reply = self.practise(page_answers)
            assert reply.status_code == 303, reply.content.decode()
