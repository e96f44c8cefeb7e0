"""Files that workers upload as answers."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from marketplace.models.hits import Assignment


class UploadedFile(models.Model):
    """A file that answers one question of a form. Its content is stored under its key, outside the database.

    A worker can choose another file before submitting: each choice is a row, the newest counts, and the answer names
    its key. ``submitted``: the file is part of the answer. The others are deleted when the work has ended.
    """

    key = models.CharField(max_length=64, unique=True)
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, db_index=False, related_name="files")
    question_identifier = models.TextField()
    name = models.CharField(max_length=200, help_text="As the worker's device calls it; no requester sees it.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    submitted = models.BooleanField(default=False)
    uploaded_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["assignment", "id"], name="market_file_of_assignment"),
            models.Index(fields=["id"], condition=Q(submitted=False), name="market_file_not_submitted"),
        ]

    def __str__(self) -> str:
        return self.key
