"""All code that writes to the database. Functions start with a verb, accept keywords only, and use one transaction."""
