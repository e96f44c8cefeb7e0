"""Addresses of media, the console, the API, and notices of platforms.

Those of the workers' pages are in `annotation.views.work`.
"""

from django.urls import include, path

from annotation.views import notices

urlpatterns = [
    path("", include("annotation.views.media")),
    path("", include("annotation.views.console.urls")),
    path("api/v1/", include("annotation.api")),
    path("notices/<slug:platform>/", notices.notice, name="platform_notice"),
]
