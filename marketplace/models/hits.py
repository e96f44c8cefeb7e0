"""HITs: what they ask (types, questions), who works on them (assignments), and the requests already carried out."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from marketplace.models.accounts import Requester, Worker
from marketplace.models.layouts import HITLayout

LIVE_STATES = ("Accepted", "Submitted", "Approved", "Rejected")


class HITType(models.Model):
    """Properties that HITs share. A requester has one type for each set of properties. It is also the HIT group."""

    type_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="hit_types")
    digest = models.CharField(max_length=64)
    title = models.CharField(max_length=128)
    description = models.TextField()
    keywords = models.TextField(blank=True)
    reward = models.DecimalField(max_digits=12, decimal_places=2)
    assignment_duration = models.PositiveIntegerField(help_text="Seconds.")
    auto_approval_delay = models.PositiveIntegerField(help_text="Seconds.")
    requirements = models.JSONField(default=list, help_text="QualificationRequirements as they were sent.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["requester", "digest"], name="hit_type_once")]

    def __str__(self) -> str:
        return self.type_id


class Hit(models.Model):
    """One question for ``max_assignments`` workers to answer.

    Assignable ⇄ Unassignable → Reviewable ⇄ Reviewing → Disposed; an extension makes it Assignable again.
    Every place is available, pending (accepted), submitted, or completed (approved or rejected). ``held_open`` is the
    money held for the available places while workers can accept the HIT. An assignment in progress or submitted holds
    its own reward and fee.
    """

    class State(models.TextChoices):
        ASSIGNABLE = "Assignable"
        UNASSIGNABLE = "Unassignable"
        REVIEWABLE = "Reviewable"
        REVIEWING = "Reviewing"
        DISPOSED = "Disposed"

    hit_id = models.CharField(max_length=64, unique=True)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, db_index=False, related_name="hits")
    hit_type = models.ForeignKey(HITType, on_delete=models.PROTECT, related_name="hits")
    layout = models.ForeignKey(HITLayout, on_delete=models.PROTECT, null=True, blank=True, related_name="hits")
    question = models.TextField()
    question_kind = models.CharField(max_length=20, help_text="ExternalQuestion, HTMLQuestion or QuestionForm.")
    annotation = models.CharField(max_length=255, blank=True)
    max_assignments = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    expired = models.BooleanField(default=False, help_text="Its expiry has been dealt with.")
    lifetime = models.PositiveIntegerField(help_text="Seconds, as asked for.")
    state = models.CharField(max_length=12, choices=State.choices, default=State.ASSIGNABLE)
    n_pending = models.PositiveIntegerField(default=0)
    n_available = models.PositiveIntegerField()
    n_submitted = models.PositiveIntegerField(default=0)
    n_completed = models.PositiveIntegerField(default=0)
    held_open = models.DecimalField(max_digits=12, decimal_places=2, default=0)
    due_at = models.DateTimeField(null=True, blank=True, help_text="When something changes by itself next.")
    assignment_review_policy = models.JSONField(null=True, blank=True)
    hit_review_policy = models.JSONField(null=True, blank=True)
    review_due_at = models.DateTimeField(null=True, blank=True, help_text="Since when its HIT-level policy has to run.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["Assignable", "Unassignable", "Reviewable", "Reviewing", "Disposed"]),
                name="hit_state_known",
            ),
            models.CheckConstraint(
                condition=Q(max_assignments=F("n_pending") + F("n_available") + F("n_submitted") + F("n_completed")),
                name="hit_counters_add_up",
            ),
            models.CheckConstraint(condition=Q(held_open__gte=0), name="hit_held_not_negative"),
        ]
        indexes = [
            models.Index(fields=["requester", "created_at", "id"], name="market_hit_listed"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="market_hit_due"),
            models.Index(fields=["hit_type"], condition=Q(state="Assignable"), name="market_hit_on_offer"),
        ]

    def __str__(self) -> str:
        return self.hit_id


class Assignment(models.Model):
    """One worker on one HIT: Accepted → Submitted → Approved | Rejected (→ Approved), or → Returned | Abandoned."""

    class State(models.TextChoices):
        ACCEPTED = "Accepted"
        SUBMITTED = "Submitted"
        APPROVED = "Approved"
        REJECTED = "Rejected"
        RETURNED = "Returned"
        ABANDONED = "Abandoned"

    assignment_id = models.CharField(max_length=64, unique=True)
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACCEPTED)
    reward = models.DecimalField(max_digits=12, decimal_places=2, help_text="As it was when the worker accepted.")
    fee = models.DecimalField(max_digits=12, decimal_places=2)
    accepted_at = models.DateTimeField()
    deadline = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)
    auto_approve_at = models.DateTimeField(null=True, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    rejected_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was returned or abandoned.")
    answer = models.TextField(blank=True, help_text="QuestionFormAnswers.")
    requester_feedback = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["Accepted", "Submitted", "Approved", "Rejected", "Returned", "Abandoned"]),
                name="market_assignment_state_known",
            ),
            models.UniqueConstraint(
                fields=["hit", "worker"], condition=Q(state__in=LIVE_STATES), name="market_assignment_live_once"
            ),
        ]
        indexes = [
            models.Index(fields=["hit", "submitted_at", "id"], name="market_assignment_listed"),
            models.Index(fields=["hit", "deadline"], condition=Q(state="Accepted"), name="market_assignment_running"),
            models.Index(
                fields=["hit", "auto_approve_at"], condition=Q(state="Submitted"), name="market_assignment_undecided"
            ),
            models.Index(fields=["worker", "state"], name="market_assignment_record"),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id} ({self.state})"


class RequestToken(models.Model):
    """A UniqueRequestToken that was used, and the result of its request."""

    requester = models.ForeignKey(Requester, on_delete=models.CASCADE, db_index=False, related_name="+")
    operation = models.CharField(max_length=60)
    token = models.CharField(max_length=64)
    target_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["requester", "operation", "token"], name="request_token_once"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.token}"
