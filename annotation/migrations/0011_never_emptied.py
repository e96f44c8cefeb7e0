"""PostgreSQL refuses to empty the tables whose rows are written once."""

from django.db import migrations

from common.append_only import refuse_truncate

TABLES = (
    "step", "submission", "rating", "output", "pull", "qualitycheck", "auditentry", "review", "flag", "payment",
    "paydecision", "eventbatch", "adjudication", "partpayment",
)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0010_returns_with")]
    operations = [refuse_truncate("annotation", *(f"annotation_{table}" for table in TABLES))]
