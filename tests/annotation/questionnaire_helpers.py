"""A study with questionnaires, and somebody who answers them over HTTP."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.urls import reverse

from annotation.models import Participant, Study
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.work.quality_rules import initial_values
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_study

FLUENT: dict[str, Any] = {
    "kind": "choice",
    "topic": "fluent",
    "question": "Are you fluent in Czech?",
    "options": [{"value": "1", "label": "Yes"}, {"value": "2", "label": "No"}],
}
REMARK: dict[str, Any] = {"kind": "text", "topic": "remark", "question": "What was hard?", "required": False}
COUNT: dict[str, Any] = {
    "kind": "choice",
    "topic": "how_many",
    "question": "How many replies are on a page?",
    "options": [{"value": "3", "label": "Three"}, {"value": "5", "label": "Five"}],
    "right": "Five",
    "explanation": "A page shows one set of five replies.",
}
SCREENING: dict[str, Any] = {"before": [FLUENT], "screen_out": {"fluent": ["No"]}}


def stored(**settings: Any) -> dict[str, Any]:
    """The settings as a study stores them."""
    form = QuestionnairesForm(initial_values(QuestionnairesForm) | settings)
    assert form.is_valid(), form.errors
    clean = dict(form.cleaned_data)
    clean["screen_out_reward"] = str(clean["screen_out_reward"]) if clean["screen_out_reward"] else None
    return clean


def asking_study(*, study: dict[str, Any] | None = None, **settings: Any) -> Study:
    """A live study of two items with these questionnaires."""
    values: dict[str, Any] = {"items": 2, "ratings_per_item": 1, "reward": Decimal("0.90"), "hits_per_worker": 1}
    return make_study(**values | (study or {}), questionnaires=stored(**settings))


class Person(WorkerBrowser):
    """A participant's page, with the questionnaires around it."""

    def __init__(self, participant: Participant, url: str = "") -> None:
        super().__init__(participant)
        if url:
            self.token = url.split("/")[2]
            self.url, self.done_url = url, reverse("work_done", args=[self.token])
        self.questions_url = reverse("work_questions", args=[self.token])

    def asks(self) -> str:
        """Which questionnaire the page asks now; empty if it is a task or the end."""
        return fields(self.get()).values.get("asks", "")

    def answer(self, *, at: str = "", **answers: str) -> Any:
        """Answer the questionnaire that the page shows."""
        form = fields(self.client.get(at or self.url)).values["form"]
        return self.client.post(self.questions_url, {"form": form, **answers})
