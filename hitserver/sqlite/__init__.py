"""Django's SQLite backend with a queue in front of the writing lock."""
