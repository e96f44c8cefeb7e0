"""The work of workers: assignments, the steps they send, submissions, and the ratings derived from those."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.platforms import OutsideAssignment, Posting
from annotation.models.study import Arm, Hit, Item, Study

LIVE_STATES = ("accepted", "submitted")
#: In these states, an assignment's items are never given to its worker again.
TAKEN_STATES = ("accepted", "submitted", "released", "stopped")


class Worker(models.Model):
    """A person or a simulated worker on one platform.

    Exports contain ``platform_id`` only if an owner asks for it. Pages show ``Participant.pseudonym`` where they can.
    """

    platform = models.CharField(max_length=20)
    platform_id = models.CharField(max_length=200)
    synthetic = models.BooleanField(default=False, help_text="A simulated worker.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["platform", "platform_id"], name="worker_once")]

    def __str__(self) -> str:
        return f"worker {self.pk} of {self.platform}"


class ItemAuthor(models.Model):
    """A worker who wrote a text of an item. They never judge that item."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, db_index=False, related_name="authors")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="authored")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "worker"], name="itemauthor_once")]

    def __str__(self) -> str:
        return f"{self.worker} wrote part of item {self.item_id}"


class Invitation(models.Model):
    """A personal link to one study. The link contains ``key``, never the ``name`` that the researcher gave the person.

    Each study has its own ``worker`` for a name, so the same name in two studies means two people. Only a link made for
    a participant of another study uses that participant's worker.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="invitations")
    name = models.CharField(max_length=100)
    key = models.CharField(max_length=40, unique=True)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="invitations")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="invitation_name_once"),
            models.UniqueConstraint(fields=["study", "worker"], name="invitation_worker_once"),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} to {self.study_id}"


class Participant(models.Model):
    """A worker in one study. The pseudonym is stable within the study and cannot be linked across studies."""

    class TurnedAway(models.TextChoices):
        SCREENED_OUT = "screened_out", "Screened out"
        NOT_UNDERSTOOD = "not_understood", "Failed the comprehension check"
        NOT_TRAINED = "not_trained", "Failed the training"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="participants")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="participations")
    pseudonym = models.CharField(max_length=20)
    synthetic = models.BooleanField(default=False)
    profile = models.CharField(max_length=20, blank=True, help_text="How a simulated worker answers.")
    consented_at = models.DateTimeField(null=True, blank=True)
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="participants")
    completion_code = models.CharField(max_length=20)
    excluded_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when they get no more hits and what they send is left out."
    )
    redacted_at = models.DateTimeField(
        null=True, blank=True, help_text="When their data were deleted at their request. They get no more hits."
    )
    # Null, because SQLite can add such a column without copying the table.
    turned_away = models.CharField(
        max_length=20,
        null=True,
        choices=TurnedAway,
        help_text="Why their answers before the first task ended their participation. They get no hits.",
    )
    # Null for the same reason.
    returns_with = models.CharField(
        max_length=64, null=True, editable=False, help_text="Hash of what only the browser that started here can show."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "worker"], name="participant_once"),
            models.UniqueConstraint(fields=["study", "pseudonym"], name="participant_pseudonym_once"),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class Assignment(models.Model):
    """One worker's work on one hit.

    State machine: accepted → submitted | returned | abandoned | stopped; abandoned → accepted if the worker comes back
    or sends a step late, and a place is still free; submitted → released if the place should be filled again, because
    the submission was excluded or the platform does not count it; released → submitted if the submission is included
    again and a place is free. Stopped: the worker ended it for part of the reward (``PartPayment``), and its place is
    free. ``slot`` is the worker's place on the hit (sides are balanced over the places); ``ordinal`` counts the hits of
    the worker in the study. ``outside`` is set in one place: `annotation.recruiting.matching`. If a worker's assignment
    on the platform ended here and they came back, there are several rows for it, and each has the same ``outside``.
    """

    class State(models.TextChoices):
        ACCEPTED = "accepted", "In progress"
        SUBMITTED = "submitted", "Submitted"
        RETURNED = "returned", "Returned"
        ABANDONED = "abandoned", "Timed out"
        RELEASED = "released", "Excluded, place given out again"
        STOPPED = "stopped", "Stopped for part pay"

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, db_index=False, related_name="assignments")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, related_name="assignments")
    posting = models.ForeignKey(
        Posting, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="assignments"
    )
    platform_assignment_id = models.CharField(max_length=200, blank=True, help_text="As the worker's browser said.")
    # Null, because SQLite can add such a column without copying the table.
    outside = models.ForeignKey(
        OutsideAssignment,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        db_index=False,
        related_name="assignments",
        help_text="The same assignment as the platform reports it; empty: it does not, or reports another worker.",
    )
    submit_to = models.URLField(max_length=500, blank=True, help_text="Where the platform is told.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACCEPTED)
    slot = models.PositiveSmallIntegerField()
    ordinal = models.PositiveIntegerField()
    attempt = models.PositiveSmallIntegerField(default=1, help_text="Counts the worker's tries at this hit.")
    extra = models.BooleanField(
        default=False, db_default=False, help_text="Finished late, when somebody else had the place."
    )
    seed = models.BigIntegerField()
    order = models.JSONField(help_text="What was shown in which order and on which side.")
    accepted_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["accepted", "submitted", "returned", "abandoned", "released", "stopped"]),
                name="assignment_state_known",
            ),
            models.CheckConstraint(condition=Q(ordinal__gte=1), name="assignment_ordinal_from_one"),
            models.CheckConstraint(condition=~Q(extra=True, state="submitted"), name="assignment_extra_has_no_place"),
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
                fields=["participant"],
                condition=Q(state="accepted", platform_assignment_id=""),
                name="assignment_one_at_a_time",
            ),
            models.UniqueConstraint(fields=["hit", "participant", "attempt"], name="assignment_attempt_once"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="accepted"), name="assignment_to_reclaim"),
            models.Index(fields=["posting"], condition=Q(posting__isnull=False), name="assignment_of_posting"),
            models.Index(fields=["outside"], condition=Q(outside__isnull=False), name="assignment_of_outside"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk} ({self.state})"


class TakenItem(models.Model):
    """An item that a participant is working on or has answered, in whichever hit it lies.

    Triggers on `Assignment` write it, so that no code can forget to: a row appears when an assignment gets a state of
    TAKEN_STATES and disappears when it leaves them. The unique constraint is the rule that nobody judges the same main
    item twice in one study. Practice, exam, gold and attention items may come again: they have the row of the first
    assignment that showed them.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, db_index=False, related_name="taken_items")
    # The assignment has both already, so checking them again would only cost time when a hit is given out.
    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="taken_items"
    )
    item = models.ForeignKey(
        Item, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="taken_by"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "item"], name="takenitem_once")]

    def __str__(self) -> str:
        return f"item {self.item_id} of participant {self.participant_id}"


class Step(models.Model):
    """One page as the worker sent it. Written once: a trigger refuses UPDATE."""

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
    """Text that was typed but not sent, and answers that arrived too late to count. Saved so that nothing is lost."""

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
    """All answers of one assignment. Written once: a trigger refuses UPDATE."""

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
    """One answer to one question about one target. Derived from a submission in the same transaction."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    participant = models.ForeignKey(Participant, on_delete=models.PROTECT, db_index=False, related_name="ratings")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, null=True, related_name="ratings")
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
            models.UniqueConstraint(
                fields=["submission", "question", "target"],
                condition=Q(item__isnull=True),
                name="rating_about_no_item_once",
            ),
            models.CheckConstraint(condition=Q(value__isnull=False) | ~Q(text=""), name="rating_not_empty"),
        ]
        indexes = [models.Index(fields=["study", "id"], name="rating_export")]

    def __str__(self) -> str:
        return f"{self.question}={self.value if self.value is not None else self.text[:20]}"


class TextPrint(models.Model):
    """The fingerprint of a free text. It finds the same text if somebody sends it again."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="text_prints")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="text_prints")
    digest = models.CharField(max_length=32)

    class Meta:
        indexes = [models.Index(fields=["study", "digest"], name="textprint_same_text")]

    def __str__(self) -> str:
        return f"text {self.digest[:8]} of submission {self.submission_id}"


class Output(models.Model):
    """A text, or a set of texts, that a submission produced and another study can judge. Written once.

    Its author is the submission's worker, who never judges it. ``label_name`` and ``label_value`` become a parameter of
    the judged item.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="outputs")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, db_index=False, related_name="outputs")
    number = models.PositiveSmallIntegerField(help_text="Counts the submission's outputs from 0.")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, null=True, related_name="outputs")
    kind = models.CharField(max_length=20)
    context = models.TextField(blank=True)
    texts = models.JSONField()
    label_name = models.CharField(max_length=60, blank=True)
    label_value = models.FloatField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "number"], name="output_once")]
        indexes = [models.Index(fields=["study", "id"], name="output_export")]

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of submission {self.submission_id}"
