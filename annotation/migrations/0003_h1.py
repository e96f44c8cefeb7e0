import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from common.append_only import add_triggers, never_changed_or_deleted


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0002_append_only"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Adjudication",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("question", models.CharField(max_length=60)),
                ("chosen", models.JSONField()),
                ("note", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="adjudications", to="annotation.item"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="adjudications",
                        to="annotation.study",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="adjudications",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["study", "item", "-id"], name="adjudication_latest")]},
        ),
        add_triggers("annotation", never_changed_or_deleted("annotation_adjudication"), function=False),
    ]
