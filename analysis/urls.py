"""Addresses of the console's pages of the analysis."""

from django.urls import path

from analysis import export_views, views

STUDY = "console/studies/<slug:slug>/"
RUN = "console/runs/<slug:run_name>/"

urlpatterns = [
    path(STUDY + "report/", views.report, name="report"),
    path(STUDY + "report/<str:name>", views.report_file, name="report_file"),
    path("console/runs/<slug:name>/report/", views.run_report, name="run_report"),
    path(RUN + "report/<str:name>", views.run_report_file, name="run_report_file"),
    path("console/runs/<slug:name>/samples/<slug:format>.csv", export_views.run_samples, name="run_samples"),
    path(STUDY + "exports/<slug:kind>.<slug:format>", export_views.export_view, name="export"),
]
