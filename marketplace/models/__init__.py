"""The tables of the marketplace. Writes go through ``marketplace.services``."""

from marketplace.models.accounts import AccessKey, AuditRow, ClockOffset, Invitation, LoginLink, Requester, Worker
from marketplace.models.hits import Assignment, Hit, HITType, RequestToken
from marketplace.models.ledger import Bonus, LedgerAccount, LedgerEntry, LedgerTransaction
from marketplace.models.messages import Message, NotificationDelivery, NotificationSetting
from marketplace.models.qualifications import Qualification, QualificationRequest, QualificationType, WorkerBlock

__all__ = [
    "AccessKey",
    "Assignment",
    "AuditRow",
    "Bonus",
    "ClockOffset",
    "HITType",
    "Hit",
    "Invitation",
    "LedgerAccount",
    "LedgerEntry",
    "LedgerTransaction",
    "LoginLink",
    "Message",
    "NotificationDelivery",
    "NotificationSetting",
    "Qualification",
    "QualificationRequest",
    "QualificationType",
    "RequestToken",
    "Requester",
    "Worker",
    "WorkerBlock",
]
