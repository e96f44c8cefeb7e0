"""Quality control: rules that find careless work, and rules that exclude it from the analysis.

Everything here is a pure function of answers and thresholds. A finding is a reason for a person to look; no finding
rejects work or decides about pay. `language` is the only module that loads a model, and nothing here needs pandas.
"""
