"""Jobs: what a program asked for that takes longer than a request, and how far it is."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import FileResponse, Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import study_for
from annotation.api import jobs
from annotation.api.fields import Nothing
from annotation.api.job_files import file_of
from annotation.api.job_states import JobNow, job_now
from annotation.api.paging import Pages
from annotation.api.roles import MANAGES
from annotation.api.views import BLIND, Endpoint, Role
from annotation.models import ApiJob
from annotation.results.exports import CONTENT_TYPES
from annotation.work.member_work import works_blind

State = ApiJob.State


class JobProgressShape(serializers.Serializer[Any]):
    """How far a job is. ``total`` is 0 while it is not known."""

    done = serializers.IntegerField()
    total = serializers.IntegerField()
    unit = serializers.CharField(help_text="What is counted, such as `submissions` or `bytes`.")


class JobShape(serializers.Serializer[Any]):
    """Work that takes longer than a request."""

    id = serializers.IntegerField()
    kind = serializers.CharField(help_text="What is done, such as `publish`, `report` or `export`.")
    study = serializers.CharField(allow_null=True, help_text="The short name of its study.")
    run = serializers.CharField(allow_null=True, help_text="The name of its generation run.")
    state = serializers.ChoiceField(State.choices)
    progress = JobProgressShape()
    message = serializers.CharField(help_text="The result in words, or what went wrong. May be empty.")
    fix = serializers.CharField(help_text="What to do about it. May be empty.")
    result = serializers.DictField(help_text="What the job found or made. Depends on its kind.")
    links = serializers.DictField(
        child=serializers.CharField(), help_text="Addresses: `self`, and where the result is, such as `file`."
    )
    asked_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


def address_of(job: ApiJob) -> str:
    return reverse("api_job", args=[job.pk])


def job_data(now: JobNow) -> dict[str, Any]:
    """What the API answers about a job."""
    job = now.job
    return dict(
        JobShape(
            {
                "id": job.pk,
                "kind": job.kind,
                "study": job.study.slug if job.study else None,
                "run": job.run.name if job.run else None,
                "state": now.state,
                "progress": {"done": now.done, "total": now.total, "unit": now.unit},
                "message": now.message,
                "fix": now.fix,
                "result": now.result,
                "links": {"self": address_of(job), **now.links},
                "asked_at": job.asked_at,
                "ended_at": now.ended_at,
            }
        ).data
    )


def accepted(job: ApiJob) -> Response:
    """The answer to a request that has become a job."""
    return Response(job_data(job_now(job)), status=202, headers={"Location": address_of(job)})


class NewestJobs(Pages):
    key = "-pk"


class JobEndpoint(Endpoint):
    """About jobs of the user. Those of others do not exist for them."""

    def job(self) -> ApiJob:
        job: ApiJob = get_object_or_404(_jobs_of(self.user.pk), pk=self.kwargs["id"])
        return job


def _jobs_of(user_id: int) -> Any:
    rows = ApiJob.objects.filter(user=user_id)
    return rows.select_related("user", "study", "run", "platform_job", "bulk")


class Jobs(JobEndpoint):
    pagination_class = NewestJobs

    @extend_schema(operation_id="jobs_list", responses=JobShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists your jobs, newest first."""
        page = self.paginate_queryset(_jobs_of(self.user.pk)) or []
        return self.get_paginated_response([job_data(job_now(job)) for job in page])


class OneJob(JobEndpoint):
    @extend_schema(operation_id="jobs_get", responses=JobShape)
    def get(self, request: Request, id: int) -> Response:
        """Gets a job. Ask again every few seconds until its state is `done`, `failed` or `cancelled`."""
        return Response(job_data(job_now(self.job())))


class CancelJob(JobEndpoint):
    @extend_schema(operation_id="jobs_cancel", request=Nothing, responses=JobShape)
    def post(self, request: Request, id: int) -> Response:
        """Cancels a job that this server does itself: an export, a check, simulated workers, a message. What it has
        already done stays."""
        jobs.cancel_job(job=self.job())
        return Response(job_data(job_now(self.job())))


#: An export in any of its formats, as the schema describes it.
FILES: Any = {(200, media_type.partition(";")[0]): OpenApiTypes.BINARY for media_type in CONTENT_TYPES.values()}


class JobFile(JobEndpoint):
    answers_files = True

    @extend_schema(operation_id="jobs_file", responses=FILES)
    def get(self, request: Request, id: int) -> HttpResponseBase:
        """Downloads the file that a job made."""
        job = self.job()
        if job.study is None:
            raise Http404("This job has no file.")
        study = study_for(self.user, job.study.slug, MANAGES if job.params.get("with_worker_ids") else Role.VIEWER)
        if works_blind(study, self.user):
            raise PermissionDenied(BLIND)
        file = file_of(job)
        if file is None:
            raise Http404("This job has no file, or it was deleted. Ask for the job again.")
        return FileResponse(
            file.open("rb"), as_attachment=True, filename=file.name, content_type=job.result["content_type"]
        )


@transaction.atomic
def job_for(*args: Any, **kwargs: Any) -> Response:
    """Start a job of this server's own, and answer with it."""
    return accepted(jobs.start_job(*args, **kwargs))


urlpatterns = [
    path("jobs/", Jobs.as_view(), name="api_jobs"),
    path("jobs/<int:id>/", OneJob.as_view(), name="api_job"),
    path("jobs/<int:id>/cancel/", CancelJob.as_view(), name="api_cancel_job"),
    path("jobs/<int:id>/file/", JobFile.as_view(), name="api_job_file"),
]
