"""Diversity Threshold Generation: resample sets of texts until they are diverse enough."""
