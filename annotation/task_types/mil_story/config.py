"""The settings of a story; initially as published (Clark 2021, §2.4)."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.task_types.settings import SuggestersField, record_edits_field
from annotation.task_types.surveys import RESERVED, SurveyForm
from annotation.task_types.topics import TopicsField

MOST_SENTENCES = 40
MOST_CHARACTERS = 2_000
#: Topics of the story itself.
TOPICS = (*RESERVED, "sentence", "suggested", "fate", "source")
STATEMENTS = [
    {"topic": "creative", "question": "The story is creative."},
    {"topic": "coherent", "question": "The story is coherent: everything in it fits together."},
    {"topic": "entertaining", "question": "The story is entertaining."},
    {"topic": "grammatical", "question": "The story is grammatically correct."},
    {"topic": "satisfied", "question": "I am satisfied with the story."},
]
ABOUT_SUGGESTIONS = [
    {"topic": "suggestions_surprising", "question": "The suggestions were surprising."},
    {"topic": "suggestions_creative", "question": "The suggestions were creative."},
    {"topic": "suggestions_grammatical", "question": "The suggestions were grammatically correct."},
    {"topic": "suggestions_liked", "question": "I liked the suggestions."},
    {"topic": "suggestions_appreciated", "question": "I was glad to have the suggestions."},
]


class MilStoryConfig(SurveyForm):
    """The suggester, the length of a story, and the questions after it."""

    suggesters = SuggestersField(
        label="Suggester",
        least=1,
        most=1,
        initial=["model-a"],
        help_text="It writes every second sentence. The writer gets it in the box, to edit or delete.",
    )
    sentences = forms.IntegerField(label="Sentences of a story", min_value=2, max_value=MOST_SENTENCES, initial=10)
    least_characters = forms.IntegerField(
        label="Shortest sentence, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=5
    )
    most_characters = forms.IntegerField(
        label="Longest sentence, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=300
    )
    statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements after each story", initial=STATEMENTS
    )
    suggestion_statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements about the suggestions", initial=ABOUT_SUGGESTIONS
    )
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        least, most = given.get("least_characters"), given.get("most_characters")
        if least and most and least > most:
            self.add_error("least_characters", f"This is more than the longest sentence, {most}. Lower it.")
        return given
