"""What is written once: the database itself refuses to change it.

Steps, submissions, ratings and outputs refuse UPDATE; audit entries, reviews, flags and payments refuse DELETE as well.
What an offer showed never changes; what became of it (`chosen`, `switches`) is written once, with the step.
"""

from django.db import migrations

UPDATE = ("annotation_step", "annotation_submission", "annotation_rating", "annotation_output")
UPDATE_AND_DELETE = ("annotation_auditentry", "annotation_review", "annotation_flag", "annotation_payment")
OFFER = (
    "study_id", "assignment_id", "item_id", "step", "side", "number", "round", "suggester", "model", "decoder", "seed",
    "source", "text", "suggestion_id", "asked_at", "latency", "shown_at",
)

POSTGRES_FUNCTION = """
CREATE FUNCTION annotation_refuse_change() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION '% rows are never changed after they are written', TG_TABLE_NAME USING ERRCODE = '23514'; END
$$ LANGUAGE plpgsql
"""
POSTGRES = "EXECUTE FUNCTION annotation_refuse_change()"
SQLITE = "BEGIN SELECT RAISE(ABORT, '{0} rows are never changed after they are written'); END"


def triggers():
    """Name, table, and what fires it."""
    for table in UPDATE:
        yield f"{table}_append_only", table, "BEFORE UPDATE ON {0} FOR EACH ROW"
    for table in UPDATE_AND_DELETE:
        yield f"{table}_append_only", table, "BEFORE UPDATE ON {0} FOR EACH ROW"
        yield f"{table}_append_only_delete", table, "BEFORE DELETE ON {0} FOR EACH ROW"
    offer = "annotation_offer"
    yield f"{offer}_append_only", offer, f"BEFORE UPDATE OF {', '.join(OFFER)} ON {{0}} FOR EACH ROW"
    yield f"{offer}_outcome_once", offer, "BEFORE UPDATE ON {0} FOR EACH ROW WHEN (OLD.chosen IS NOT NULL)"


def forwards(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    if postgres:
        schema_editor.execute(POSTGRES_FUNCTION, params=None)
    for name, table, event in triggers():
        refuse = POSTGRES if postgres else SQLITE
        schema_editor.execute(f"CREATE TRIGGER {name} {event} {refuse}".format(table), params=None)


def backwards(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for name, table, _ in triggers():
        schema_editor.execute(f"DROP TRIGGER {name}" + (f" ON {table}" if postgres else ""))
    if postgres:
        schema_editor.execute("DROP FUNCTION annotation_refuse_change()")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
