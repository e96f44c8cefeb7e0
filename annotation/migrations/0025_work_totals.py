"""Running totals for each participant, and triggers that mark which of them are no longer right.

At first, every participant is marked. The triggers come last: on SQLite, a later migration that rebuilds one of these
tables must call `drop_triggers` before and `create_triggers` after it.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

_OF_SUBMISSION = "SELECT participant_id FROM annotation_submission WHERE id = {row}.submission_id"
_OF_ASSIGNMENT = "SELECT participant_id FROM annotation_assignment WHERE id = {row}.assignment_id"
_PAID_TO = """
SELECT participant_id FROM annotation_submission WHERE id = NEW.submission_id UNION ALL
SELECT a.participant_id FROM annotation_partpayment p JOIN annotation_assignment a ON a.id = p.assignment_id
WHERE p.id = NEW.part_id UNION ALL
SELECT t.id FROM annotation_participant t JOIN annotation_worker w ON w.id = t.worker_id
WHERE NEW.submission_id IS NULL AND NEW.part_id IS NULL AND t.study_id = NEW.study_id
AND w.platform = NEW.platform AND w.platform_id = NEW.worker_id AND NEW.worker_id <> ''
"""
_SUBMITTED = "OLD.state = 'accepted' AND NEW.state IN ('submitted', 'released')"
#: Table, event, condition, and whose totals it changes. A submission marks its worker, so its assignment need not.
TRIGGERS = [
    ("submission", "INSERT", "", "SELECT NEW.participant_id"),
    ("submission", "UPDATE", "", "SELECT NEW.participant_id"),
    (
        "assignment",
        "UPDATE",
        f"(NEW.state <> OLD.state AND NOT ({_SUBMITTED})) OR NEW.extra <> OLD.extra OR "
        "COALESCE(NEW.outside_id, 0) <> COALESCE(OLD.outside_id, 0)",
        "SELECT NEW.participant_id",
    ),
    (
        "outsideassignment",
        "UPDATE",
        "NEW.state <> OLD.state",
        "SELECT participant_id FROM annotation_assignment WHERE outside_id = NEW.id",
    ),
    ("flag", "INSERT", "", _OF_SUBMISSION),
    ("flag", "DELETE", "", _OF_SUBMISSION),
    ("review", "INSERT", "", _OF_SUBMISSION),
    ("paydecision", "INSERT", "", _OF_SUBMISSION),
    ("payment", "INSERT", "", _PAID_TO),
    ("partpayment", "INSERT", "", _OF_ASSIGNMENT),
    ("compensation", "INSERT", "", _OF_ASSIGNMENT),
    ("compensation", "DELETE", "", _OF_ASSIGNMENT),
    ("rating", "DELETE", "", _OF_SUBMISSION),
    ("participant", "UPDATE", "NEW.synthetic <> OLD.synthetic", "SELECT NEW.id"),
    (
        "study",
        "UPDATE",
        "CAST(NEW.platforms AS TEXT) <> CAST(OLD.platforms AS TEXT) OR "
        "CAST(NEW.exclusion AS TEXT) <> CAST(OLD.exclusion AS TEXT)",
        "SELECT id FROM annotation_participant WHERE study_id = NEW.id",
    ),
]
MARK_ALL = "INSERT INTO annotation_recount (participant_id) SELECT id FROM annotation_participant"


def create_triggers(apps: Any, editor: Any) -> None:
    postgres = editor.connection.vendor == "postgresql"
    for table, event, condition, whose in TRIGGERS:
        name = f"annotation_recount_{table}_{event.lower()}"
        mark = (
            f"INSERT INTO annotation_recount (participant_id) {whose.format(row='OLD' if event == 'DELETE' else 'NEW')}"
        )
        act = f"BEGIN {mark}; END"
        if postgres:
            editor.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger AS $$ BEGIN {mark}; RETURN NULL; END $$ LANGUAGE plpgsql",
                params=None,
            )
            act = f"EXECUTE FUNCTION {name}()"
        when = f" WHEN ({condition})" if condition else ""
        editor.execute(
            f"CREATE TRIGGER {name} AFTER {event} ON annotation_{table} FOR EACH ROW{when} {act}", params=None
        )


def drop_triggers(apps: Any, editor: Any) -> None:
    postgres = editor.connection.vendor == "postgresql"
    for table, event, _, _ in TRIGGERS:
        name = f"annotation_recount_{table}_{event.lower()}"
        editor.execute(f"DROP TRIGGER {name}" + (f" ON annotation_{table}" if postgres else ""))
        if postgres:
            editor.execute(f"DROP FUNCTION {name}()")


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", '0024_training'),
    ]

    operations = [
        migrations.CreateModel(
            name="SlowFigures",
            fields=[
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="slow_figures",
                        serialize=False,
                        to="annotation.study",
                    ),
                ),
                ("figures", models.JSONField(default=dict)),
                ("counted_at", models.DateTimeField()),
                ("seconds", models.FloatField(help_text="How long it took.")),
            ],
        ),
        migrations.CreateModel(
            name="Recount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "participant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.participant",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WorkTotal",
            fields=[
                (
                    "participant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="total",
                        serialize=False,
                        to="annotation.participant",
                    ),
                ),
                ("state", models.CharField(blank=True, max_length=20)),
                ("received", models.PositiveIntegerField(default=0)),
                ("submitted", models.PositiveIntegerField(default=0)),
                ("released", models.PositiveIntegerField(default=0)),
                ("extra", models.PositiveIntegerField(default=0)),
                ("comments", models.PositiveIntegerField(default=0)),
                ("returned", models.PositiveIntegerField(default=0)),
                ("abandoned", models.PositiveIntegerField(default=0)),
                ("stopped", models.PositiveIntegerField(default=0)),
                ("flagged", models.PositiveIntegerField(default=0)),
                ("flags", models.JSONField(default=dict)),
                ("excluded", models.PositiveIntegerField(default=0)),
                ("left_out", models.JSONField(default=dict)),
                ("ratings", models.PositiveIntegerField(default=0)),
                ("ratings_out", models.PositiveIntegerField(default=0)),
                ("work", models.PositiveIntegerField(default=0)),
                ("work_usd", models.DecimalField(decimal_places=3, default=0, max_digits=12)),
                ("work_seconds", models.FloatField(default=0)),
                ("hits_due", models.PositiveIntegerField(default=0)),
                ("due", models.DecimalField(decimal_places=3, default=0, max_digits=12)),
                ("hits_open", models.PositiveIntegerField(default=0)),
                ("open", models.DecimalField(decimal_places=3, default=0, max_digits=12)),
                ("hits_rewarded", models.PositiveIntegerField(default=0)),
                ("paid", models.DecimalField(decimal_places=3, default=0, max_digits=12)),
                ("paid_extra", models.DecimalField(decimal_places=3, default=0, max_digits=12)),
                ("until", models.DateTimeField(null=True)),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="work_totals",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["study", "state"], name="worktotal_by_state")],
            },
        ),
        migrations.AddIndex(
            "payment",
            models.Index(
                fields=["study", "platform", "worker_id"],
                condition=models.Q(("part__isnull", True), ("submission__isnull", True)),
                name="payment_apart",
            ),
        ),
        migrations.RunSQL(MARK_ALL, migrations.RunSQL.noop),
        migrations.RunPython(create_triggers, drop_triggers),
    ]
