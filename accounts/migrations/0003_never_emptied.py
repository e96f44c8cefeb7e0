"""PostgreSQL refuses to empty the server's log."""

from django.db import migrations

from common.append_only import refuse_truncate


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_append_only")]
    operations = [refuse_truncate("accounts", "accounts_logentry")]
