"""Quality control: thresholds and exclusion rules of a study, the place and the figures of a flag, checks of a study."""

import django.db.models.deletion
from django.db import migrations, models

from common.append_only import add_triggers, never_changed


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0002_append_only'),
    ]

    operations = [
        migrations.CreateModel(
            name='QualityCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('submissions', models.PositiveIntegerField()),
                ('flags', models.JSONField(default=dict)),
                ('actor', models.CharField(help_text="A user's name, or the command that acted.", max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.AddField(
            model_name='flag',
            name='place',
            field=models.CharField(help_text='What it is about: the whole, a question, a scale.', max_length=100, null=True),
        ),
        migrations.AddField(
            model_name='flag',
            name='threshold',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='flag',
            name='value',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='exclusion',
            field=models.JSONField(default=dict, help_text='Rules that exclude submissions from the analysis.'),
        ),
        migrations.AddField(
            model_name='study',
            name='quality_control',
            field=models.JSONField(default=dict, help_text='Thresholds of the rules that find careless work. Empty: the defaults.'),
        ),
        migrations.AddConstraint(
            model_name='flag',
            constraint=models.UniqueConstraint(condition=models.Q(('place__isnull', False)), fields=('submission', 'reason', 'place'), name='flag_once_per_place'),
        ),
        migrations.AddField(
            model_name='qualitycheck',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quality_checks', to='annotation.study'),
        ),
        add_triggers('annotation', never_changed('annotation_qualitycheck'), function=False),
    ]
