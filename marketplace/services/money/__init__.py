"""The ledger, payments and payrolls."""
