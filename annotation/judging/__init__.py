"""Judges: language models that do a study's pages. What they answer is stored apart from everything that workers do."""
