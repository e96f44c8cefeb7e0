"""A study may belong to a team, and a member of a study can be its payer."""

import django.db.models.deletion
from django.db import migrations, models

ROLES = [("viewer", "Viewer"), ("payer", "Payer"), ("editor", "Editor"), ("owner", "Owner")]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_teams"), ("annotation", "0014_api")]

    operations = [
        migrations.AddField(
            "study",
            "team",
            models.ForeignKey(
                blank=True,
                help_text="Its members have at least their role in the team here. Empty: no team.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="studies",
                to="accounts.team",
            ),
        ),
        migrations.AlterField("membership", "role", models.CharField(choices=ROLES, max_length=10)),
    ]
