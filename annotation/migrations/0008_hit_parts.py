"""A qualification for those who took one of the parts in which a hit is offered."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_taken_items")]

    operations = [
        migrations.RemoveConstraint(model_name="qualificationtype", name="qualificationtype_once"),
        migrations.AddField(
            model_name="qualificationtype",
            name="hit",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="qualification_types",
                to="annotation.hit",
            ),
        ),
        migrations.AlterField(
            model_name="qualificationtype",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("exam", "The result of the exam, as a percentage"),
                    ("took_part", "Took part"),
                    ("limit", "Did all that one worker can do"),
                    ("part", "Took a part of task"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="qualificationtype",
            constraint=models.UniqueConstraint(
                condition=Q(hit=None), fields=["study", "platform", "purpose"], name="qualificationtype_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="qualificationtype",
            constraint=models.UniqueConstraint(
                condition=Q(hit__isnull=False), fields=["hit", "platform"], name="qualificationtype_once_per_hit"
            ),
        ),
        migrations.AddConstraint(
            model_name="qualificationtype",
            constraint=models.CheckConstraint(
                condition=Q(hit=None, purpose__in=["exam", "took_part", "limit"])
                | Q(hit__isnull=False, purpose="part"),
                name="qualificationtype_of_a_hit",
            ),
        ),
    ]
