"""What writing studies with and without suggestions ask: statements about each text and a survey at the end.

Source: Clark 2021, §2.4–2.5: 7-point ratings of each text, then a survey whose questions depend on the arm. The wording
is ours, and a study can change all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from analysis.description import ReportSection, Scale
from annotation.task_types.base import Page, Text
from annotation.task_types.items import Json
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Grid, Part, Question
from annotation.task_types.settings import ConfigForm, TopicsField
from annotation.task_types.wording import scale_texts, worded

AGREEMENT = Scale.numbered("agreement", 7, low="Strongly disagree", high="Strongly agree")
AGAIN = "use_again"
#: Answers without an order: what would have to change is another matter in each (Clark 2021, Table 2.4).
USE_AGAIN = Scale.of(
    AGAIN,
    "nominal",
    ["Yes, as it is", "Only with better suggestions", "Only with a different writing set-up", "Not at all"],
)
LISTS = ("statements", "survey_statements", "survey_questions", "solo_questions", "suggestion_statements")
#: Names of parts of these pages.
RESERVED = (AGAIN, *LISTS)


class SurveyForm(ConfigForm):
    """Whether there are suggestions, and the questions that depend on that. Subclasses add the instrument's own."""

    suggestions = forms.BooleanField(
        label="Suggestions",
        required=False,
        initial=True,
        help_text="Without them, people write alone. An arm can set this, so that a study compares both.",
    )
    survey_statements = TopicsField(
        question="Statement",
        reserved=RESERVED,
        label="Statements at the end",
        initial=[{"topic": "enjoyed", "question": "I enjoyed the task."}],
    )
    survey_questions = TopicsField(
        question="Question",
        reserved=RESERVED,
        label="Open questions at the end",
        initial=[
            {"topic": "interface", "question": "What did you think of the page that you wrote on?"},
            {"topic": "difficulty", "question": "What was difficult?"},
            {"topic": "improvements", "question": "What would you improve?"},
        ],
    )
    solo_questions = TopicsField(
        question="Question",
        reserved=RESERVED,
        label="Open questions at the end for people who wrote without suggestions",
        initial=[{"topic": "tools", "question": "Which tools would have helped you to write?"}],
    )

    def clean(self) -> dict[str, Any]:
        config: dict[str, Any] = super().clean() or self.cleaned_data
        list_of_topic: dict[str, str] = {}
        for name in LISTS:
            for row in config.get(name) or []:
                first_list = list_of_topic.setdefault(row["topic"], name)
                if first_list != name:
                    what = (
                        f"The topic “{row['topic']}” is already in “{self.fields[first_list].label}”. Use another name."
                    )
                    self.add_error(name, what)
        return config


def statements(config: Json, texts: Mapping[str, str], name: str) -> list[ScaleQuestion]:
    """The statements that a setting lists, on the 7-point scale."""
    scale = worded("agreement", AGREEMENT, texts)
    return [ScaleQuestion(row["topic"], row["question"], row["topic"], scale) for row in config[name]]


def survey_sections(config: Json) -> list[ReportSection]:
    """The statements about each text and the task by arm, tests between arms, the statements about the suggestions.

    Source: Clark 2021, §2.6. The same for all arms of a study, except that arms without suggestions lack the last.
    """
    topics = [row["topic"] for name in ("statements", "survey_statements") for row in config[name]]
    sections = [
        ReportSection("scales", {"topics": topics, "by": "arm"}),
        ReportSection("arm_tests", {"topics": topics}),
    ]
    suggestion_topics = [row["topic"] for row in config["suggestion_statements"]]
    if config["suggestions"] and suggestion_topics:
        sections.append(
            ReportSection("scales", {"topics": suggestion_topics, "title": "Statements about the suggestions"})
        )
    return sections


def survey_parts(config: Json, texts: Mapping[str, str]) -> list[Part]:
    """The parts of the last page."""
    grid = Grid("survey_statements", texts["survey.statements"], tuple(statements(config, texts, "survey_statements")))
    parts: list[Part] = [grid]
    if config["suggestions"]:
        suggestion_statements = statements(config, texts, "suggestion_statements")
        parts += [
            Grid("suggestion_statements", texts["survey.suggestions"], tuple(suggestion_statements)),
            _again(texts),
        ]
    return parts + _open_questions(config)


def survey_page(config: Json, texts: Mapping[str, str]) -> Page:
    """The last page. It is about no item."""
    return Page("survey", texts["survey.title"], "annotation/work.html", survey_parts(config, texts), {}, None)


def survey_questions(config: Json, texts: Mapping[str, str]) -> list[Question]:
    """One question per topic of the last page."""
    questions: list[Question] = [*statements(config, texts, "survey_statements")]
    if config["suggestions"]:
        questions += [*statements(config, texts, "suggestion_statements"), _again(texts)]
    return questions + _open_questions(config)


def _again(texts: Mapping[str, str]) -> ChoiceQuestion:
    scale = worded(AGAIN, USE_AGAIN, texts)
    return ChoiceQuestion(AGAIN, texts["survey.again"], AGAIN, scale)


def _open_questions(config: Json) -> list[TextQuestion]:
    rows = [*config["survey_questions"], *([] if config["suggestions"] else config["solo_questions"])]
    return [TextQuestion(row["topic"], row["question"], row["topic"], rows=3) for row in rows]


def survey_texts(config: Json) -> Sequence[Text]:
    """The texts of the last page, and the names of the points of its scales."""
    group = "Last page"
    texts = [
        Text("survey.title", "Title", "A few questions about the task", group),
        Text("survey.statements", "Line above the statements", "How much do you agree?", group),
    ]
    if config["suggestions"]:
        suggestions_line = "And about the suggestions: how much do you agree?"
        again_question = "Would you use this system to write again?"
        texts += [
            Text("survey.suggestions", "Line above the statements about suggestions", suggestions_line, group),
            Text("survey.again", "Question about using suggestions again", again_question, group),
        ]
        texts += scale_texts(AGAIN, USE_AGAIN, "Answers to the question about using suggestions again")
    return [*texts, *scale_texts("agreement", AGREEMENT, "Scale of the statements")]
