"""API tokens get scopes and an end. Those that exist can only read, as before, and have no end."""

from django.db import migrations, models

import accounts.models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_never_emptied")]

    operations = [
        migrations.AddField(
            "apitoken",
            "scopes",
            models.JSONField(default=accounts.models.only_read, help_text="A list of what the token may do."),
        ),
        migrations.AddField(
            "apitoken", "expires_at", models.DateTimeField(blank=True, help_text="Empty: never.", null=True)
        ),
    ]
