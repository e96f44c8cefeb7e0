"""Append-only records: flags, people's reviews, payments, and who did what. The database refuses UPDATE and DELETE."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.leaving import PartPayment
from annotation.models.study import Item, Study
from annotation.models.work import Submission
from common.words import money


class Flag(models.Model):
    """A reason to look at a submission. A rule raises it; only a person decides (``Review``).

    ``value`` is what was measured and ``threshold`` the limit that it crossed. ``other`` is another submission that the
    reason is about, such as an earlier one with the same text. A rule flags each ``place`` of a submission only once,
    even if the submission is checked again; ``place`` is NULL in flags from before places were recorded.
    """

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="flags")
    reason = models.CharField(max_length=40)
    detail = models.CharField(max_length=500, blank=True)
    place = models.CharField(max_length=100, null=True, help_text="What it is about: the whole, a question, a scale.")
    value = models.FloatField(null=True)
    threshold = models.FloatField(null=True)
    other = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "reason", "place"], condition=Q(place__isnull=False), name="flag_once_per_place"
            )
        ]

    def __str__(self) -> str:
        return self.reason


class QualityCheck(models.Model):
    """One check of all submissions of a study: how many there were, and how many new flags each rule gave."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="quality_checks")
    submissions = models.PositiveIntegerField()
    flags = models.JSONField(default=dict)
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"check of {self.submissions} submissions of {self.study_id}"


class Review(models.Model):
    """A person's decision on a submission. The newest counts; earlier ones stay."""

    class Decision(models.TextChoices):
        INCLUDE = "include", "Use in the analysis"
        EXCLUDE = "exclude", "Leave out of the analysis"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="reviews")
    decision = models.CharField(max_length=10, choices=Decision.choices)
    note = models.CharField(max_length=500, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="reviews")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.decision


class PayDecision(models.Model):
    """Whether work that no platform pays for should be paid. The newest decision counts; earlier ones stay.

    For work on a platform, the platform stores the decision: see ``OutsideAssignment``.
    """

    class Decision(models.TextChoices):
        APPROVE = "approve", "To be paid"
        REJECT = "reject", "Not to be paid"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="pay_decisions")
    decision = models.CharField(max_length=10, choices=Decision.choices)
    feedback = models.CharField(max_length=1024, blank=True)
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.decision


class Payment(models.Model):
    """Money that a worker got for a study. Written once: the database refuses UPDATE and DELETE.

    A reward is paid once per submission, and once per assignment of a platform (``platform_id``). ``key`` identifies a
    bonus, a compensation or part pay; the database refuses the same key twice. ``submission`` is empty if the worker
    sent nothing to this server; ``worker_id`` is then their id on the platform.
    """

    class Kind(models.TextChoices):
        REWARD = "reward", "Reward"
        BONUS = "bonus", "Bonus"
        COMPENSATION = "compensation", "Compensation"
        PARTIAL = "partial", "Part pay"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.REWARD)
    submission = models.ForeignKey(Submission, null=True, on_delete=models.PROTECT, related_name="payments")
    amount = models.DecimalField(max_digits=8, decimal_places=3, help_text="USD.")
    part = models.ForeignKey(PartPayment, null=True, blank=True, on_delete=models.PROTECT, related_name="payments")
    platform = models.CharField(max_length=20)
    platform_id = models.CharField(max_length=200, blank=True)
    worker_id = models.CharField(max_length=200, blank=True)
    key = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=1024, blank=True)
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=0), name="payment_not_negative"),
            models.CheckConstraint(
                condition=Q(kind__in=["reward", "bonus", "compensation", "partial"]), name="payment_kind_known"
            ),
            models.UniqueConstraint(fields=["submission"], condition=Q(kind="reward"), name="payment_reward_once"),
            models.UniqueConstraint(
                fields=["platform", "platform_id"],
                condition=~Q(platform_id="") & Q(kind="reward"),
                name="payment_platform_id_once",
            ),
            models.UniqueConstraint(fields=["part"], condition=Q(part__isnull=False), name="payment_part_once"),
            models.CheckConstraint(
                condition=Q(kind="partial", part__isnull=False) | (~Q(kind="partial") & Q(part__isnull=True)),
                name="payment_part_is_partial",
            ),
            models.UniqueConstraint(fields=["key"], condition=~Q(key=""), name="payment_key_once"),
            models.CheckConstraint(condition=Q(kind="reward") | ~Q(key=""), name="payment_extra_has_a_key"),
        ]
        indexes = [
            models.Index(
                fields=["study", "platform", "worker_id"],
                condition=Q(submission__isnull=True, part__isnull=True),
                name="payment_apart",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {money(self.amount)} in study {self.study_id}"


class Adjudication(models.Model):
    """The final answer to a question with several choices about an item, where people gave different answers.

    ``question`` is its topic and ``chosen`` has the chosen options. The newest counts; earlier ones stay.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="adjudications")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="adjudications")
    question = models.CharField(max_length=60)
    chosen = models.JSONField()
    note = models.CharField(max_length=500, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["study", "item", "-id"], name="adjudication_latest")]

    def __str__(self) -> str:
        return f"{self.question} of item {self.item_id}: {', '.join(self.chosen)}"


class BulkAction(models.Model):
    """One action on many submissions: first shown to a person, then confirmed, then done row by row.

    ``rows`` lists what to do with which submission, fixed when the preview was made. Doing a row twice does no harm, so
    an action that was interrupted starts again at ``position``. Recording payments (`annotation.review.paying`) is one,
    too; each of its rows is a batch.
    """

    #: Keys of entries of ``refused`` that are no text: the trouble at which the action stopped, and, of a recording of
    #: payments, the hits and USD that had been paid before.
    STOPPED = "stopped"
    PAID_BEFORE = "paid_before"

    class State(models.TextChoices):
        SHOWN = "shown", "Not confirmed"
        RUNNING = "running", "In progress"
        DONE = "done", "Done"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="bulk_actions")
    action = models.CharField(max_length=20)
    note = models.CharField(max_length=1024, blank=True)
    amount = models.DecimalField(max_digits=8, decimal_places=2, null=True, help_text="USD, for a bonus.")
    release = models.BooleanField(default=False, help_text="Give the places of excluded submissions out again.")
    exclude = models.BooleanField(
        default=False, db_default=False, help_text="Leave what is rejected out of the analysis, too."
    )
    rows = models.JSONField()
    position = models.PositiveIntegerField(default=0)
    refused = models.JSONField(default=list, help_text="What could not be done, in words.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.SHOWN)
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["study", "-id"], name="bulkaction_latest")]

    def __str__(self) -> str:
        return f"{self.action} on {len(self.rows)} ({self.state})"

    @property
    def refusals(self) -> list[str]:
        """Why rows were not done."""
        return [entry for entry in self.refused if isinstance(entry, str)]

    @property
    def stopped(self) -> str:
        """The trouble at which it stopped; empty if it did not, or has continued since."""
        stops = [entry[self.STOPPED] for entry in self.refused if not isinstance(entry, str) and self.STOPPED in entry]
        return stops[-1] if stops else ""

    @property
    def paid_before(self) -> dict[str, Any]:
        """Of a recording of payments: the ``hits`` that had been paid before, and their ``usd``."""
        sums = [entry for entry in self.refused if isinstance(entry, dict) and self.PAID_BEFORE in entry]
        return dict(sums[-1][self.PAID_BEFORE]) if sums else {"hits": 0, "usd": "0"}


class AuditEntry(models.Model):
    """Who did what to a study, and when. The entries of a deleted draft stay, so the study may no longer exist."""

    study = models.ForeignKey(Study, on_delete=models.DO_NOTHING, db_constraint=False, related_name="audit")
    actor = models.CharField(max_length=150, help_text="A user's name, or the command that acted.")
    action = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.actor}: {self.action}"
