"""The code that writes to the database. Functions that write start with a verb and accept only keywords."""
