"""What is written once: the database itself refuses to change it.

Steps, submissions, ratings, outputs, requests for suggestions and quality checks refuse UPDATE; audit entries, reviews,
flags, payments, what is owed, decisions about pay, adjudications and edits refuse DELETE as well. What an offer showed never changes; what became of it (`chosen`,
`switches`) is written once, with the step. The deletion of a worker's data opens the gate.
"""

from django.db import migrations

from common.append_only import Trigger, add_triggers, never_changed, never_changed_or_deleted

OFFER = "annotation_offer"
SHOWN = (
    "study_id, assignment_id, item_id, step, side, number, round, suggester, model, decoder, seed, source, text, "
    "suggestion_id, asked_at, latency, shown_at"
)
TRIGGERS = [
    *never_changed(
        "annotation_step", "annotation_submission", "annotation_rating", "annotation_output", "annotation_pull"
    ),
    *never_changed("annotation_qualitycheck"),
    *never_changed_or_deleted(
        "annotation_auditentry",
        "annotation_review",
        "annotation_flag",
        "annotation_payment",
        "annotation_paydecision",
        "annotation_eventbatch",
        "annotation_adjudication",
        "annotation_partpayment",
    ),
    Trigger(OFFER, f"UPDATE OF {SHOWN}"),
    Trigger(OFFER, "UPDATE", when="OLD.chosen IS NOT NULL", name="annotation_offer_outcome_once"),
]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [add_triggers("annotation", TRIGGERS, gate="annotation_redactiongate")]
