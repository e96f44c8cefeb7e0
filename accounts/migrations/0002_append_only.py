"""What is in the server's log stays: the database refuses UPDATE and DELETE."""

from django.db import migrations

from common.append_only import add_triggers, never_changed_or_deleted


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [add_triggers("accounts", never_changed_or_deleted("accounts_logentry"))]
