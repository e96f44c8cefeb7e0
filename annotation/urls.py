"""Addresses of media, the console, the API, and notices of platforms.

Those of the workers' pages are in `annotation.worker_urls`.
"""

from django.urls import include, path

from annotation.recruiting.pages import notices

urlpatterns = [
    path("", include("annotation.studies.pages.image_files")),
    path("", include("annotation.console.urls")),
    path("api/v1/", include("annotation.api.urls")),
    path("notices/<slug:platform>/", notices.notice, name="platform_notice"),
]
