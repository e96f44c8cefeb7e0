"""The client without async. ``make_sync.py`` makes the modules here from those of ``_async``."""
