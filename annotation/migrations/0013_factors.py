"""Studies declare the factors that findings compare, and arms have levels of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0012_assignment_outside")]

    operations = [
        migrations.AddField("arm", "factors", models.JSONField(default=dict)),
        migrations.AddField(
            "study",
            "factors",
            models.JSONField(default=dict, help_text="What findings compare: settings by factor. Empty: suggestions."),
        ),
    ]
