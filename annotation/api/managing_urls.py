"""The addresses of what surrounds studies, below /api/v1/: tokens, teams, webhooks, accounts, images, links."""

from django.urls import URLPattern

from annotation.api import (
    audience,
    decision_file,
    images,
    imported_studies,
    links,
    platform_accounts,
    teams,
    tokens,
    webhooks,
)

MODULES = (tokens, teams, webhooks, platform_accounts, images, imported_studies, links, decision_file, audience)
urlpatterns: list[URLPattern] = [pattern for module in MODULES for pattern in module.urlpatterns]
