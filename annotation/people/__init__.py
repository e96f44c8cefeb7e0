"""What is recorded about a worker: one worker's figures, their own record, and the deletion of their data."""
