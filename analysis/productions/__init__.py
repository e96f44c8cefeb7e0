"""Sets of texts that people wrote: how long, how diverse, how many identical. Docs: docs/statistics-diversity.md."""

from analysis.productions.sets import normal_form, set_diversity

__all__ = ["normal_form", "set_diversity"]
