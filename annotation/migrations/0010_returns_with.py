"""What shows that somebody who comes back with a panel's id is the person who started."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0009_spending'),
    ]

    operations = [
        migrations.AddField(
            model_name='participant',
            name='returns_with',
            field=models.CharField(editable=False, help_text='Hash of what only the browser that started here can show.', max_length=64, null=True),
        ),
    ]
