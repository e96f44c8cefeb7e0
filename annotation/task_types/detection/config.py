"""The settings of detection studies. Each training or cell of the published design is an arm with its own settings."""

from __future__ import annotations

from django import forms

from annotation.task_types.settings import ConfigForm


class DetectionConfig(ConfigForm):
    """How workers are trained, and which texts they get."""

    training = forms.ChoiceField(
        label="Training",
        choices=[
            ("none", "None: basic instructions"),
            ("instructions", "Instructions: what helps and what misleads"),
            ("examples", "Examples: practice texts with the right answer and an explanation"),
            ("comparison", "Comparison: practice pairs of a person’s and a machine’s text"),
        ],
        initial="none",
        help_text="Practice texts are items with the role practice. Give each arm its own training to compare them.",
    )
    domain = forms.CharField(
        label="Only texts of this domain",
        initial="",
        max_length=100,
        required=False,
        help_text="Empty: all domains. A worker gets texts of one domain in a task, whatever you enter.",
    )
    model = forms.CharField(
        label="Only machine texts by this model",
        initial="",
        max_length=200,
        required=False,
        help_text="Empty: all models.",
    )
    min_words = forms.IntegerField(label="Minimum words in a reason", min_value=1, max_value=100, initial=3)
