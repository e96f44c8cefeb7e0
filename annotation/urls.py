"""Addresses of the workers' pages and the console."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = []
if find_spec("annotation.views.work"):
    urlpatterns.append(path("", include("annotation.views.work")))
if find_spec("annotation.views.console"):
    urlpatterns.append(path("", include("annotation.views.console.urls")))
