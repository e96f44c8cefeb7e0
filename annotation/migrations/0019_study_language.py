"""Studies have a language: that of the buttons, notices and errors on workers' pages."""

from django.db import migrations, models

from annotation.languages import CHOICES


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0017_platform_accounts'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='language',
            field=models.CharField(choices=CHOICES, default='en', help_text='Of the interface that workers see.', max_length=10),
        ),
    ]
