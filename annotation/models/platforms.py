"""Work offered on platforms: postings, the calls that create them, and what the platform reports about who did them."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import Q

from annotation.models.platform_accounts import PlatformAccount
from annotation.models.study import Hit, Study


class Posting(models.Model):
    """Work offered on a platform: one of the study's hits, or all of its hits that pay ``reward`` (``hit`` empty; for a
    plain link, all hits).

    A hit that needs many submissions may be offered in several parts, which cost less on MTurk; ``part`` counts them.
    ``external_id`` is the platform's name for the posting, empty until it has been posted.

    ``wanted`` is how many places it should have. The calls make the platform agree: ``asked`` is the total that one of
    them asks for, from before it is made until its result is stored, and ``offered`` is what the platform has.
    """

    class State(models.TextChoices):
        PLANNED = "planned", "To be posted"
        OPEN = "open", "Offered"
        PAUSED = "paused", "Paused"
        EXPIRED = "expired", "Ended"
        DELETED = "deleted", "Deleted on the platform"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="postings")
    hit = models.ForeignKey(Hit, null=True, blank=True, on_delete=models.CASCADE, related_name="postings")
    platform = models.CharField(max_length=20)
    account = models.ForeignKey(
        PlatformAccount,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="postings",
        help_text="Whose keys posted it; empty: the server's own.",
    )
    part = models.PositiveSmallIntegerField(default=0)
    wanted = models.PositiveIntegerField(null=True, blank=True, help_text="Submissions asked for; empty: no number.")
    offered = models.PositiveIntegerField(null=True, blank=True, help_text="Places there; empty: as many as wanted.")
    asked = models.PositiveIntegerField(null=True, blank=True, help_text="Places that a call asks for; empty: no call.")
    reward = models.DecimalField(
        max_digits=8, decimal_places=3, null=True, blank=True, help_text="USD per submission; empty: the hit's reward."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    external_id = models.CharField(max_length=200, blank=True)
    group_id = models.CharField(max_length=200, blank=True, help_text="MTurk: the HIT group, for links to workers.")
    url = models.URLField(max_length=500, blank=True)
    code = models.CharField(
        max_length=40,
        blank=True,
        help_text="The completion code that all its workers enter; empty: each has their own.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    posted_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "external_id"], condition=~Q(external_id="") & Q(account=None), name="posting_once"
            ),
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=~Q(external_id="") & Q(account__isnull=False),
                name="posting_once_per_account",
            ),
            models.UniqueConstraint(
                fields=["hit", "platform", "part"], condition=Q(hit__isnull=False), name="posting_part_once"
            ),
            models.CheckConstraint(
                condition=Q(state="planned") | ~Q(external_id=""), name="posting_has_a_name_once_posted"
            ),
        ]
        indexes = [models.Index(fields=["study", "state"], name="posting_of_study")]

    def __str__(self) -> str:
        return f"{self.platform} {self.external_id or 'not posted yet'}"

    @property
    def pays(self) -> Decimal:
        """USD for one submission."""
        if self.reward is not None:
            return self.reward
        return self.hit.reward if self.hit else Decimal(0)

    @property
    def one_listing(self) -> bool:
        """Whether it is part of one listing of all hits at the lowest reward: what a hit pays more is a bonus."""
        return bool(self.study.platforms.get(self.platform, {}).get("one_listing"))

    @property
    def gives_any_hit(self) -> bool:
        """Whether each of its workers gets the next free hit of their arm, and not the posting's own one.

        All postings of one listing look the same on the platform. So ``hit`` only says for which places they stand:
        together, they have as many as the study's hits want.
        """
        return self.hit_id is None or self.one_listing


class PlatformCall(models.Model):
    """One call to a platform that must take effect once. The row is committed before the call, and stays afterwards.

    ``key`` identifies what the call is for. ``token``, made from ``key``, keeps the platform from doing it twice.
    """

    class State(models.TextChoices):
        PENDING = "pending", "To be made"
        DONE = "done", "Done"
        REFUSED = "refused", "Refused"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="platform_calls")
    posting = models.ForeignKey(Posting, null=True, on_delete=models.CASCADE, related_name="calls")
    key = models.CharField(max_length=200, unique=True)
    operation = models.CharField(max_length=60)
    params = models.JSONField()
    token = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    tries = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    first_tried_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["study", "id"], condition=~Q(state="done"), name="platformcall_open")]

    def __str__(self) -> str:
        return f"{self.operation} for {self.key} ({self.state})"


class QualificationType(models.Model):
    """A qualification on a platform for something that workers did in ``study``. Its id there is stored once.

    ``hit``: for those who took a part of this hit. ``account``: who owns it there; each account has its own.
    """

    class Purpose(models.TextChoices):
        EXAM = "exam", "The result of the exam, as a percentage"
        TOOK_PART = "took_part", "Took part"
        LIMIT = "limit", "Did all that one worker can do"
        PART = "part", "Took a part of task"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="qualification_types")
    platform = models.CharField(max_length=20)
    account = models.ForeignKey(
        PlatformAccount, null=True, blank=True, on_delete=models.PROTECT, related_name="qualification_types"
    )
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    hit = models.ForeignKey(Hit, null=True, blank=True, on_delete=models.CASCADE, related_name="qualification_types")
    external_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "platform", "purpose"],
                condition=Q(hit=None, account=None),
                name="qualificationtype_once",
            ),
            models.UniqueConstraint(
                fields=["study", "account", "purpose"],
                condition=Q(hit=None, account__isnull=False),
                name="qualificationtype_once_per_account",
            ),
            models.UniqueConstraint(
                fields=["hit", "platform"], condition=Q(hit__isnull=False), name="qualificationtype_once_per_hit"
            ),
            models.CheckConstraint(
                condition=Q(hit=None, purpose__in=["exam", "took_part", "limit"])
                | Q(hit__isnull=False, purpose="part"),
                name="qualificationtype_of_a_hit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} of {self.study_id} on {self.platform}"


class OutsideAssignment(models.Model):
    """An assignment as the platform reports it: who has it there, and what became of it. Only a poll writes this.

    ``partial`` work was done and paid in part; the platform does not report how much. Who was ``screened`` out was not
    the right person for the study, and gets a fixed amount or nothing; their place is free again. ``answer`` is what
    arrived at the platform. It is saved for work that never reached this server. ``assignments`` are the same worker's
    rows here for it: none if they never arrived, several if they came back after their work had ended here.
    """

    class State(models.TextChoices):
        SUBMITTED = "submitted", "Submitted"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        RETURNED = "returned", "Returned"
        PARTIAL = "partial", "Partly paid"
        SCREENED = "screened", "Screened out"

    posting = models.ForeignKey(Posting, on_delete=models.CASCADE, related_name="outside")
    external_id = models.CharField(max_length=200)
    worker_id = models.CharField(max_length=200, help_text="The platform's id of the worker.")
    state = models.CharField(max_length=10, choices=State.choices)
    accepted_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    approves_itself_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(blank=True)
    objected_at = models.DateTimeField(
        null=True, blank=True, help_text="When the platform first reported the worker's objection to the rejection."
    )
    objection_url = models.URLField(
        max_length=500, blank=True, help_text="Where to read and answer it; empty: none, or it was decided."
    )
    seen_at = models.DateTimeField(help_text="When the platform last said so.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["posting", "external_id", "worker_id"], name="outside_once")]
        indexes = [models.Index(fields=["external_id"], name="outside_by_id")]

    def __str__(self) -> str:
        return f"{self.external_id} ({self.state})"
