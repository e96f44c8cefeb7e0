"""What a researcher sets up: a study, its items, and the hits that bundle them.

A foreign key has ``db_index=False`` where a unique constraint or an index begins with it.
"""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from accounts.models import MemberRole, Team, slug_validator
from annotation.languages import CHOICES, Voice, voice

SLUG = slug_validator("story-diversity-1")


class Study(models.Model):
    """One instrument with one set of items.

    Once ``status`` is no longer draft, nothing may change that affects what workers see or how answers become ratings
    (``studies.storing`` refuses it). All results of a study come from one instrument.
    """

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        LIVE = "live", "Live"
        PAUSED = "paused", "Paused"
        CLOSED = "closed", "Closed"

    class Access(models.TextChoices):
        OPEN = "open", "Anyone with the study link"
        INVITED = "invited", "Only holders of a personal link"

    class Identity(models.TextChoices):
        """How the server tells apart people who come by the open link."""

        NONE = "none", "No check: the same person can take part again"
        BROWSER = "browser", "One participation per browser"
        PARAMETER = "parameter", "One participation per id that a panel adds to the link"

    class PartPay(models.TextChoices):
        """What a worker gets who stops in the middle of a hit, after at least one step."""

        NONE = "none", "Nothing: they can only give the hit back"
        STEPS = "steps", "The share of the reward for the steps they have done, rounded up to cents"
        FIXED = "fixed", "A fixed amount"

    slug = models.CharField(max_length=60, unique=True, validators=[SLUG])
    title = models.CharField(max_length=200)
    task_type = models.CharField(max_length=40)
    config = models.JSONField(default=dict, help_text="Validated by the task type.")
    texts = models.JSONField(default=dict, help_text="Texts of the task type that this study words itself.")
    consent = models.TextField(blank=True, help_text="Shown before anything else; left out when empty.")
    language = models.CharField(
        max_length=10,
        default="en",
        choices=CHOICES,
        help_text="Of the interface that workers see.",
    )
    item_language = models.CharField(
        max_length=35, blank=True, help_text="Of the texts that workers judge, if it is not that of the interface."
    )
    interface = models.JSONField(default=dict, help_text="Own wordings of the interface, by the English text.")
    contact = models.CharField(max_length=200, blank=True, help_text="Whom workers write to.")
    feedback_box = models.BooleanField(default=True)
    ratings_per_item = models.PositiveSmallIntegerField(default=10, validators=[MinValueValidator(1)])
    items_per_hit = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    hits_per_worker = models.PositiveIntegerField(
        null=True, blank=True, default=1, validators=[MinValueValidator(1)], help_text="Empty: no limit."
    )
    reward = models.DecimalField(max_digits=8, decimal_places=3, default=Decimal("0"), help_text="USD per hit.")
    estimated_minutes = models.DecimalField(
        max_digits=6,
        decimal_places=1,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.1"))],
        help_text="How long a hit takes, as the researcher expects. Empty: not known.",
    )
    pay_note = models.TextField(
        blank=True,
        max_length=1000,
        help_text="How and when workers are paid, or what they get instead. Empty: the platform's words.",
    )
    time_limit_minutes = models.PositiveIntegerField(default=30, validators=[MinValueValidator(1)])
    access = models.CharField(max_length=10, choices=Access.choices, default=Access.OPEN)
    identity = models.CharField(max_length=10, choices=Identity.choices, default=Identity.NONE)
    identity_parameter = models.CharField(
        max_length=40, blank=True, help_text="Name of the address parameter with a panel's id, such as PROLIFIC_PID."
    )
    panel = models.CharField(
        max_length=40, blank=True, help_text="Whose ids these are: the same id of one panel is the same person."
    )
    exclude_studies = models.ManyToManyField(
        "self",
        symmetrical=False,
        blank=True,
        related_name="excluded_by",
        help_text="Whoever took part there is barred.",
    )
    platforms = models.JSONField(
        default=dict, blank=True, help_text="Settings for each platform, by its name. Validated by the platform's form."
    )
    exam_study = models.CharField(
        max_length=60, blank=True, help_text="The study whose exam people must have passed. Empty: none."
    )
    exam_percent = models.PositiveSmallIntegerField(
        default=80,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="The result that this study asks for, as a percentage of right answers.",
    )
    keep_ratings = models.BooleanField(
        default=False, help_text="Whether ratings stay when a worker's data are deleted. Workers are told."
    )
    part_pay = models.CharField(max_length=10, choices=PartPay, default=PartPay.NONE)
    part_pay_amount = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
        help_text="USD for a hit that a worker stops, with a fixed amount.",
    )
    quality_control = models.JSONField(
        default=dict, help_text="Thresholds of the rules that find careless work. Empty: the defaults."
    )
    exclusion = models.JSONField(default=dict, help_text="Rules that exclude submissions from the analysis.")
    factors = models.JSONField(default=dict, help_text="What findings compare: settings by factor. Empty: suggestions.")
    stopping = models.JSONField(
        default=dict, help_text="The rule by which the study stops before all ratings are in. Empty: none."
    )
    questionnaires = models.JSONField(
        default=dict, help_text="What participants are asked before and after, and whom the answers turn away."
    )
    items_read_with = models.JSONField(default=dict, help_text="The settings that decided how the items were read.")
    has_authors = models.BooleanField(default=False, help_text="Some items were written by workers.")
    seed = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.DRAFT)
    created_at = models.DateTimeField(auto_now_add=True)
    live_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    complete_at = models.DateTimeField(
        null=True, editable=False, help_text="When all ratings were in for the first time, and the owners got mail."
    )
    duplicated_from = models.ForeignKey(
        "self", null=True, editable=False, on_delete=models.SET_NULL, related_name="duplicates"
    )
    imported = models.JSONField(
        null=True,
        editable=False,
        help_text="From which tool and file its ratings come. Empty: they were collected here.",
    )
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="studies")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="studies",
        help_text="Its members have at least their role in the team here. Empty: no team.",
    )

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
                condition=Q(estimated_minutes__isnull=True) | Q(estimated_minutes__gt=0), name="study_estimate_positive"
            ),
            models.CheckConstraint(
                condition=Q(status__in=["draft", "live", "paused", "closed"]), name="study_status_known"
            ),
            models.CheckConstraint(
                condition=Q(part_pay__in=["none", "steps"], part_pay_amount__isnull=True)
                | Q(part_pay="fixed", part_pay_amount__gt=0),
                name="study_part_pay_whole",
            ),
        ]

    def voice(self) -> Voice:
        """How its workers' pages speak."""
        return voice(self.language, self.interface, self.item_language)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """The role of one user in one study. Members of the study's team need none; the higher role counts."""

    Role = MemberRole

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.study}"


class Arm(models.Model):
    """A between-subjects condition. A live study without arms has one arm with an empty name.

    ``config`` and ``texts`` contain only what differs from the study. ``factors`` are its levels by factor, which arms
    of a factorial design share. ``shown_config`` and ``shown_texts`` contain everything that workers see, fixed when
    the study goes live. ``n_enrolled`` counts participants, without those whose answers turned
    them away. It changes in the transaction that enrols or turns away one, under this row's lock. ``shares_items``:
    some main item lies in several of its hits, so which hits a worker may still get depends on the hits that they have
    had.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="arms")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=40, blank=True)
    config = models.JSONField(default=dict)
    texts = models.JSONField(default=dict)
    factors = models.JSONField(default=dict)
    reward = models.DecimalField(max_digits=8, decimal_places=3, null=True, blank=True, help_text="Empty: the study's.")
    wanted = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Participants. Empty: no number."
    )
    shown_config = models.JSONField(default=dict)
    shown_texts = models.JSONField(default=dict)
    n_enrolled = models.PositiveIntegerField(default=0)
    shares_items = models.BooleanField(default=False, db_default=False)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "position"], name="arm_position_once"),
            models.UniqueConstraint(fields=["study", "name"], name="arm_name_once"),
            models.CheckConstraint(condition=Q(reward__isnull=True) | Q(reward__gte=0), name="arm_reward_not_negative"),
            models.CheckConstraint(condition=Q(wanted__isnull=True) | Q(wanted__gte=1), name="arm_wanted_positive"),
        ]

    def __str__(self) -> str:
        return self.name or "the only arm"


class Item(models.Model):
    """What is judged. The task type's import wrote ``payload``; ``external_id`` is the researcher's id.

    ``source`` is where it came from: ``{"file": name, "rows": [1, 2]}``, ``{"run": name, "samples": [ids]}`` or
    ``{"study": slug, "outputs": [ids]}``.
    """

    class Role(models.TextChoices):
        MAIN = "main"
        PRACTICE = "practice"
        EXAM = "exam"
        GOLD = "gold"
        ATTENTION = "attention"
        TRAINING = "training"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="items")
    external_id = models.CharField(max_length=200)
    payload = models.JSONField()
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MAIN)
    source = models.JSONField(default=dict)
    position = models.PositiveIntegerField(help_text="Place in the imported file, from 0.")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="item_external_id_once"),
            models.UniqueConstraint(fields=["study", "position"], name="item_position_once"),
        ]

    def __str__(self) -> str:
        return self.external_id


class ItemFeed(models.Model):
    """Where a study's items come from if they are outputs of another study: of ``arms`` there (empty: all).

    ``kind``: the kind of outputs. Empty: the first kind that this study's type judges and the other study makes. With
    ``follow``, outputs that arrive after this study went live become items too.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="item_feed")
    source = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="feeds")
    arms = models.JSONField(default=list)
    kind = models.CharField(max_length=20, blank=True)
    follow = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.study} from {self.source}"


class Hit(models.Model):
    """An ordered bundle of items that one worker does in one session, in one arm.

    ``n_live`` counts assignments in progress or submitted; ``n_submitted`` counts only the submitted ones. Both change
    in the transaction that changes the assignment. A constraint keeps ``n_live`` from exceeding ``wanted``. Hits of one
    arm and ``layer`` share no main item, so one worker can do all of them. ``held``: the rule for stopping early needs
    no more of it, so it is given out to nobody new.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, db_index=False, related_name="hits")
    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, db_index=False, related_name="hits")
    position = models.PositiveIntegerField(help_text="Place in the seeded random order in which hits are given out.")
    reward = models.DecimalField(max_digits=8, decimal_places=3, default=Decimal("0"), help_text="USD.")
    wanted = models.PositiveSmallIntegerField()
    n_live = models.PositiveSmallIntegerField(default=0)
    n_submitted = models.PositiveSmallIntegerField(default=0)
    layer = models.PositiveIntegerField(default=0, db_default=0)
    held = models.BooleanField(default=False, db_default=False)
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
                fields=["arm", "n_live", "position"],
                condition=Q(n_live__lt=F("wanted")),
                name="hit_next_to_give_out",
            )
        ]

    def __str__(self) -> str:
        return f"hit {self.position} of {self.study_id}"


class HitItem(models.Model):
    """The position of an item in a hit."""

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
