"""A study words texts of the interface itself, and says in which language its items are."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0020_questionnaires'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='item_language',
            field=models.CharField(blank=True, help_text='Of the texts that workers judge, if it is not that of the interface.', max_length=35),
        ),
        migrations.AddField(
            model_name='study',
            name='interface',
            field=models.JSONField(default=dict, help_text='Own wordings of the interface, by the English text.'),
        ),
    ]
