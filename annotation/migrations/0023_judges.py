"""Judges: language models that answer a study's pages, and what they answered."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from common.append_only import never_changed_or_deleted


ANSWERS, RATINGS, GATE = "annotation_judgeanswer", "annotation_judgerating", "annotation_redactiongate"


def add_triggers(apps, editor):
    """The functions that PostgreSQL's triggers call are there since 0002."""
    postgres = editor.connection.vendor == "postgresql"
    for trigger in never_changed_or_deleted(ANSWERS, RATINGS):
        editor.execute(trigger.sql("annotation", postgres=postgres, gate=GATE), params=None)
    for table in (ANSWERS, RATINGS) if postgres else ():
        editor.execute(
            f"CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION annotation_refuse_truncate()"
        )


def drop_triggers(apps, editor):
    """The tables go with their triggers."""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0022_study_imported"),
        ("generation", "0004_sample_score"),
    ]

    operations = [
        migrations.CreateModel(
            name="Judge",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                (
                    "method",
                    models.CharField(
                        choices=[
                            ("scored", "Every possible answer is scored by its probability"),
                            ("json", "The model writes JSON"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "samples",
                    models.PositiveSmallIntegerField(
                        default=1,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                ("temperature", models.FloatField(default=1.0)),
                ("seed", models.PositiveIntegerField(default=1)),
                ("max_tokens", models.PositiveIntegerField(default=200, help_text="Of one answer.")),
                (
                    "max_tries",
                    models.PositiveSmallIntegerField(
                        default=3,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10),
                        ],
                    ),
                ),
                (
                    "instruction",
                    models.TextField(blank=True, help_text="Before the study's own instructions. Empty: the default."),
                ),
                (
                    "price_in",
                    models.DecimalField(
                        decimal_places=4, default=0, help_text="USD per million tokens read.", max_digits=10
                    ),
                ),
                (
                    "price_out",
                    models.DecimalField(
                        decimal_places=4, default=0, help_text="USD per million tokens written.", max_digits=10
                    ),
                ),
                ("cap_usd", models.DecimalField(blank=True, decimal_places=4, max_digits=10, null=True)),
                ("cap_tokens", models.PositiveBigIntegerField(blank=True, help_text="Read and written.", null=True)),
                ("n_items", models.PositiveIntegerField(help_text="Items that it judges.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("stopped", "Stopped"),
                            ("capped", "Cap reached"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("message", models.TextField(blank=True)),
                (
                    "failures",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="Errors in a row, of the model or its server."
                    ),
                ),
                ("leased_by", models.CharField(blank=True, max_length=100)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.CharField(blank=True, max_length=150)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "arm",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judges", to="annotation.arm"
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judges",
                        to="generation.languagemodel",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judges",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="JudgePlace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "position",
                    models.PositiveIntegerField(help_text="In the seeded random order in which items are judged."),
                ),
                ("sample", models.PositiveSmallIntegerField()),
                ("order", models.JSONField(help_text="What the task type arranged: sides, texts, statements.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("done", "Answered"),
                            ("invalid", "No valid answer"),
                            ("refused", "Not possible"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(blank=True, help_text="Why there is no answer.", max_length=300)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judge_places", to="annotation.item"
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="places",
                        to="annotation.judge",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.CreateModel(
            name="JudgeAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("page", models.PositiveSmallIntegerField(help_text="From 0.")),
                ("attempt", models.PositiveSmallIntegerField(help_text="From 1.")),
                (
                    "prompt_hash",
                    models.CharField(help_text="SHA-256 of everything that the model read.", max_length=64),
                ),
                ("raw", models.TextField(help_text="As the model wrote it; scored answers as JSON.")),
                (
                    "problem",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("empty", "Nothing"),
                            ("prose", "Words without JSON"),
                            ("broken", "JSON that ends too early or cannot be read"),
                            ("missing", "A question without an answer"),
                            ("off", "An answer that the question does not allow"),
                            ("cut", "Cut off at the limit of tokens"),
                            ("too_long", "Page longer than the model's context"),
                            ("declined", "Refused by the model or its server"),
                        ],
                        max_length=10,
                    ),
                ),
                ("detail", models.CharField(blank=True, max_length=500)),
                ("answers", models.JSONField(default=dict)),
                ("chances", models.JSONField(default=dict)),
                ("tokens_in", models.PositiveIntegerField(default=0)),
                ("tokens_out", models.PositiveIntegerField(default=0)),
                ("seconds", models.FloatField(default=0.0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "place",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="annotation.judgeplace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="JudgeRating",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("question", models.CharField(max_length=60)),
                ("target", models.CharField(blank=True, max_length=200)),
                ("scale", models.CharField(max_length=60)),
                ("value", models.FloatField(null=True)),
                ("text", models.TextField(blank=True)),
                ("side", models.CharField(blank=True, max_length=10)),
                ("part_position", models.PositiveIntegerField(null=True)),
                ("chance", models.FloatField(null=True)),
                ("chances", models.JSONField(default=dict)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judge_ratings", to="annotation.item"
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="ratings",
                        to="annotation.judge",
                    ),
                ),
                (
                    "place",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="ratings",
                        to="annotation.judgeplace",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="judge",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="judge_name_once"),
        ),
        migrations.AddConstraint(
            model_name="judge",
            constraint=models.CheckConstraint(
                condition=models.Q(("samples__gte", 1), ("max_tries__gte", 1)), name="judge_counts_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="judge",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "running", "done", "stopped", "capped", "failed"])),
                name="judge_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgeplace",
            constraint=models.UniqueConstraint(fields=("judge", "position"), name="judgeplace_position_once"),
        ),
        migrations.AddConstraint(
            model_name="judgeplace",
            constraint=models.UniqueConstraint(fields=("judge", "item", "sample"), name="judgeplace_once"),
        ),
        migrations.AddConstraint(
            model_name="judgeanswer",
            constraint=models.UniqueConstraint(fields=("place", "page", "attempt"), name="judgeanswer_attempt_once"),
        ),
        migrations.AddConstraint(
            model_name="judgeanswer",
            constraint=models.UniqueConstraint(
                condition=models.Q(("problem", "")), fields=("place", "page"), name="judgeanswer_valid_once"
            ),
        ),
        migrations.AddIndex(
            model_name="judgerating",
            index=models.Index(fields=["judge", "id"], name="judgerating_export"),
        ),
        migrations.AddConstraint(
            model_name="judgerating",
            constraint=models.UniqueConstraint(fields=("place", "question", "target"), name="judgerating_once"),
        ),
        migrations.RunPython(add_triggers, drop_triggers),
    ]
