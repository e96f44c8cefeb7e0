"""Addresses of the marketplace: the endpoint, the workers' and the operators' pages, and where answers are sent."""

from django.urls import include, path

from marketplace.sites.work.submit import external_submit
from marketplace.wire.endpoint import endpoint

urlpatterns = [
    path("marketplace/api", endpoint),  # clients sign the address as they were given it, so none is redirected
    path("marketplace/api/", endpoint, name="market_api"),
    path("marketplace/operate/", include("marketplace.sites.operate.urls")),
    path("marketplace/", include("marketplace.sites.work.urls")),
    path("mturk/externalSubmit", external_submit, name="market_submit"),
]
