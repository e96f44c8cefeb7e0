"""What a study's rule for stopping early saw, look by look."""

from __future__ import annotations

from django.db import models

from annotation.models.study import Study


class StoppingLook(models.Model):
    """One look at the differences that the rule is about. Never changed, but for ``told_at``.

    ``number`` counts the looks that the rule asks for until this time: if ratings arrive quickly, several are one.
    ``share`` of the planned submissions, from 0 to 1, was there. ``differences`` has a mapping for each pair of levels:
    ``first``, ``second``, ``value``, ``low``, ``high``, ``p`` and ``settled`` (see `analysis.findings.looks.Look`).
    ``problem`` says why there are none. ``stopped``: everything was settled, and this look closed the study.
    ``told_at``: when its owners got mail.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="stopping_looks")
    number = models.PositiveSmallIntegerField()
    looked_at = models.DateTimeField(auto_now_add=True)
    share = models.FloatField()
    submissions = models.PositiveIntegerField()
    differences = models.JSONField(default=list)
    problem = models.TextField(blank=True)
    stopped = models.BooleanField(default=False)
    told_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="stopping_look_once")]

    def __str__(self) -> str:
        return f"look {self.number} at {self.study_id}"
