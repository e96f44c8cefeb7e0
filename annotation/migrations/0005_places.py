"""The places that a posting has on its platform, and those that a call asks for; workers' objections."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0004_pay_note")]

    operations = [
        migrations.AddField(
            model_name="posting",
            name="offered",
            field=models.PositiveIntegerField(blank=True, help_text="Places there; empty: as many as wanted.", null=True),
        ),
        migrations.AddField(
            model_name="posting",
            name="asked",
            field=models.PositiveIntegerField(
                blank=True, help_text="Places that a call asks for; empty: no call.", null=True
            ),
        ),
        migrations.AddField(
            model_name="outsideassignment",
            name="objected_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When the platform first reported the worker's objection to the rejection.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="outsideassignment",
            name="objection_url",
            field=models.URLField(
                blank=True,
                default="",
                help_text="Where to read and answer it; empty: none, or it was decided.",
                max_length=500,
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="platformjob",
            name="kind",
            field=models.CharField(
                choices=[
                    ("publish", "Publish"),
                    ("sync", "Sync"),
                    ("poll", "Sync by command"),
                    ("extend", "Extend"),
                    ("add", "Offer lost places again"),
                    ("pause", "Pause"),
                    ("resume", "Resume"),
                    ("end", "End"),
                    ("delete", "Delete on the platform"),
                ],
                max_length=10,
            ),
        ),
    ]
