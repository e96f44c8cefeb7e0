"""Payments of every kind in one table, decisions to pay without a platform, and actions on many submissions at once."""

import django.db.models.deletion
from django.db import migrations, models

# Django copies a table on SQLite to change it, and the copy has no triggers.
ON_SQLITE = ("annotation_payment", "annotation_paydecision")
ON_POSTGRES = ("annotation_paydecision",)
SQLITE = "BEGIN SELECT RAISE(ABORT, '{0} rows are never changed after they are written'); END"
POSTGRES = "EXECUTE FUNCTION annotation_refuse_change()"


def triggers(tables):
    for table in tables:
        yield f"{table}_append_only", table, "UPDATE"
        yield f"{table}_append_only_delete", table, "DELETE"


def create(schema_editor, tables):
    postgres = schema_editor.connection.vendor == "postgresql"
    for name, table, event in triggers(tables):
        refuse = POSTGRES if postgres else SQLITE.format(table)
        text = f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW {refuse}"
        schema_editor.execute(text, params=None)


def forwards(apps, schema_editor):
    create(schema_editor, ON_POSTGRES if schema_editor.connection.vendor == "postgresql" else ON_SQLITE)


def backwards(apps, schema_editor):
    postgres = schema_editor.connection.vendor == "postgresql"
    for name, table, _ in triggers(ON_POSTGRES if postgres else ON_SQLITE):
        schema_editor.execute(f"DROP TRIGGER {name}" + (f" ON {table}" if postgres else ""))


def restored(apps, schema_editor):
    """The last step backwards: the payments' triggers, lost with the copied table."""
    if schema_editor.connection.vendor == "sqlite":
        create(schema_editor, ["annotation_payment"])



class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0003_h1_platforms'),
    ]

    operations = [
        migrations.RunPython(migrations.RunPython.noop, restored),
        migrations.CreateModel(
            name='BulkAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(max_length=20)),
                ('note', models.CharField(blank=True, max_length=1024)),
                ('amount', models.DecimalField(decimal_places=2, help_text='USD, for a bonus.', max_digits=8, null=True)),
                ('release', models.BooleanField(default=False, help_text='Give the places of excluded submissions out again.')),
                ('rows', models.JSONField()),
                ('position', models.PositiveIntegerField(default=0)),
                ('refused', models.JSONField(default=list, help_text='What could not be done, in words.')),
                ('state', models.CharField(choices=[('shown', 'Not confirmed'), ('running', 'In progress'), ('done', 'Done')], default='shown', max_length=10)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('done_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='PayDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('decision', models.CharField(choices=[('approve', 'To be paid'), ('reject', 'Not to be paid')], max_length=10)),
                ('feedback', models.CharField(blank=True, max_length=1024)),
                ('actor', models.CharField(help_text="A user's name, or the command that acted.", max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='payment',
            name='payment_platform_id_once',
        ),
        migrations.AddField(
            model_name='payment',
            name='key',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name='payment',
            name='kind',
            field=models.CharField(choices=[('reward', 'Reward'), ('bonus', 'Bonus'), ('compensation', 'Compensation')], default='reward', max_length=12),
        ),
        migrations.AddField(
            model_name='payment',
            name='reason',
            field=models.CharField(blank=True, max_length=1024),
        ),
        migrations.AddField(
            model_name='payment',
            name='worker_id',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AlterField(
            model_name='payment',
            name='submission',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='annotation.submission'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['reward', 'bonus', 'compensation'])), name='payment_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'reward')), fields=('submission',), name='payment_reward_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('platform_id', ''), _negated=True), ('kind', 'reward')), fields=('platform', 'platform_id'), name='payment_platform_id_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('key',), name='payment_key_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('kind', 'reward'), models.Q(('key', ''), _negated=True), _connector='OR'), name='payment_extra_has_a_key'),
        ),
        migrations.AddField(
            model_name='bulkaction',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bulk_actions', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='paydecision',
            name='submission',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pay_decisions', to='annotation.submission'),
        ),
        migrations.AddIndex(
            model_name='bulkaction',
            index=models.Index(fields=['study', '-id'], name='bulkaction_latest'),
        ),
        migrations.RunPython(forwards, backwards),
    ]
