"""What participants are asked before and after their tasks, their answers, and whom the answers turn away."""

import django.db.models.deletion
from django.db import migrations, models

from common.append_only import never_changed_or_deleted

QUESTIONNAIRES = [
    ("before", "Before the first task"),
    ("comprehension", "Comprehension check"),
    ("after", "After the last task"),
]
REPLY = "annotation_questionnairereply"
GATE = "annotation_redactiongate"


def add_triggers(apps, editor):
    """The functions that PostgreSQL's triggers call are there since 0002."""
    postgres = editor.connection.vendor == "postgresql"
    for trigger in never_changed_or_deleted(REPLY):
        editor.execute(trigger.sql("annotation", postgres=postgres, gate=GATE), params=None)
    if postgres:
        editor.execute(
            f"CREATE TRIGGER {REPLY}_never_emptied BEFORE TRUNCATE ON {REPLY} "
            "FOR EACH STATEMENT EXECUTE FUNCTION annotation_refuse_truncate()"
        )


def drop_triggers(apps, editor):
    """The table goes with its triggers."""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0019_study_language")]

    operations = [
        migrations.AddField(
            "participant",
            "turned_away",
            models.CharField(
                choices=[("screened_out", "Screened out"), ("not_understood", "Failed the comprehension check")],
                help_text="Why their answers before the first task ended their participation. They get no hits.",
                max_length=20,
                null=True,
            ),
        ),
        migrations.AddField(
            "study",
            "questionnaires",
            models.JSONField(
                default=dict, help_text="What participants are asked before and after, and whom the answers turn away."
            ),
        ),
        migrations.CreateModel(
            "QuestionnaireDraft",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("questionnaire", models.CharField(choices=QUESTIONNAIRES, max_length=20)),
                ("answers", models.JSONField()),
                ("saved_at", models.DateTimeField()),
                (
                    "participant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questionnaire_drafts",
                        to="annotation.participant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("participant", "questionnaire"), name="questionnairedraft_once")
                ],
            },
        ),
        migrations.CreateModel(
            "QuestionnaireReply",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("questionnaire", models.CharField(choices=QUESTIONNAIRES, max_length=20)),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                (
                    "answers",
                    models.JSONField(help_text="By the name of the question. A question that was left out is null."),
                ),
                (
                    "timing",
                    models.JSONField(
                        default=dict, help_text="Per question: when answered, how long, paste events."
                    ),
                ),
                ("passed", models.BooleanField(null=True)),
                ("received_at", models.DateTimeField()),
                (
                    "participant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="questionnaire_replies",
                        to="annotation.participant",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="questionnaire_replies",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["study", "id"], name="questionnairereply_export")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("participant", "questionnaire", "attempt"), name="questionnairereply_attempt_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("attempt", 1),
                            models.Q(("attempt__gte", 1), ("questionnaire", "comprehension")),
                            _connector="OR",
                        ),
                        name="questionnairereply_asked_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("questionnaire__in", ["before", "comprehension", "after"])),
                        name="questionnairereply_questionnaire_known",
                    ),
                ],
            },
        ),
        migrations.RunPython(add_triggers, drop_triggers),
    ]
