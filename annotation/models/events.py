"""The log of edits: what workers typed and deleted, in the order in which they did it."""

from __future__ import annotations

from django.db import models

from annotation.models.work import Assignment


class EventBatch(models.Model):
    """Edits that a page sent together. Triggers refuse UPDATE and DELETE.

    ``view`` is one loading of the page: when the server rendered it (milliseconds since 1970, 13 digits), a hyphen, and
    a random part from the browser. Views in the order of their names and batches in the order of their numbers give the
    whole log of a page. ``edits`` is a list of ``[field, at, position, deleted, inserted, how]``: the box, milliseconds
    since the page was loaded, the position and the number of deleted characters (both in code points), the inserted
    text, and ``start`` (the box as it was when the page was loaded), ``type``, ``paste`` or ``script``.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, db_index=False, related_name="event_batches")
    step = models.PositiveSmallIntegerField()
    view = models.CharField(max_length=24)
    number = models.PositiveIntegerField(help_text="Counts the view's batches from 0.")
    edits = models.JSONField()
    size = models.PositiveIntegerField(help_text="Bytes, as they were sent.")
    received_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "step", "view", "number"], name="eventbatch_once")]

    def __str__(self) -> str:
        return f"edits {self.number} of step {self.step} of assignment {self.assignment_id}"
