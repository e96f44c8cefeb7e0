"""Budgets, and the money set aside for what platforms may cost."""

import django.db.models.deletion
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0008_hit_parts'),
    ]

    operations = [
        migrations.CreateModel(
            name='SpendingAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name='Commitment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200, unique=True)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=12)),
                ('released', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=12)),
                ('created_at', models.DateTimeField()),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commitments', to='annotation.study')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commitments', to='annotation.spendingaccount')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'created_at'], name='commitment_of_month')],
                'constraints': [models.CheckConstraint(condition=models.Q(('amount__gte', models.F('released')), ('released__gte', 0)), name='commitment_released_within_amount')],
            },
        ),
        migrations.CreateModel(
            name='StudyBudget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=12)),
                ('actor', models.CharField(help_text="A user's name, or the command that acted.", max_length=150)),
                ('set_at', models.DateTimeField(auto_now=True)),
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='budget', to='annotation.study')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('amount__gte', 0)), name='studybudget_not_negative')],
            },
        ),
    ]
