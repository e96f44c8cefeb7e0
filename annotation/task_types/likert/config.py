"""The settings of Likert studies. Initially, third parties judge finished stories, as in Clark 2021, §2.6.2."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.task_types.settings import ConfigForm, ListField
from annotation.task_types.topics import TopicsField

MOST_POINTS = 11
PUBLISHED = [
    {"topic": "creative", "question": "The text is creative."},
    {"topic": "coherent", "question": "The text is coherent: everything in it fits together."},
    {"topic": "entertaining", "question": "The text is entertaining."},
    {"topic": "grammatical", "question": "The text is grammatically correct."},
    {"topic": "liked", "question": "I like the text."},
]


class LikertConfig(ConfigForm):
    """Statements, their scale, and how they are shown."""

    statements = TopicsField(
        question="Statement", reserved=("comment", "statements"), label="Statements", initial=PUBLISHED
    )
    points = forms.IntegerField(label="Points of the scale", min_value=3, max_value=MOST_POINTS, initial=7)
    low_label = forms.CharField(label="Name of the lowest point", max_length=60, initial="Strongly disagree")
    high_label = forms.CharField(label="Name of the highest point", max_length=60, initial="Strongly agree")
    labels = ListField(
        label="A name for every point",
        required=False,
        most=MOST_POINTS,
        max_length=60,
        help_text="From the lowest point to the highest. Empty: only the two ends have names.",
    )
    direction = forms.ChoiceField(
        label="Direction of the scale",
        choices=[("ascending", "Lowest point first"), ("descending", "Highest point first")],
        initial="ascending",
    )
    order = forms.ChoiceField(
        label="Order of the statements",
        choices=[("shuffled", "Random, one order per worker and task"), ("fixed", "As listed")],
        initial="shuffled",
    )
    show_context = forms.BooleanField(
        label="Show the context of each text, if it has one", initial=True, required=False
    )
    comment = forms.BooleanField(label="An optional comment box", initial=False, required=False)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        labels, points = given.get("labels"), given.get("points")
        if labels and points and len(labels) != points:
            what = f"There are {len(labels)} names for {points} points. Give every point a name, or none."
            self.add_error("labels", what)
        return given
