"""The settings of quality studies, initially as published, and the options for items from a run's samples."""

from __future__ import annotations

from django import forms

from annotation.task_types.settings import ConfigForm


class QualityConfig(ConfigForm):
    """How many tasks to plan, how many raters each gets, and what passes the exam."""

    tasks = forms.IntegerField(
        label="Number of tasks",
        min_value=1,
        max_value=100_000,
        required=False,
        help_text="Empty: as many as the ratings per item need. A number: that many, whatever the ratings per item. "
        "The published study has 1,930.",
    )
    raters_per_task = forms.IntegerField(
        label="Raters per task",
        min_value=1,
        max_value=100,
        initial=1,
        help_text="1 puts every rating of a text into another task. Give 5 to measure how well raters agree.",
    )
    exam_most_wrong = forms.IntegerField(
        label="Exam: wrong labels allowed",
        min_value=0,
        max_value=100,
        initial=1,
        help_text="Only for studies whose texts are an exam, with known labels.",
    )
    exam_most_levels = forms.IntegerField(
        label="Exam: levels by which a wrong label may be off", min_value=1, max_value=4, initial=1
    )
