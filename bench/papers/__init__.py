"""The tables and figures of the papers, from simulated workers: ``python -m bench.papers --paper NAME OUT``."""
