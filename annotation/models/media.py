"""Images that items show to workers."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.study import Study


class Media(models.Model):
    """An image of one study. ``key`` names the file in MEDIA_FILES: the SHA-256 of its content, and its format.

    If several studies have the same image, the file is stored once. ``source`` is the SHA-256 of the file as it was
    uploaded, so that the same upload is recognised even if images are encoded differently now. An item may have another
    ``alt``.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="media")
    name = models.CharField(max_length=200, help_text="What items files call it.")
    key = models.CharField(max_length=72, db_index=True)
    source = models.CharField(max_length=64)
    format = models.CharField(max_length=5)
    width = models.PositiveIntegerField(help_text="Pixels.")
    height = models.PositiveIntegerField(help_text="Pixels.")
    size = models.PositiveIntegerField(help_text="Bytes.")
    alt = models.CharField(max_length=500, help_text="What people read who cannot see the image.")
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", help_text="Null: a command."
    )
    uploaded_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "media"
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="media_name_once"),
            models.CheckConstraint(condition=~Q(alt=""), name="media_alt_not_empty"),
        ]

    def __str__(self) -> str:
        return self.name
