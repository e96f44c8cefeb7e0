"""Messages to workers and notifications to requesters."""
