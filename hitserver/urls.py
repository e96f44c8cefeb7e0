"""Where every address of the server leads."""

from django.urls import include, path

from hitserver.health import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("", include("annotation.urls")),
    path("", include("analysis.urls")),
]
