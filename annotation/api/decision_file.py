"""Decisions in one file: download the work, upload it with approvals and rejections. For those who pay."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from django.db import transaction
from django.http import HttpResponseBase, QueryDict, StreamingHttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import jobs
from annotation.api.documents import table_of_rows
from annotation.api.job_views import JobShape, accepted
from annotation.api.parsing import Json, body, flag
from annotation.api.roles import PAYS
from annotation.api.studies import DRY_RUN
from annotation.api.views import Endpoint
from annotation.audit import record
from annotation.review.bulk_decisions import confirm_action, plan_rows
from annotation.review.decision_file_export import batch_csv
from annotation.review.decision_files import read_decisions
from annotation.review.tasks import start_bulk_action
from annotation.table_files import ReadingOptions, Table, read_table
from common.problems import invalid

STUDY = "studies/<slug:slug>/"


class DecisionFile(serializers.Serializer[Any]):
    """The downloaded file with marks in `Approve`, reasons in `Reject` and, if wanted, marks in `Exclude`."""

    file = serializers.FileField(help_text="CSV in UTF-8.")


class DecisionRows(serializers.Serializer[Any]):
    """The same as rows."""

    rows = serializers.ListField(
        child=serializers.DictField(),
        help_text="Each with `AssignmentId`, `Approve` and `Reject`, and `Exclude` if wanted.",
    )


class DecidedShape(serializers.Serializer[Any]):
    """What the file would do. Decisions that were made before are not counted."""

    approve = serializers.IntegerField()
    reject = serializers.IntegerField()
    exclude = serializers.IntegerField(help_text="Of the rejected ones, those left out of the analysis.")


class UploadDecisions(Endpoint):
    write_scope: ClassVar[str] = "pay"
    parser_classes = (Json, MultiPartParser)

    @extend_schema(
        operation_id="decisions_upload",
        request={"multipart/form-data": DecisionFile, "application/json": DecisionRows},
        responses={200: DecidedShape, 202: JobShape},
        parameters=[DRY_RUN],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Approves and rejects what a file says. One problem in it stops everything. With `dry_run`, counts only."""
        study = self.study(PAYS, answers=True)
        decisions = read_decisions(study=study, table=self.table(request))
        if flag(request, "dry_run"):
            counts = Counter(row["decision"] for row in decisions)
            excluded = sum(1 for row in decisions if row.get("exclude"))
            values = {"approve": counts["approve"], "reject": counts["reject"], "exclude": excluded}
            return Response(DecidedShape(values).data)
        with transaction.atomic():
            bulk = plan_rows(study=study, rows=decisions, actor=self.actor)
            confirm_action(bulk=bulk, actor=self.actor, start=start_bulk_action)
            return accepted(jobs.follow(user=self.user, study=study, kind="file", bulk=bulk))

    def table(self, request: Request) -> Table:
        """The rows of the request. Raises TableProblems."""
        if isinstance(request.data, QueryDict):
            file = request.FILES.get("file")
            if file is None:
                raise invalid("file", "The form has no file.", "Send the file in a part called “file”.")
            return read_table(file.file, name=file.name or "")
        form = DecisionRows(data=body(request))
        form.is_valid(raise_exception=True)
        return table_of_rows(body(request)["rows"], options=ReadingOptions())


class DownloadDecisions(Endpoint):
    scope: ClassVar[str] = "pay"
    answers_files = True

    @extend_schema(operation_id="decisions_file", responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Downloads the work as CSV, with workers' ids on their platform, to fill in decisions. This is logged."""
        study = self.study(PAYS, answers=True)
        record(study=study, actor=self.actor, action="export worker ids", kind="batch")
        headers = {"Content-Disposition": f'attachment; filename="{study.slug}-batch.csv"'}
        return StreamingHttpResponse(batch_csv(study), content_type="text/csv; charset=utf-8", headers=headers)


urlpatterns = [
    path(STUDY + "decisions/", UploadDecisions.as_view(), name="api_decisions"),
    path(STUDY + "decisions.csv", DownloadDecisions.as_view(), name="api_decision_file"),
]
