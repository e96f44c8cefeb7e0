"""The tables, in the order in which data flows through them. Writes go through the rooms."""

from annotation.models.api import ApiAnswer, ApiJob
from annotation.models.events import EventBatch
from annotation.models.judges import Judge, JudgeAnswer, JudgePlace, JudgeRating
from annotation.models.leaving import DeletionRequest, PartPayment, RedactionGate
from annotation.models.media import Media
from annotation.models.offers import Offer, Pull
from annotation.models.platform_accounts import PlatformAccount
from annotation.models.platform_jobs import Compensation, PlatformJob
from annotation.models.platforms import OutsideAssignment, PlatformCall, Posting, QualificationType
from annotation.models.questionnaires import QuestionnaireDraft, QuestionnaireReply
from annotation.models.spending import Commitment, SpendingAccount, StudyBudget
from annotation.models.stopping import StoppingLook
from annotation.models.study import Arm, Hit, HitItem, Item, ItemFeed, Membership, Study
from annotation.models.totals import Recount, SlowFigures, WorkTotal
from annotation.models.trail import (
    Adjudication,
    AuditEntry,
    BulkAction,
    Flag,
    PayDecision,
    Payment,
    QualityCheck,
    Review,
)
from annotation.models.tries import TriedPage
from annotation.models.webhooks import Webhook, WebhookDelivery
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
    TakenItem,
    TextPrint,
    Worker,
)

__all__ = [
    "Adjudication",
    "ApiAnswer",
    "ApiJob",
    "Arm",
    "Assignment",
    "AuditEntry",
    "BulkAction",
    "Commitment",
    "Compensation",
    "DeletionRequest",
    "Draft",
    "EventBatch",
    "Flag",
    "Hit",
    "HitItem",
    "Invitation",
    "Item",
    "ItemAuthor",
    "ItemFeed",
    "Judge",
    "JudgeAnswer",
    "JudgePlace",
    "JudgeRating",
    "Media",
    "Membership",
    "Offer",
    "Output",
    "OutsideAssignment",
    "PartPayment",
    "Participant",
    "PayDecision",
    "Payment",
    "PlatformAccount",
    "PlatformCall",
    "PlatformJob",
    "Posting",
    "Pull",
    "QualificationType",
    "QualityCheck",
    "QuestionnaireDraft",
    "QuestionnaireReply",
    "Rating",
    "Recount",
    "RedactionGate",
    "Review",
    "SlowFigures",
    "SpendingAccount",
    "Step",
    "StoppingLook",
    "Study",
    "StudyBudget",
    "Submission",
    "TakenItem",
    "TextPrint",
    "TriedPage",
    "Webhook",
    "WebhookDelivery",
    "WorkTotal",
    "Worker",
]
