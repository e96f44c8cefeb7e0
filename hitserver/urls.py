"""All addresses of the server."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from hitserver.health import healthz

# The marketplace comes first, because its addresses have their own paths.
URLS = {"marketplace": "marketplace.urls", "studies": "annotation.urls"}

urlpatterns: list[URLPattern | URLResolver] = [path("healthz", healthz, name="healthz")]
urlpatterns += [path("", include(name)) for part, name in URLS.items() if part in settings.PARTS]
if "studies" not in settings.PARTS:  # whose first page is at "/"
    urlpatterns += [path("", RedirectView.as_view(pattern_name="market_home"))]
