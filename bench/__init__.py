"""Measurements that the documentation quotes. Each prints a table; the tests run none of them."""
