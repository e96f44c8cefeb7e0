"""What a researcher sets up: a study, its items, and the hits that bundle them.

A foreign key has ``db_index=False`` where a unique constraint or an index begins with it.
"""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

SLUG = RegexValidator(
    r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$",
    "Use lower-case letters, digits and single hyphens inside, such as story-diversity-1.",
)


class Study(models.Model):
    """One instrument, put to one set of items.

    Once ``status`` has left draft, nothing that changes what workers see or how answers become ratings may
    change (``services.studies`` refuses it): results of one study come from one instrument.
    """

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        LIVE = "live", "Live"
        PAUSED = "paused", "Paused"
        CLOSED = "closed", "Closed"

    class Access(models.TextChoices):
        OPEN = "open", "Anyone with the study link"
        INVITED = "invited", "Only holders of a personal link"

    slug = models.CharField(max_length=60, unique=True, validators=[SLUG])
    title = models.CharField(max_length=200)
    task_type = models.CharField(max_length=40)
    config = models.JSONField(default=dict, help_text="Validated by the task type.")
    texts = models.JSONField(default=dict, help_text="Texts of the task type that this study words itself.")
    consent = models.TextField(blank=True, help_text="Shown before anything else; left out when empty.")
    contact = models.CharField(max_length=200, blank=True, help_text="Whom workers write to.")
    feedback_box = models.BooleanField(default=True)
    ratings_per_item = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1)])
    items_per_hit = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    hits_per_worker = models.PositiveIntegerField(
        null=True, blank=True, default=1, validators=[MinValueValidator(1)], help_text="Empty: no limit."
    )
    reward = models.DecimalField(max_digits=8, decimal_places=3, default=Decimal("0"), help_text="USD per hit.")
    time_limit_minutes = models.PositiveIntegerField(default=30, validators=[MinValueValidator(1)])
    access = models.CharField(max_length=10, choices=Access.choices, default=Access.OPEN)
    seed = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.DRAFT)
    created_at = models.DateTimeField(auto_now_add=True)
    live_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="studies")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ratings_per_item__gte=1) & Q(items_per_hit__gte=1) & Q(time_limit_minutes__gte=1),
                name="study_counts_positive",
            ),
            models.CheckConstraint(
                condition=Q(hits_per_worker__isnull=True) | Q(hits_per_worker__gte=1),
                name="study_hits_per_worker_positive",
            ),
            models.CheckConstraint(condition=Q(reward__gte=0), name="study_reward_not_negative"),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "live", "paused", "closed"]), name="study_status_known"
            ),
        ]

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """What one user may do in one study: owners manage members, editors change it, viewers look."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        EDITOR = "editor", "Editor"
        VIEWER = "viewer", "Viewer"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.study}"


class Item(models.Model):
    """What is judged. ``payload`` is as the task type's import wrote it; ``external_id`` is the researcher's."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="items")
    external_id = models.CharField(max_length=200)
    payload = models.JSONField()
    position = models.PositiveIntegerField(help_text="Place in the imported file, from 0.")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="item_external_id_once"),
            models.UniqueConstraint(fields=["study", "position"], name="item_position_once"),
        ]

    def __str__(self) -> str:
        return self.external_id


class Hit(models.Model):
    """An ordered bundle of items that one worker does at one go.

    ``n_live`` counts assignments that are being worked on or submitted, ``n_submitted`` the latter. They move in
    the transaction that moves the assignment, and the check below is what makes over-allocation impossible.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="hits")
    position = models.PositiveIntegerField(help_text="Place in the seeded random order in which hits are given out.")
    wanted = models.PositiveSmallIntegerField()
    n_live = models.PositiveSmallIntegerField(default=0)
    n_submitted = models.PositiveSmallIntegerField(default=0)
    items = models.ManyToManyField(Item, through="HitItem", related_name="hits")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "position"], name="hit_position_once"),
            models.CheckConstraint(condition=Q(n_live__lte=F("wanted")), name="hit_never_more_than_wanted"),
            models.CheckConstraint(condition=Q(n_submitted__lte=F("n_live")), name="hit_submitted_is_live"),
        ]
        indexes = [
            models.Index(
                fields=["study", "n_live", "position"],
                condition=Q(n_live__lt=F("wanted")),
                name="hit_next_to_give_out",
            )
        ]

    def __str__(self) -> str:
        return f"hit {self.position} of {self.study_id}"


class HitItem(models.Model):
    """The place of an item in a hit."""

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, db_index=False, related_name="places")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="places")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="hititem_position_once"),
            models.UniqueConstraint(fields=["hit", "item"], name="hititem_item_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.item_id} at {self.position} of hit {self.hit_id}"


class Posting(models.Model):
    """Work as offered on a platform: the whole study (plain link, ``hit`` empty) or one hit of it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="postings")
    hit = models.ForeignKey(Hit, null=True, blank=True, on_delete=models.CASCADE, related_name="postings")
    platform = models.CharField(max_length=20)
    external_id = models.CharField(max_length=200)
    url = models.URLField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["platform", "external_id"], name="posting_once")]

    def __str__(self) -> str:
        return f"{self.platform} {self.external_id}"
