"""Services change the marketplace. Functions are verb-first, keyword-only and atomic; a refusal is `refusals.Refusal`.

Locks are taken in one order everywhere: HIT, assignment, qualification request, ledger account.
"""
