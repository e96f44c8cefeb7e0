"""Statistics of human evaluations: plain functions on arrays and frames.

Importing this package loads neither Django nor torch. Reports and exports read `StudyData`, which the server makes from
its database and `analysis.data` from a bundle.
"""
