"""Measurements that the documentation quotes. Each prints a table. The tests run none of them."""
