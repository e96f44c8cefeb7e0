"""The client with async. ``make_sync.py`` makes the modules of ``_sync`` from those here."""
