"""Diversity of sets of texts: metrics, human scores, and how well either measures diversity.

Importing this package loads neither Django nor torch. Source throughout: Tevet & Berant 2021, "Evaluating the
Evaluation of Diversity in Natural Language Generation".
"""
