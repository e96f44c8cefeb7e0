"""Addresses of media, the console and the API. Those of the workers' pages are in `annotation.views.work`."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.views.media")),
    path("", include("annotation.views.console.urls")),
    path("api/v1/", include("annotation.api")),
]
