"""What is only ever appended: flags, people's reviews, and who did what."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from annotation.models.study import Study
from annotation.models.work import Submission


class Flag(models.Model):
    """A reason to look at a submission. A machine raises it; only a person decides (``Review``)."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=40)
    detail = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.reason


class Review(models.Model):
    """A person's decision on a submission; the newest counts, the earlier ones stay."""

    class Decision(models.TextChoices):
        INCLUDE = "include", "Use in the analysis"
        EXCLUDE = "exclude", "Leave out of the analysis"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="reviews")
    decision = models.CharField(max_length=10, choices=Decision.choices)
    note = models.CharField(max_length=500, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="reviews")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.decision


class AuditEntry(models.Model):
    """Who did what to a study, and when."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="audit")
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    action = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}"
