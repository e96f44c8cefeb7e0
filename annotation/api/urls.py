"""The addresses of the API, below /api/v1/."""

from django.urls import URLPattern, path

from annotation.api import (
    design,
    items,
    lifecycle,
    managing_urls,
    members,
    previews,
    ratings,
    running_urls,
    schema_views,
    studies,
    task_types,
)

STUDY = "studies/<slug:slug>/"

urlpatterns: list[URLPattern] = [
    path("schema/", schema_views.schema, name="api_schema"),
    path("docs/", schema_views.docs, name="api_docs"),
    path("task-types/", task_types.TaskTypes.as_view(), name="api_task_types"),
    path("task-types/<str:name>/", task_types.OneTaskType.as_view(), name="api_task_type"),
    path("studies/", studies.Studies.as_view(), name="api_studies"),
    path(STUDY, studies.OneStudy.as_view(), name="api_study"),
    path(STUDY + "spec/", studies.SpecOfStudy.as_view(), name="api_spec"),
    path(STUDY + "duplicate/", studies.Duplicate.as_view(), name="api_duplicate"),
    path(STUDY + "progress/", studies.StudyProgress.as_view(), name="api_progress"),
    path(STUDY + "launch-plan/", lifecycle.LaunchPlan.as_view(), name="api_launch_plan"),
    path(STUDY + "launch/", lifecycle.Launch.as_view(), name="api_launch"),
    path(STUDY + "pause/", lifecycle.Pause.as_view(), name="api_pause"),
    path(STUDY + "resume/", lifecycle.Resume.as_view(), name="api_resume"),
    path(STUDY + "close/", lifecycle.Close.as_view(), name="api_close"),
    path(STUDY + "members/", members.Members.as_view(), name="api_members"),
    path(STUDY + "members/<str:user>/", members.OneMember.as_view(), name="api_member"),
    path(STUDY + "arms/", design.Arms.as_view(), name="api_arms"),
    path(STUDY + "arms/<str:name>/", design.OneArm.as_view(), name="api_arm"),
    path(STUDY + "factors/", design.Factors.as_view(), name="api_factors"),
    path(STUDY + "wording/", design.Wording.as_view(), name="api_wording"),
    path(STUDY + "preview/", previews.Preview.as_view(), name="api_preview"),
    path(STUDY + "preview/<int:number>/", previews.PreviewPage.as_view(), name="api_preview_page"),
    path(STUDY + "items/", items.Items.as_view(), name="api_items"),
    path(STUDY + "items/from-run/", items.ItemsFromRun.as_view(), name="api_items_from_run"),
    path(STUDY + "items/from-study/", items.ItemsFromStudy.as_view(), name="api_items_from_study"),
    path(STUDY + "items/feed/", items.Feed.as_view(), name="api_feed"),
    path(STUDY + "items/<path:item>/", items.OneItem.as_view(), name="api_item"),
    path(STUDY + "ratings/", ratings.Ratings.as_view(), name="api_ratings"),
    *managing_urls.urlpatterns,
    *running_urls.urlpatterns,
]
