"""Reports of studies and generation runs: numbers, the page, and the paper's part of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.db import transaction
from django.http import FileResponse, HttpResponseBase, HttpResponseNotModified
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.report import NUMBERS, PAGE
from annotation.access import run_for
from annotation.api.exports import FileEndpoint
from annotation.api.job_states import OPEN, PAPER, REPORT, RUN_REPORT, job_now, subject_of
from annotation.api.job_views import JobShape, accepted
from annotation.api.parsing import flag
from annotation.models import ApiJob, Study
from annotation.results import saved_reports
from annotation.results.pages.reports import POLICY, TYPES
from annotation.results.paper_folder import PAPER as PAPER_FILE
from generation.models import GenerationRun

STUDY = "studies/<slug:slug>/"
OLDER = OpenApiParameter("older", bool, description="Accept the report of older data if there is no newer one.")
#: Seconds until a program should ask again for a report that is being made.
AGAIN_SECONDS = 3


class ReportEndpoint(FileEndpoint):
    """Answers with a report of the current data, or with the job that makes it: then the status is 202."""

    def report(self, kind: str, name: str, *, study: Study | None = None, run: GenerationRun | None = None) -> Any:
        older = flag(self.request, "older")
        job = ApiJob(user=self.user, study=study, run=run, kind=kind, asked_at=timezone.now())
        subject, _ = subject_of(job)
        saved = saved_reports.look(subject)
        if saved.fresh and saved.folder is not None:
            return self.file(saved.folder, name, subject.name)
        if saved.folder is not None and older:
            return self.file(saved.folder, name, subject.name)
        now = job_now(self._one_job(job))
        if now.state == ApiJob.State.DONE:
            folder = saved_reports.look(subject).folder
            if folder is not None:
                return self.file(folder, name, subject.name)
        response = accepted(now.job)
        response["Retry-After"] = str(AGAIN_SECONDS)
        return response

    @transaction.atomic
    def _one_job(self, job: ApiJob) -> ApiJob:
        """The user's open job of this kind about the same, so that asking again makes no second one."""
        same = ApiJob.objects.filter(user=job.user, study=job.study, run=job.run, kind=job.kind, state__in=OPEN)
        earlier = same.select_related("study", "run", "platform_job", "bulk").order_by("-pk").first()
        if earlier is None:
            job.save(force_insert=True)
        return earlier or job

    def file(self, folder: Path, name: str, subject: str) -> HttpResponseBase | Response:
        tag = f'"{folder.name}"'
        if self.request.headers.get("If-None-Match") == tag:
            return HttpResponseNotModified()
        if name == NUMBERS:
            return Response(json.loads((folder / name).read_text(encoding="utf-8")), headers={"ETag": tag})
        headers = {"ETag": tag, "Content-Security-Policy": POLICY}
        media_type = DOWNLOAD if name == PAPER_FILE else TYPES[name]
        return FileResponse(
            (folder / name).open("rb"), filename=f"{subject}-{name}", content_type=media_type, headers=headers
        )


JSON_OR_JOB: Any = {200: OpenApiTypes.OBJECT, 202: JobShape}
PAGE_OR_JOB: Any = {(200, "text/html"): OpenApiTypes.STR, 202: JobShape}
#: The type of a downloaded zip file. Generators of clients know this one, and not all know application/zip.
DOWNLOAD = "application/octet-stream"
ZIP_OR_JOB: Any = {(200, DOWNLOAD): OpenApiTypes.BINARY, 202: JobShape}


class Report(ReportEndpoint):
    @extend_schema(operation_id="reports_get", parameters=[OLDER], responses=JSON_OR_JOB)
    def get(self, request: Request, slug: str) -> Any:
        """Gets the report's numbers, as in `report.json`. Until they are ready, the job that computes them."""
        return self.report(REPORT, NUMBERS, study=self.study(answers=True))


class ReportPage(ReportEndpoint):
    @extend_schema(operation_id="reports_page", parameters=[OLDER], responses=PAGE_OR_JOB)
    def get(self, request: Request, slug: str) -> Any:
        """Gets the report as a page with its figures. It is one file without scripts."""
        return self.report(REPORT, PAGE, study=self.study(answers=True))


class Paper(ReportEndpoint):
    @extend_schema(operation_id="reports_paper", parameters=[OLDER], responses=ZIP_OR_JOB)
    def get(self, request: Request, slug: str) -> Any:
        """Downloads what goes into a paper: methods, tables, figures, pictures of pages, data set card."""
        return self.report(PAPER, PAPER_FILE, study=self.study(answers=True))


class RunReport(ReportEndpoint):
    @extend_schema(operation_id="runs_report", parameters=[OLDER], responses=JSON_OR_JOB)
    def get(self, request: Request, name: str) -> Any:
        """Gets the numbers of a run's report. Until they are ready, the job that computes them."""
        return self.report(RUN_REPORT, NUMBERS, run=run_for(self.user, name))


class RunReportPage(ReportEndpoint):
    @extend_schema(operation_id="runs_report_page", parameters=[OLDER], responses=PAGE_OR_JOB)
    def get(self, request: Request, name: str) -> Any:
        """Gets the report of a run as a page with its figures."""
        return self.report(RUN_REPORT, PAGE, run=run_for(self.user, name))


urlpatterns = [
    path(STUDY + "report/", Report.as_view(), name="api_report"),
    path(STUDY + "report.html", ReportPage.as_view(), name="api_report_page"),
    path(STUDY + "paper.zip", Paper.as_view(), name="api_paper"),
    path("runs/<slug:name>/report/", RunReport.as_view(), name="api_run_report"),
    path("runs/<slug:name>/report.html", RunReportPage.as_view(), name="api_run_report_page"),
]
