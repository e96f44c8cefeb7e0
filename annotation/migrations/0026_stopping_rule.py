"""The rule by which a study stops early, what it saw, and hits that it needs no more of."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models


# SQLite builds the tables of studies and hits anew, and loses their triggers.
totals = import_module("annotation.migrations.0025_work_totals")


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0025_work_totals'),
    ]

    operations = [
        migrations.RunPython(totals.drop_triggers, totals.create_triggers),
        migrations.AddField(
            model_name='hit',
            name='held',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='study',
            name='stopping',
            field=models.JSONField(default=dict, help_text='The rule by which the study stops before all ratings are in. Empty: none.'),
        ),
        migrations.CreateModel(
            name='StoppingLook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('looked_at', models.DateTimeField(auto_now_add=True)),
                ('share', models.FloatField()),
                ('submissions', models.PositiveIntegerField()),
                ('differences', models.JSONField(default=list)),
                ('problem', models.TextField(blank=True)),
                ('stopped', models.BooleanField(default=False)),
                ('told_at', models.DateTimeField(editable=False, null=True)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='stopping_looks', to='annotation.study')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='stopping_look_once')],
            },
        ),
        migrations.RunPython(totals.create_triggers, totals.drop_triggers),
    ]
