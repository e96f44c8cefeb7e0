"""Two further states of work on a platform: partly paid, and screened out. No table changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_places")]

    operations = [
        migrations.AlterField(
            model_name="outsideassignment",
            name="state",
            field=models.CharField(
                choices=[
                    ("submitted", "Submitted"),
                    ("approved", "Approved"),
                    ("rejected", "Rejected"),
                    ("returned", "Returned"),
                    ("partial", "Partly paid"),
                    ("screened", "Screened out"),
                ],
                max_length=10,
            ),
        ),
    ]
