"""Addresses of the console's pages of the analysis."""

from django.urls import path

from analysis import export_views, views

STUDY = "console/studies/<slug:slug>/"

urlpatterns = [
    path(STUDY + "report/", views.report, name="report"),
    path(STUDY + "report/<str:name>", views.report_file, name="report_file"),
    path(STUDY + "exports/<slug:kind>.<slug:format>", export_views.export_view, name="export"),
]
