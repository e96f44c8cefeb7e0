"""Addresses of the workers' pages."""

from django.urls import path

from annotation.people.pages.own_record import work_ask_deletion, work_record, work_record_csv, work_record_json
from annotation.recruiting.pages.arrival import arrival
from annotation.recruiting.pages.hand_in import work_done, work_ready
from annotation.work.pages.edits import work_events
from annotation.work.pages.offers import work_offers, work_suggest
from annotation.work.pages.preview import study_preview
from annotation.work.pages.questionnaire import work_questions, work_questions_draft
from annotation.work.pages.start import study_start
from annotation.work.pages.stop import work_stop
from annotation.work.pages.task import work, work_draft, work_return
from annotation.work.pages.training import work_training, work_training_draft

urlpatterns = [
    path("w/<str:token>/", work, name="work"),
    path("p/<str:token>/", arrival, name="platform_arrival"),
    path("s/<slug:slug>/", study_start, name="study_start"),
    path("s/<slug:slug>/preview/", study_preview, name="study_preview"),
    path("w/<str:token>/draft", work_draft, name="work_draft"),
    path("w/<str:token>/events", work_events, name="work_events"),
    path("w/<str:token>/offers", work_offers, name="work_offers"),
    path("w/<str:token>/suggest", work_suggest, name="work_suggest"),
    path("w/<str:token>/questions/", work_questions, name="work_questions"),
    path("w/<str:token>/questions/draft", work_questions_draft, name="work_questions_draft"),
    path("w/<str:token>/training/", work_training, name="work_training"),
    path("w/<str:token>/training/draft", work_training_draft, name="work_training_draft"),
    path("w/<str:token>/return", work_return, name="work_return"),
    path("w/<str:token>/stop", work_stop, name="work_stop"),
    path("w/<str:token>/record", work_record, name="work_record"),
    path("w/<str:token>/record.json", work_record_json, name="work_record_json"),
    path("w/<str:token>/record.csv", work_record_csv, name="work_record_csv"),
    path("w/<str:token>/ask-deletion", work_ask_deletion, name="work_ask_deletion"),
    path("w/<str:token>/ready", work_ready, name="work_ready"),
    path("w/<str:token>/done", work_done, name="work_done"),
]
