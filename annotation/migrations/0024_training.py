"""The training round, and the tries at pages of gold and attention items that come back with an explanation."""

import django.db.models.deletion
from django.db import migrations, models

from common.append_only import never_changed_or_deleted

TRIED = "annotation_triedpage"
GATE = "annotation_redactiongate"


def add_triggers(apps, editor):
    """The functions that PostgreSQL's triggers call are there since 0002."""
    postgres = editor.connection.vendor == "postgresql"
    for trigger in never_changed_or_deleted(TRIED):
        editor.execute(trigger.sql("annotation", postgres=postgres, gate=GATE), params=None)
    if postgres:
        editor.execute(
            f"CREATE TRIGGER {TRIED}_never_emptied BEFORE TRUNCATE ON {TRIED} "
            "FOR EACH STATEMENT EXECUTE FUNCTION annotation_refuse_truncate()"
        )


def drop_triggers(apps, editor):
    """The table goes with its triggers."""


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0023_judges'),
    ]

    operations = [
        migrations.AlterField(
            model_name='item',
            name='role',
            field=models.CharField(choices=[('main', 'Main'), ('practice', 'Practice'), ('exam', 'Exam'), ('gold', 'Gold'), ('attention', 'Attention'), ('training', 'Training')], default='main', max_length=10),
        ),
        migrations.AlterField(
            model_name='participant',
            name='turned_away',
            field=models.CharField(choices=[('screened_out', 'Screened out'), ('not_understood', 'Failed the comprehension check'), ('not_trained', 'Failed the training')], help_text='Why their answers before the first task ended their participation. They get no hits.', max_length=20, null=True),
        ),
        migrations.AlterField(
            model_name='questionnairedraft',
            name='questionnaire',
            field=models.CharField(choices=[('before', 'Before the first task'), ('comprehension', 'Comprehension check'), ('after', 'After the last task'), ('training', 'Training')], max_length=20),
        ),
        migrations.CreateModel(
            name='TriedPage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('training', models.BooleanField()),
                ('attempt', models.PositiveSmallIntegerField()),
                ('place', models.PositiveSmallIntegerField()),
                ('answers', models.JSONField(help_text='By the name of the question. A question that was left out is null.')),
                ('verdicts', models.JSONField(help_text='By the name of the question: whether the answer is right.')),
                ('ratings', models.JSONField(help_text='The same answers as ratings store them, each with whether it is right.')),
                ('order', models.JSONField(default=dict, help_text='Of a training page: what was shown in which order.')),
                ('timing', models.JSONField(default=dict, help_text='Per question: when answered, how long, paste events.')),
                ('passed', models.BooleanField(null=True)),
                ('received_at', models.DateTimeField()),
                ('assignment', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tried_pages', to='annotation.assignment')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tried_pages', to='annotation.item')),
                ('participant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tried_pages', to='annotation.participant')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tried_pages', to='annotation.study')),
            ],
            options={
                'indexes': [models.Index(fields=['study', 'id'], name='triedpage_export')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('training', True)), fields=('participant', 'attempt', 'place'), name='triedpage_training_once'), models.UniqueConstraint(condition=models.Q(('training', False)), fields=('assignment', 'attempt', 'place', 'item'), name='triedpage_step_once'), models.CheckConstraint(condition=models.Q(models.Q(('assignment__isnull', True), ('attempt__gte', 1), ('training', True)), models.Q(('assignment__isnull', False), ('attempt__in', [1, 2]), ('passed__isnull', True), ('training', False)), _connector='OR'), name='triedpage_of_training_or_step')],
            },
        ),
        migrations.RunPython(add_triggers, drop_triggers),
    ]
