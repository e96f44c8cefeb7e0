"""Teams: users who share studies and what pays for them."""

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
KINDS = [
    *[("sign-ins", "Sign-ins"), ("users", "Users"), ("teams", "Teams"), ("studies", "Studies")],
    *[("models", "Models"), ("runs", "Generation runs")],
]
ROLES = [("viewer", "Viewer"), ("payer", "Payer"), ("editor", "Editor"), ("owner", "Owner")]
SLUG = django.core.validators.RegexValidator(
    "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$",
    "Use lower-case letters, digits and single hyphens inside, such as writing-lab.",
)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_token_scopes"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            "Team",
            [
                ("id", ID),
                ("name", models.CharField(max_length=80, unique=True)),
                ("slug", models.CharField(max_length=60, unique=True, validators=[SLUG])),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            {"ordering": ["name"]},
        ),
        migrations.CreateModel(
            "TeamMember",
            [
                ("id", ID),
                ("role", models.CharField(choices=ROLES, max_length=10)),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="accounts.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="team_memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            {"constraints": [models.UniqueConstraint(fields=("team", "user"), name="team_member_once")]},
        ),
        migrations.AddField(
            "team",
            "members",
            models.ManyToManyField(
                related_name="teams", through="accounts.TeamMember", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AlterField("logentry", "kind", models.CharField(choices=KINDS, max_length=10)),
    ]
