"""The addresses of what happens once a study runs, below /api/v1/; and of runs, suggesters and jobs."""

from django.urls import URLPattern

from annotation.api import (
    decisions,
    edits,
    exports,
    job_views,
    judges,
    offers,
    payments,
    platforms,
    quality,
    reports,
    runs,
    submissions,
    suggesters,
    workers,
)

MODULES = (
    *(job_views, platforms, offers, submissions, decisions, workers, payments, quality, exports, reports),
    *(runs, suggesters, edits, judges),
)
urlpatterns: list[URLPattern] = [pattern for module in MODULES for pattern in module.urlpatterns]
