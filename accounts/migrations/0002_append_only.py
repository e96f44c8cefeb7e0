"""What is in the server's log stays: the database refuses UPDATE and DELETE."""

from django.db import migrations

TABLES = ("accounts_logentry",)

POSTGRES_FUNCTION = """
CREATE FUNCTION accounts_refuse_change() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION '% rows are never changed after they are written', TG_TABLE_NAME USING ERRCODE = '23514'; END
$$ LANGUAGE plpgsql
"""
POSTGRES = """
CREATE TRIGGER {0}_append_only BEFORE UPDATE OR DELETE ON {0} FOR EACH ROW EXECUTE FUNCTION accounts_refuse_change()
"""
SQLITE = """
CREATE TRIGGER {0}_append_only_{1} BEFORE {1} ON {0}
BEGIN SELECT RAISE(ABORT, '{0} rows are never changed after they are written'); END
"""


def forwards(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRES_FUNCTION, params=None)
        for table in TABLES:
            schema_editor.execute(POSTGRES.format(table), params=None)
        return
    for table in TABLES:
        for change in ("update", "delete"):
            schema_editor.execute(SQLITE.format(table, change), params=None)


def backwards(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"DROP TRIGGER {table}_append_only ON {table}")
        schema_editor.execute("DROP FUNCTION accounts_refuse_change()")
        return
    for table in TABLES:
        for change in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {table}_append_only_{change}")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
