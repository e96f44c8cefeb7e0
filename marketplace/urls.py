"""Addresses of the marketplace: the endpoint, the workers' and operators' pages, and where answers are sent."""

from django.urls import include, path

from marketplace.endpoint import endpoint
from marketplace.sites.work.external_submit import external_submit
from marketplace.sites.work.page import in_their_language
from marketplace.sites.work.task_groups import as_on_mturk

urlpatterns = [
    path("marketplace/api", endpoint),  # clients sign the address they were given, so neither form can redirect
    path("marketplace/api/", endpoint, name="market_api"),
    path("marketplace/operate/", include("marketplace.sites.operate.urls")),
    path("marketplace/", include("marketplace.sites.work.urls")),
    path("mturk/externalSubmit", in_their_language(external_submit), name="market_submit"),
    # The addresses that tools print for workers, with Amazon's host replaced by ours.
    path("mturk/preview", as_on_mturk),
    path("mturk/previewandaccept", as_on_mturk),
    path("projects/<slug:group_id>/tasks", as_on_mturk),
    path("projects/<slug:group_id>/tasks/", as_on_mturk),
]
