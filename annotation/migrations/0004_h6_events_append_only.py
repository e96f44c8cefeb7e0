"""The log of edits is written once: the database refuses UPDATE and DELETE."""

from django.db import migrations

TABLE = "annotation_eventbatch"
POSTGRES = "EXECUTE FUNCTION annotation_refuse_change()"
SQLITE = f"BEGIN SELECT RAISE(ABORT, '{TABLE} rows are never changed after they are written'); END"
TRIGGERS = {f"{TABLE}_append_only": "UPDATE", f"{TABLE}_append_only_delete": "DELETE"}


def forwards(apps, schema_editor):
    refuse = POSTGRES if schema_editor.connection.vendor == "postgresql" else SQLITE
    for name, event in TRIGGERS.items():
        statement = f"CREATE TRIGGER {name} BEFORE {event} ON {TABLE} FOR EACH ROW {refuse}"
        schema_editor.execute(statement, params=None)


def backwards(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for name in TRIGGERS:
        schema_editor.execute(f"DROP TRIGGER {name}" + (f" ON {TABLE}" if postgres else ""))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_h6_media_and_events")]
    operations = [migrations.RunPython(forwards, backwards)]
