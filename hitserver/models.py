"""What the server notes about itself: its processes, its backups, and the alarms that people got mail about."""

from __future__ import annotations

from django.db import models


class ProcessSign(models.Model):
    """A process of this server, on whichever machine, and when it was last seen."""

    class Kind(models.TextChoices):
        WEB = "web", "Web process"
        SCHEDULER = "scheduler", "Scheduler"
        WORKER = "worker", "Task worker"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    machine = models.CharField(max_length=60)
    pid = models.PositiveIntegerField()
    queues = models.CharField(max_length=100, blank=True, help_text="The task queues that a worker serves.")
    version = models.CharField(max_length=20)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["machine", "pid"], name="processsign_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.machine}:{self.pid}"


class BackupNote(models.Model):
    """A backup that was written, and what came of the latest try to restore it (empty: it was not tried)."""

    machine = models.CharField(max_length=60)
    path = models.CharField(max_length=500)
    n_bytes = models.BigIntegerField()
    n_rows = models.BigIntegerField()
    made_at = models.DateTimeField()
    tried_at = models.DateTimeField(null=True, blank=True)
    works = models.BooleanField(null=True)
    outcome = models.TextField(blank=True, help_text="What the try found, in words.")

    class Meta:
        indexes = [models.Index(fields=["-made_at"], name="backupnote_latest")]

    def __str__(self) -> str:
        return f"{self.path} of {self.made_at:%d %b %Y, %H:%M}"


class Alarm(models.Model):
    """Something that is wrong, from when it is first noticed until it has been right again for a while."""

    cause = models.CharField(max_length=60, unique=True)
    text = models.TextField()
    began_at = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True, blank=True)
    right_since = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.cause
