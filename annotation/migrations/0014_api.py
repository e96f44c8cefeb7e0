"""Answers and jobs of the API."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0013_factors'),
        ('generation', '0003_suggester_weights'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=255)),
                ('fingerprint', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField()),
                ('headers', models.JSONField(default=dict)),
                ('body', models.TextField(blank=True, help_text='JSON as it was sent, in the same order. Empty: no body.')),
                ('created_at', models.DateTimeField(db_index=True)),
                ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.study')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'key'), name='apianswer_once')],
            },
        ),
        migrations.CreateModel(
            name='ApiJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('params', models.JSONField(default=dict)),
                ('result', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('queued', 'Waiting for a worker process'), ('running', 'In progress'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('holder', models.CharField(blank=True, max_length=40)),
                ('n_done', models.PositiveIntegerField(default=0)),
                ('n_total', models.PositiveIntegerField(default=0)),
                ('message', models.TextField(blank=True, help_text='The result in words, or what went wrong.')),
                ('fix', models.TextField(blank=True, help_text='What a person can do about it.')),
                ('asked_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('bulk', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.bulkaction')),
                ('platform_job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.platformjob')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='generation.generationrun')),
                ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='api_jobs', to='annotation.study')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-id'], name='apijob_of_user'), models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['asked_at'], name='apijob_open')],
            },
        ),
    ]
