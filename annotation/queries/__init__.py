"""The code that only reads the database, for pages, exports and services."""
