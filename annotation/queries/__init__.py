"""All code that only reads the database."""
