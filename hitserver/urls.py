"""Where every address of the server leads."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from hitserver.health import healthz

# The marketplace comes first: what it answers has paths of its own.
URLS = {"marketplace": ("marketplace.urls",), "studies": ("annotation.urls", "analysis.urls")}

urlpatterns: list[URLPattern | URLResolver] = [path("healthz", healthz, name="healthz")]
urlpatterns += [path("", include(name)) for part in URLS if part in settings.PARTS for name in URLS[part]]
if "studies" not in settings.PARTS:  # whose first page is at "/"
    urlpatterns += [path("", RedirectView.as_view(pattern_name="market_home"))]
