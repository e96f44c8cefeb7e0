"""The tables, in the order in which data flows through them. Writes go through ``annotation.services``."""

from annotation.models.study import Hit, HitItem, Item, Membership, Posting, Study
from annotation.models.trail import AuditEntry, Flag, Review
from annotation.models.work import Assignment, Draft, Participant, Rating, Step, Submission, Worker

__all__ = [
    "Assignment",
    "AuditEntry",
    "Draft",
    "Flag",
    "Hit",
    "HitItem",
    "Item",
    "Membership",
    "Participant",
    "Posting",
    "Rating",
    "Review",
    "Step",
    "Study",
    "Submission",
    "Worker",
]
