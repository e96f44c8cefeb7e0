"""Measurements that the documentation quotes. Each prints a table; none is run by the tests."""
