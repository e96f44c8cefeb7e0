"""All addresses of the server."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from hitserver.health import healthz, live

# In the order in which they are tried: the pages that workers load for every step come first.
URLS = [("studies", "annotation.worker_urls"), ("marketplace", "marketplace.urls"), ("studies", "annotation.urls")]

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("healthz/live", live, name="live"),
]
urlpatterns += [path("", include(name)) for part, name in URLS if part in settings.PARTS]
handler404 = "hitserver.errors.not_found"
handler500 = "hitserver.errors.server_error"
if "studies" not in settings.PARTS:  # whose first page is at "/"
    urlpatterns += [path("", RedirectView.as_view(pattern_name="market_home"))]
