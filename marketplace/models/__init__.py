"""The tables of the marketplace. Writes go through ``marketplace.services``."""

from marketplace.models.accounts import (
    AccessKey,
    AuditRow,
    ClockOffset,
    Invitation,
    LoginLink,
    Requester,
    RequesterLink,
    Worker,
)
from marketplace.models.disputes import DisputeStatement
from marketplace.models.files import UploadedFile
from marketplace.models.hits import Assignment, Hit, HITType, RequestToken
from marketplace.models.layouts import HITLayout
from marketplace.models.ledger import Bonus, LedgerAccount, LedgerEntry, LedgerTransaction
from marketplace.models.messages import Message, NotificationDelivery, NotificationSetting
from marketplace.models.payroll import Payout, PayoutReturn, Payroll, PayrollEntry, PayrollRow
from marketplace.models.qualifications import Qualification, QualificationRequest, QualificationType, WorkerBlock
from marketplace.models.reviews import ReviewEntry

__all__ = [
    "AccessKey",
    "Assignment",
    "AuditRow",
    "Bonus",
    "ClockOffset",
    "DisputeStatement",
    "HITLayout",
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
    "Payout",
    "PayoutReturn",
    "Payroll",
    "PayrollEntry",
    "PayrollRow",
    "Qualification",
    "QualificationRequest",
    "QualificationType",
    "RequestToken",
    "Requester",
    "RequesterLink",
    "ReviewEntry",
    "UploadedFile",
    "Worker",
    "WorkerBlock",
]
