"""The settings of a story; initially as published (Clark 2021, ch. 4)."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.task_types.settings import ConfigForm, SuggestersField, record_edits_field
from annotation.task_types.topics import TopicsField

MOST_ROUNDS = 20
MOST_CHARACTERS = 2_000
#: Topics of the story itself.
TOPICS = ("turn", "choice", "switches", "suggested", "pick", "pick_history", "turn_edits", "statements")
STATEMENTS = [
    {"topic": "satisfied", "question": "I am happy with the final story."},
    {"topic": "collaborative", "question": "The system and I worked together on the story."},
    {"topic": "useful", "question": "It was useful to have suggestions."},
    {"topic": "connected", "question": "The suggestions fitted the story so far."},
    {"topic": "inspiring", "question": "The suggestions helped me come up with new ideas."},
]
QUESTIONS = [
    {"topic": "why_chosen", "question": "What made you choose one suggestion over the other?"},
    {"topic": "looked_for", "question": "What were you looking for in a suggestion?"},
]


class CyoaConfig(ConfigForm):
    """The suggesters, the length of a story, and the questions at the end."""

    suggesters = SuggestersField(
        label="Suggesters",
        least=1,
        most=4,
        initial=["model-a", "model-b"],
        help_text="One suggestion from each, in random order. You may name a suggester twice: it then suggests twice.",
    )
    rounds = forms.IntegerField(
        label="Rounds",
        min_value=1,
        max_value=MOST_ROUNDS,
        initial=5,
        help_text="In each round, workers first write a turn alone and then one with suggestions.",
    )
    least_characters = forms.IntegerField(
        label="Shortest turn, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=20
    )
    most_characters = forms.IntegerField(
        label="Longest turn, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=260
    )
    statements = TopicsField(question="Statement", reserved=TOPICS, label="Statements at the end", initial=STATEMENTS)
    questions = TopicsField(question="Question", reserved=TOPICS, label="Open questions at the end", initial=QUESTIONS)
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        least, most = given.get("least_characters"), given.get("most_characters")
        if least and most and least > most:
            self.add_error("least_characters", f"This is more than the longest turn, {most}. Lower it.")
        named = {row["topic"] for row in given.get("statements") or []}
        for row in given.get("questions") or []:
            if row["topic"] in named:
                self.add_error("questions", f"The topic “{row['topic']}” is already the name of a statement.")
        return given
