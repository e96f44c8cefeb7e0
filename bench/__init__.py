"""Measurements that the documentation quotes, each of which prints a table, and a proof that nothing changed. The tests
run none of them."""
