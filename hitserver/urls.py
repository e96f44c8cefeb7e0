"""Where every address of the server leads."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

from hitserver.health import healthz

urlpatterns: list[URLPattern | URLResolver] = [path("healthz", healthz, name="healthz")]
if find_spec("annotation.urls"):
    urlpatterns.append(path("", include("annotation.urls")))
