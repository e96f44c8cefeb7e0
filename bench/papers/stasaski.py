"""Placeholder while the rest is tried."""
TABLES = ()
def studies(size, seed, released=None):
    yield from ()
