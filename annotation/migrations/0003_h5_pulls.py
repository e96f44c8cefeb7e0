"""Presses of a page's button for suggestions. The database refuses to change them."""

import django.db.models.deletion
from django.db import migrations, models

TABLE = "annotation_pull"
POSTGRES = "EXECUTE FUNCTION annotation_refuse_change()"
SQLITE = f"BEGIN SELECT RAISE(ABORT, '{TABLE} rows are never changed after they are written'); END"


def forwards(apps, schema_editor):
    refuse = POSTGRES if schema_editor.connection.vendor == "postgresql" else SQLITE
    schema_editor.execute(
        f"CREATE TRIGGER {TABLE}_append_only BEFORE UPDATE ON {TABLE} FOR EACH ROW {refuse}", params=None
    )


def backwards(apps, schema_editor):
    on = f" ON {TABLE}" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP TRIGGER {TABLE}_append_only{on}")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_append_only")]
    operations = [
        migrations.CreateModel(
            name="Pull",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("step", models.PositiveSmallIntegerField(help_text="The page, counted from 0.")),
                ("number", models.PositiveSmallIntegerField(help_text="Counts the presses on the page, from 1.")),
                ("typed", models.JSONField(help_text="The texts on the page at that moment, by question.")),
                ("asked_at", models.DateTimeField()),
                (
                    "assignment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pulls",
                        to="annotation.assignment",
                    ),
                ),
            ],
            options={"ordering": ["step", "number"]},
        ),
        migrations.AddConstraint(
            model_name="pull",
            constraint=models.UniqueConstraint(fields=("assignment", "step", "number"), name="pull_once"),
        ),
        migrations.RunPython(forwards, backwards),
    ]
