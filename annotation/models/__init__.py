"""The tables, in the order in which data flows through them. Writes go through ``annotation.services``."""

from annotation.models.events import EventBatch
from annotation.models.media import Media
from annotation.models.offers import Offer, Pull
from annotation.models.platform_jobs import Compensation, PlatformJob
from annotation.models.platforms import OutsideAssignment, PlatformCall, Posting, QualificationType
from annotation.models.study import Arm, Hit, HitItem, Item, ItemFeed, Membership, Study
from annotation.models.trail import AuditEntry, BulkAction, Flag, PayDecision, Payment, QualityCheck, Review
from annotation.models.work import (
    Assignment,
    Draft,
    Invitation,
    ItemAuthor,
    Output,
    Participant,
    Rating,
    Step,
    Submission,
    TextPrint,
    Worker,
)

__all__ = [
    "Arm",
    "Assignment",
    "AuditEntry",
    "BulkAction",
    "Compensation",
    "Draft",
    "EventBatch",
    "Flag",
    "Hit",
    "HitItem",
    "Invitation",
    "Item",
    "ItemAuthor",
    "ItemFeed",
    "Media",
    "Membership",
    "Offer",
    "Output",
    "OutsideAssignment",
    "Participant",
    "PayDecision",
    "Payment",
    "PlatformCall",
    "PlatformJob",
    "Posting",
    "Pull",
    "QualificationType",
    "QualityCheck",
    "Rating",
    "Review",
    "Step",
    "Study",
    "Submission",
    "TextPrint",
    "Worker",
]
