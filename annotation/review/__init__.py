"""What becomes of submissions: quality control, decisions, payments, adjudication, and progress."""
