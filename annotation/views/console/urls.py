"""Addresses of the console, all below /console/; the home page leads there."""

from django.urls import path
from django.views.generic import RedirectView

from annotation.views.console import (
    items,
    language_models,
    members,
    preview,
    runs,
    sessions,
    setup,
    study,
    submissions,
)

STUDY = "console/studies/<slug:slug>/"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="console_studies"), name="home"),
    path("console/", study.studies, name="console_studies"),
    path("console/login/", sessions.Login.as_view(), name="console_login"),
    path("console/logout/", sessions.Logout.as_view(), name="console_logout"),
    path("console/password/", sessions.Password.as_view(), name="console_password"),
    path("console/users/", sessions.users, name="console_users"),
    path("console/new/", setup.choose_type, name="console_new"),
    path("console/new/<str:task_type>/", setup.new_study, name="console_new_settings"),
    path("console/runs/", runs.runs, name="console_runs"),
    path("console/runs/new/", runs.new_run, name="console_new_run"),
    path("console/runs/<slug:name>/", runs.run_page, name="console_run"),
    path("console/runs/<slug:name>/progress/", runs.run_progress, name="console_run_progress"),
    path("console/runs/<slug:name>/cancel/", runs.cancel, name="console_run_cancel"),
    path("console/runs/<slug:name>/resume/", runs.resume, name="console_run_resume"),
    path("console/models/", language_models.models, name="console_models"),
    path("console/models/<slug:name>/check/", language_models.check, name="console_model_check"),
    path("console/models/<slug:name>/retire/", language_models.retire, name="console_model_retire"),
    path("console/wording/<str:task_type>/", setup.wording, name="console_wording"),
    path(STUDY, study.overview, name="console_study"),
    path(STUDY + "progress/", study.progress_fragment, name="console_progress"),
    path(STUDY + "activity/", study.activity, name="console_activity"),
    path(STUDY + "links/", study.personal_links, name="console_links"),
    path(STUDY + "pause/", study.pause, name="console_pause"),
    path(STUDY + "resume/", study.resume, name="console_resume"),
    path(STUDY + "close/", study.close, name="console_close"),
    path(STUDY + "delete/", study.delete, name="console_delete"),
    path(STUDY + "type/", setup.type_of_study, name="console_type"),
    path(STUDY + "settings/", setup.settings_of_study, name="console_settings"),
    path(STUDY + "upload/", items.upload, name="console_upload"),
    path(STUDY + "items/", items.items, name="console_items"),
    path(STUDY + "items/<int:pk>/", items.item, name="console_item"),
    path(STUDY + "preview/", preview.preview, name="console_preview"),
    path(STUDY + "preview/page/", preview.preview_page, name="console_preview_page"),
    path(STUDY + "publish/", setup.publish, name="console_publish"),
    path(STUDY + "submissions/", submissions.submissions, name="console_submissions"),
    path(STUDY + "submissions/<int:pk>/", submissions.submission, name="console_submission"),
    path(STUDY + "submissions/<int:pk>/pages/", preview.submission_page, name="console_submission_page"),
    path(STUDY + "submissions/<int:pk>/review/", submissions.review, name="console_review"),
    path(STUDY + "members/", members.members, name="console_members"),
    path(STUDY + "members/<int:user_id>/remove/", members.remove, name="console_remove_member"),
]
