"""HIT layouts: pages with placeholders. To create a HIT from one, a requester sends only the values."""

from __future__ import annotations

from django.db import models

from marketplace.models.accounts import Requester


class HITLayout(models.Model):
    """A page with ``${placeholders}``. It never changes: a changed page is a new layout, as on MTurk."""

    layout_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="layouts")
    name = models.CharField(max_length=200)
    html = models.TextField()
    frame_height = models.PositiveIntegerField(default=0, help_text="Pixels; 0 fills most of the worker's window.")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.layout_id
