"""Responses that many people write to the same context (Giulianelli et al. 2023, §3–5)."""

from annotation.task_types.production.production import Production

TYPES = (Production,)
