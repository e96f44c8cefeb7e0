"""Steps, submissions and ratings are never changed after they are written: the database itself refuses an UPDATE."""

from django.db import migrations

TABLES = ("annotation_step", "annotation_submission", "annotation_rating")

POSTGRES_FUNCTION = """
CREATE FUNCTION annotation_refuse_update() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION '% rows are never changed after they are written', TG_TABLE_NAME USING ERRCODE = '23514'; END
$$ LANGUAGE plpgsql
"""
POSTGRES = "CREATE TRIGGER {0}_append_only BEFORE UPDATE ON {0} FOR EACH ROW EXECUTE FUNCTION annotation_refuse_update()"
SQLITE = (
    "CREATE TRIGGER {0}_append_only BEFORE UPDATE ON {0} "
    "BEGIN SELECT RAISE(ABORT, '{0} rows are never changed after they are written'); END"
)


def forwards(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES_FUNCTION, params=None)
    for table in TABLES:
        schema_editor.execute((POSTGRES if schema_editor.connection.vendor == "postgresql" else SQLITE).format(table), params=None)


def backwards(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for table in TABLES:
        schema_editor.execute(f"DROP TRIGGER {table}_append_only" + (f" ON {table}" if postgres else ""))
    if postgres:
        schema_editor.execute("DROP FUNCTION annotation_refuse_update()")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
