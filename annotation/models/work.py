"""What workers do: assignments, the steps they send, the submission, and the ratings derived from it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Hit, Item, Study

LIVE_STATES = ("accepted", "submitted")


class Worker(models.Model):
    """A person, or a bot, as one platform knows them. Never shown or exported: see ``Participant.pseudonym``."""

    platform = models.CharField(max_length=20)
    platform_id = models.CharField(max_length=200)
    synthetic = models.BooleanField(default=False, help_text="A simulated worker.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["platform", "platform_id"], name="worker_once")]

    def __str__(self) -> str:
        return f"worker {self.pk} of {self.platform}"


class Participant(models.Model):
    """A worker in one study, under a pseudonym that is stable within the study and unlinkable across studies."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="participants")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    pseudonym = models.CharField(max_length=20)
    synthetic = models.BooleanField(default=False)
    profile = models.CharField(max_length=20, blank=True, help_text="How a simulated worker answers.")
    consented_at = models.DateTimeField(null=True, blank=True)
    arm = models.CharField(max_length=40, blank=True)
    completion_code = models.CharField(max_length=20)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="participant_once"),
            models.UniqueConstraint(fields=["study", "pseudonym"], name="participant_pseudonym_once"),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class Assignment(models.Model):
    """One worker on one hit.

    State machine: accepted → submitted | returned | abandoned; abandoned → submitted when the worker sends the
    last step late and the place is still free. ``slot`` is the place taken among the hit's wanted ones (sides are
    balanced over it), ``ordinal`` the worker's how-manieth hit of the study.
    """

    class State(models.TextChoices):
        ACCEPTED = "accepted", "In progress"
        SUBMITTED = "submitted", "Submitted"
        RETURNED = "returned", "Returned"
        ABANDONED = "abandoned", "Timed out"

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, db_index=False, related_name="assignments")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="assignments")
    platform_assignment_id = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACCEPTED)
    slot = models.PositiveSmallIntegerField()
    ordinal = models.PositiveIntegerField()
    attempt = models.PositiveSmallIntegerField(default=1, help_text="The worker's how-manieth try at this hit.")
    seed = models.BigIntegerField()
    order = models.JSONField(help_text="What was shown in which order and on which side.")
    accepted_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["accepted", "submitted", "returned", "abandoned"]),
                name="assignment_state_known",
            ),
            models.CheckConstraint(condition=Q(ordinal__gte=1), name="assignment_ordinal_from_one"),
            models.UniqueConstraint(
                fields=["hit", "participant"],
                condition=Q(state__in=LIVE_STATES),
                name="assignment_never_two_of_a_hit",
            ),
            models.UniqueConstraint(
                fields=["hit", "slot"], condition=Q(state__in=LIVE_STATES), name="assignment_slot_once"
            ),
            models.UniqueConstraint(
                fields=["participant", "ordinal"],
                condition=Q(state__in=LIVE_STATES),
                name="assignment_ordinal_once",
            ),
            models.UniqueConstraint(
                fields=["participant"], condition=Q(state="accepted"), name="assignment_one_at_a_time"
            ),
            models.UniqueConstraint(fields=["hit", "participant", "attempt"], name="assignment_attempt_once"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="accepted"), name="assignment_to_reclaim"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk} ({self.state})"


class Step(models.Model):
    """One page as the worker sent it. Written once; an UPDATE is refused by a trigger."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, db_index=False, related_name="steps")
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=60)
    answers = models.JSONField()
    timing = models.JSONField(default=dict, help_text="Per question: when answered, how long, paste events.")
    received_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["assignment", "number"], name="step_once")]

    def __str__(self) -> str:
        return f"step {self.number} of assignment {self.assignment_id}"


class Draft(models.Model):
    """What is typed but not sent, and what came too late to count: kept so that nothing is lost."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, db_index=False, related_name="drafts")
    number = models.PositiveSmallIntegerField()
    answers = models.JSONField()
    late = models.BooleanField(default=False)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "number"], name="draft_once")]

    def __str__(self) -> str:
        return f"draft of step {self.number} of assignment {self.assignment_id}"


class Submission(models.Model):
    """The whole of one assignment's answers. Written once; an UPDATE is refused by a trigger."""

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="submission")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="submissions")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="submissions")
    answers = models.JSONField(help_text="The steps' answers, in order.")
    feedback = models.TextField(blank=True)
    seconds = models.FloatField(help_text="From acceptance to the last step.")
    received_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["study", "received_at"], name="submission_latest")]

    def __str__(self) -> str:
        return f"submission {self.pk}"


class Rating(models.Model):
    """One answer to one question about one target. Derived from a submission in its transaction."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="ratings")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="ratings")
    question = models.CharField(max_length=60)
    target = models.CharField(max_length=60, blank=True, help_text="Part of the item, such as 0-3 for a pair.")
    scale = models.CharField(max_length=20)
    value = models.FloatField(null=True, blank=True)
    text = models.TextField(blank=True)
    seconds = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["submission", "item", "question", "target"], name="rating_once"),
            models.CheckConstraint(condition=Q(value__isnull=False) | ~Q(text=""), name="rating_not_empty"),
        ]
        indexes = [models.Index(fields=["study", "id"], name="rating_export")]

    def __str__(self) -> str:
        return f"{self.question}={self.value if self.value is not None else self.text[:20]}"
