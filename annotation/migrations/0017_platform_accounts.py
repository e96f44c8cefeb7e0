"""Users and teams enter accounts on platforms, which pay for studies and own what is posted there."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_teams'),
        ('annotation', '0016_webhooks'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PlatformAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(max_length=60, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$', 'Use lower-case letters, digits and single hyphens inside, such as story-diversity-1.')])),
                ('title', models.CharField(max_length=80)),
                ('platform', models.CharField(max_length=20)),
                ('endpoint', models.URLField(help_text='Where calls go.', max_length=300)),
                ('region', models.CharField(blank=True, help_text='MTurk: the region that requests are signed for.', max_length=40)),
                ('project', models.CharField(blank=True, help_text='Prolific: the project of studies that name none.', max_length=40)),
                ('seal_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('sealed', models.TextField()),
                ('last_four', models.CharField(help_text='The end of the key, by which people recognise it.', max_length=4)),
                ('hears', models.BooleanField(default=False, help_text='It has a secret for notices, so it need not be polled.')),
                ('keys_at', models.DateTimeField(help_text='When the keys were entered.')),
                ('checked_at', models.DateTimeField(blank=True, help_text='When the platform last accepted the keys.', null=True)),
                ('balance', models.DecimalField(blank=True, decimal_places=2, help_text='USD at that moment; empty: not reported.', max_digits=12, null=True)),
                ('trouble', models.TextField(blank=True, help_text='Why the latest check failed; empty: it did not.')),
                ('created_at', models.DateTimeField()),
                ('created_by', models.CharField(max_length=150)),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='posting',
            name='posting_once',
        ),
        migrations.RemoveConstraint(
            model_name='qualificationtype',
            name='qualificationtype_once',
        ),
        migrations.AddField(
            model_name='platformaccount',
            name='team',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='platform_accounts', to='accounts.team'),
        ),
        migrations.AddField(
            model_name='platformaccount',
            name='user',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='platform_accounts', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='posting',
            name='account',
            field=models.ForeignKey(blank=True, help_text="Whose keys posted it; empty: the server's own.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='postings', to='annotation.platformaccount'),
        ),
        migrations.AddField(
            model_name='qualificationtype',
            name='account',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='qualification_types', to='annotation.platformaccount'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('external_id', ''), _negated=True), ('account', None)), fields=('platform', 'external_id'), name='posting_once'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('external_id', ''), _negated=True), ('account__isnull', False)), fields=('account', 'external_id'), name='posting_once_per_account'),
        ),
        migrations.AddConstraint(
            model_name='qualificationtype',
            constraint=models.UniqueConstraint(condition=models.Q(('account', None), ('hit', None)), fields=('study', 'platform', 'purpose'), name='qualificationtype_once'),
        ),
        migrations.AddConstraint(
            model_name='qualificationtype',
            constraint=models.UniqueConstraint(condition=models.Q(('account__isnull', False), ('hit', None)), fields=('study', 'account', 'purpose'), name='qualificationtype_once_per_account'),
        ),
        migrations.AddConstraint(
            model_name='platformaccount',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('team__isnull', True), ('user__isnull', False)), models.Q(('team__isnull', False), ('user__isnull', True)), _connector='OR'), name='platformaccount_one_owner'),
        ),
        migrations.AddConstraint(
            model_name='platformaccount',
            constraint=models.CheckConstraint(condition=models.Q(('sealed', ''), _negated=True), name='platformaccount_has_keys'),
        ),
    ]
