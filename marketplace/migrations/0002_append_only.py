"""Rows of the ledger, payrolls, disputes and the audit log never change: the database refuses UPDATE and DELETE."""

from django.db import migrations

from common.append_only import add_triggers, never_changed_or_deleted

TABLES = (
    "marketplace_ledgertransaction",
    "marketplace_ledgerentry",
    "marketplace_auditrow",
    "marketplace_disputestatement",
    "marketplace_payroll",
    "marketplace_payrollrow",
    "marketplace_payrollentry",
    "marketplace_payout",
    "marketplace_payoutreturn",
)


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0001_initial")]
    operations = [add_triggers("marketplace", never_changed_or_deleted(*TABLES))]
