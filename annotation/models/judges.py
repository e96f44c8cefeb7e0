"""Judges: language models that answer a study's pages. They are no workers, and nothing here refers to one.

```
Judge ─> JudgePlace (one item, one sample) ─┬─> JudgeAnswer (one call, whatever came of it)
                                            └─> JudgeRating (one answer to one question)
```
"""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.study import Arm, Item, Study
from generation.models import LanguageModel


class Judge(models.Model):
    """A model with its settings, as a judge of one study. Settings never change once it exists.

    State machine: waiting → running → done | capped | failed; waiting or running → stopped; stopped, capped or failed →
    waiting (resume). One process at a time works for a judge: whoever holds the lease.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        STOPPED = "stopped", "Stopped"
        CAPPED = "capped", "Cap reached"
        FAILED = "failed", "Failed"

    class Method(models.TextChoices):
        SCORED = "scored", "Every possible answer is scored by its probability"
        JSON = "json", "The model writes JSON"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="judges")
    name = models.CharField(max_length=60)
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="judges")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="judges")
    method = models.CharField(max_length=10, choices=Method)
    samples = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1), MaxValueValidator(100)])
    temperature = models.FloatField(default=1.0)
    seed = models.PositiveIntegerField(default=1)
    max_tokens = models.PositiveIntegerField(default=200, help_text="Of one answer.")
    max_tries = models.PositiveSmallIntegerField(default=3, validators=[MinValueValidator(1), MaxValueValidator(10)])
    instruction = models.TextField(blank=True, help_text="Before the study's own instructions. Empty: the default.")
    price_in = models.DecimalField(max_digits=10, decimal_places=4, default=0, help_text="USD per million tokens read.")
    price_out = models.DecimalField(
        max_digits=10, decimal_places=4, default=0, help_text="USD per million tokens written."
    )
    cap_usd = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    cap_tokens = models.PositiveBigIntegerField(null=True, blank=True, help_text="Read and written.")
    n_items = models.PositiveIntegerField(help_text="Items that it judges.")

    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    message = models.TextField(blank=True)
    failures = models.PositiveSmallIntegerField(default=0, help_text="Errors in a row, of the model or its server.")
    leased_by = models.CharField(max_length=100, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="judge_name_once"),
            models.CheckConstraint(condition=Q(samples__gte=1) & Q(max_tries__gte=1), name="judge_counts_positive"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running", "done", "stopped", "capped", "failed"]),
                name="judge_state_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.study_id}"


class JudgePlace(models.Model):
    """One item that a judge answers about once. ``sample`` counts from 0 and decides sides, as a worker's slot does."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DONE = "done", "Answered"
        INVALID = "invalid", "No valid answer"
        REFUSED = "refused", "Not possible"

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, db_index=False, related_name="places")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judge_places")
    position = models.PositiveIntegerField(help_text="In the seeded random order in which items are judged.")
    sample = models.PositiveSmallIntegerField()
    order = models.JSONField(help_text="What the task type arranged: sides, texts, statements.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    reason = models.CharField(max_length=300, blank=True, help_text="Why there is no answer.")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["judge", "position"], name="judgeplace_position_once"),
            models.UniqueConstraint(fields=["judge", "item", "sample"], name="judgeplace_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.item_id}, sample {self.sample}, of judge {self.judge_id}"


class JudgeAnswer(models.Model):
    """What came of one call about one page. Written once: a trigger refuses UPDATE and DELETE.

    ``problem`` is empty for an answer that counts; there is one at most for each page. ``answers`` are then by the key
    of the question, and ``chances`` the model's probability of every possible answer, where they were scored.
    """

    class Problem(models.TextChoices):
        EMPTY = "empty", "Nothing"
        PROSE = "prose", "Words without JSON"
        BROKEN = "broken", "JSON that ends too early or cannot be read"
        MISSING = "missing", "A question without an answer"
        OFF = "off", "An answer that the question does not allow"
        CUT = "cut", "Cut off at the limit of tokens"
        TOO_LONG = "too_long", "Page longer than the model's context"
        DECLINED = "declined", "Refused by the model or its server"

    place = models.ForeignKey(JudgePlace, on_delete=models.PROTECT, db_index=False, related_name="answers")
    page = models.PositiveSmallIntegerField(help_text="From 0.")
    attempt = models.PositiveSmallIntegerField(help_text="From 1.")
    prompt_hash = models.CharField(max_length=64, help_text="SHA-256 of everything that the model read.")
    raw = models.TextField(help_text="As the model wrote it; scored answers as JSON.")
    problem = models.CharField(max_length=10, choices=Problem, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    answers = models.JSONField(default=dict)
    chances = models.JSONField(default=dict)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0.0)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["place", "page", "attempt"], name="judgeanswer_attempt_once"),
            models.UniqueConstraint(fields=["place", "page"], condition=Q(problem=""), name="judgeanswer_valid_once"),
        ]

    def __str__(self) -> str:
        return f"page {self.page} of place {self.place_id}, attempt {self.attempt}"


class JudgeRating(models.Model):
    """One answer of a judge to one question about one target, as `Rating` is of a worker. Written once.

    ``side`` and ``part_position``: how the page showed the part, as in the export ``long``. ``chance``: the model's
    probability of this answer, if all were scored; ``chances``: of every value.
    """

    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    place = models.ForeignKey(JudgePlace, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judge_ratings")
    question = models.CharField(max_length=60)
    target = models.CharField(max_length=200, blank=True)
    scale = models.CharField(max_length=60)
    value = models.FloatField(null=True)
    text = models.TextField(blank=True)
    side = models.CharField(max_length=10, blank=True)
    part_position = models.PositiveIntegerField(null=True)
    chance = models.FloatField(null=True)
    chances = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["place", "question", "target"], name="judgerating_once"),
        ]
        indexes = [models.Index(fields=["judge", "id"], name="judgerating_export")]

    def __str__(self) -> str:
        return f"{self.question} by judge {self.judge_id}"
