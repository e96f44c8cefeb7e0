"""The addresses of the API, below /api/v1/."""

from django.urls import URLPattern, path

from annotation.api import items, ratings, running_urls, schema_views, studies

STUDY = "studies/<slug:slug>/"

urlpatterns: list[URLPattern] = [
    path("schema/", schema_views.schema, name="api_schema"),
    path("docs/", schema_views.docs, name="api_docs"),
    path("studies/", studies.Studies.as_view(), name="api_studies"),
    path(STUDY, studies.OneStudy.as_view(), name="api_study"),
    path(STUDY + "progress/", studies.StudyProgress.as_view(), name="api_progress"),
    path(STUDY + "items/", items.Items.as_view(), name="api_items"),
    path(STUDY + "ratings/", ratings.Ratings.as_view(), name="api_ratings"),
    *running_urls.urlpatterns,
]
