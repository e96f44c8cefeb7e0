"""Statistics of human evaluations: plain functions on arrays and frames.

Importing this package loads neither Django nor torch. The server makes `StudyData` from its database. Reports and
exports use it.
"""
