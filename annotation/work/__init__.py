"""Giving out hits, and what workers send: places, pages, drafts, suggestions, submissions. The hot path."""
