"""Addresses of the workers' pages, the console and the API."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.views.work")),
    path("", include("annotation.views.media")),
    path("", include("annotation.views.console.urls")),
    path("api/v1/", include("annotation.api")),
]
