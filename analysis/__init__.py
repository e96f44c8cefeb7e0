"""Statistics of human evaluations: plain functions on arrays and frames.

Importing this package pulls in neither Django nor torch. ``frames`` alone queries the database; reports and
exports build on it.
"""
