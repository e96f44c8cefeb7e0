"""Services change the marketplace. Functions are verb-first, keyword-only and atomic; a refusal is `refusals.Refusal`.

By subject, each knowing only those after it: `page_actions` (what people do on the pages, with its row in the log) and
`disputes`; `hits` (posting, offers, assignments, what happens by time); `qualifications`; `messages` (to workers, and
notifications to requesters); `money`; `accounts`; `audit_log`.

Locks are taken in one order everywhere: HIT, assignment, qualification request, ledger account.
"""
