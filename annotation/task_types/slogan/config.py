"""The settings of a slogan study; initially as published (Clark 2021, §2.5)."""

from __future__ import annotations

from django import forms

from annotation.task_types.settings import SuggestersField, record_edits_field
from annotation.task_types.surveys import RESERVED, SurveyForm
from annotation.task_types.topics import TopicsField

MOST_TRIES = 50
MOST_CHARACTERS = 500
#: Topics of the slogan itself, and names of other fields on its page.
TOPICS = (*RESERVED, "slogan", "keywords", "used", "tries", "suggested", "fate", "source")
STATEMENTS = [
    {"topic": "creative", "question": "The slogan is creative."},
    {"topic": "catchy", "question": "The slogan is catchy."},
    {"topic": "relevant", "question": "The slogan is relevant: it fits what it is for."},
    {"topic": "satisfied", "question": "I am satisfied with the slogan."},
]
ABOUT_SUGGESTIONS = [
    {"topic": "suggestions_surprising", "question": "The suggestions were surprising."},
    {"topic": "suggestions_creative", "question": "The suggestions were creative."},
    {"topic": "suggestions_catchy", "question": "The suggestions were catchy."},
    {"topic": "suggestions_relevant", "question": "The suggestions were relevant."},
    {"topic": "suggestions_liked", "question": "I liked the suggestions."},
    {"topic": "suggestions_appreciated", "question": "I was glad to have the suggestions."},
]


class SloganConfig(SurveyForm):
    """The suggesters, the length of a slogan, and the questions after it."""

    suggesters = SuggestersField(
        label="Suggesters",
        least=1,
        most=3,
        initial=["model-a", "model-a", "model-a"],
        help_text="One suggestion from each at every press of the button. A name can be listed three times.",
    )
    most_tries = forms.IntegerField(
        label="Requests per slogan",
        min_value=1,
        max_value=MOST_TRIES,
        initial=20,
        help_text="How many times a worker can ask for suggestions while they write one slogan.",
    )
    most_characters = forms.IntegerField(
        label="Longest slogan, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=150
    )
    statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements after each slogan", initial=STATEMENTS
    )
    suggestion_statements = TopicsField(
        question="Statement", reserved=TOPICS, label="Statements about the suggestions", initial=ABOUT_SUGGESTIONS
    )
    record_edits = record_edits_field()
