from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_h5_pulls")]
    operations = [
        migrations.AddField(
            model_name="itemfeed",
            name="kind",
            field=models.CharField(blank=True, max_length=20),
        ),
    ]
