"""Studies whose ratings come from a file of another tool."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0021_interface_wording'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='imported',
            field=models.JSONField(editable=False, help_text='From which tool and file its ratings come. Empty: they were collected here.', null=True),
        ),
    ]
