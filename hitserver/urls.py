"""All addresses of the server."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from hitserver.health import healthz, live
from hitserver.watch.metrics_page import metrics
from hitserver.watch.server_page import server

# In the order in which they are tried: the pages that workers load for every step come first.
URLS = [("studies", "annotation.worker_urls"), ("marketplace", "marketplace.urls"), ("studies", "annotation.urls")]

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("healthz/live", live, name="live"),
    path("metrics", metrics, name="metrics"),
]
if "studies" in settings.PARTS:  # it is a page of the console
    urlpatterns += [path("console/server/", server, name="console_server")]
urlpatterns += [path("", include(name)) for part, name in URLS if part in settings.PARTS]
handler404 = "hitserver.errors.not_found"
handler500 = "hitserver.errors.server_error"
if "studies" not in settings.PARTS:  # whose first page is at "/"
    urlpatterns += [path("", RedirectView.as_view(pattern_name="market_home"))]
