"""PostgreSQL refuses to empty the ledger, payrolls, disputes and the audit log."""

from django.db import migrations

from common.append_only import refuse_truncate

TABLES = (
    "ledgertransaction", "ledgerentry", "auditrow", "disputestatement", "payroll", "payrollrow", "payrollentry",
    "payout", "payoutreturn",
)


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0002_append_only")]
    operations = [refuse_truncate("marketplace", *(f"marketplace_{table}" for table in TABLES))]
