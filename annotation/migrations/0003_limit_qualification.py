"""A further purpose of qualifications: that a worker did all the hits that one person can do. No table changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_append_only")]

    operations = [
        migrations.AlterField(
            model_name="qualificationtype",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("exam", "The result of the exam, as a percentage"),
                    ("took_part", "Took part"),
                    ("limit", "Did all that one worker can do"),
                ],
                max_length=10,
            ),
        ),
    ]
