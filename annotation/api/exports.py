"""A study's data as files: streamed, or made by a job and downloaded when they are ready."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.urls import path, reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.fields import Input
from annotation.api.job_kinds import EXPORT, SIMULATE
from annotation.api.job_views import FILES, JobShape, job_for
from annotation.api.parsing import BadParameter, flag
from annotation.api.roles import EDITS, MANAGES
from annotation.api.views import Endpoint, Role
from annotation.audit import record
from annotation.models import Study
from annotation.results import exports
from common.problems import invalid

STUDY = "studies/<slug:slug>/"
SIMULATED: dict[str, bool | None] = {"yes": None, "no": False, "only": True}
MOST_SIMULATED = 1_000


class ExportFileShape(serializers.Serializer[Any]):
    """One kind of data in one format."""

    kind = serializers.CharField()
    format = serializers.CharField()
    content_type = serializers.CharField()
    address = serializers.CharField(help_text="Where the file is streamed.")


class MakeExport(Input):
    """Which data, in which format."""

    kind = serializers.ChoiceField(exports.KINDS)
    format = serializers.ChoiceField(
        exports.FORMATS, required=False, allow_blank=True, default="", help_text="By default, the first of the kind."
    )
    simulated = serializers.ChoiceField(list(SIMULATED), default="yes", help_text="Data of simulated workers.")
    worker_ids = serializers.BooleanField(default=False, help_text="Add ids on the platform. Owners only.")


class Simulate(Input):
    """How many simulated workers do the study."""

    workers = serializers.IntegerField(min_value=1, max_value=MOST_SIMULATED)
    seed = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, default=1, help_text="The same seed gives the same workers."
    )


class FileEndpoint(Endpoint):
    answers_files = True


class Exports(Endpoint):
    pagination_class = None

    @extend_schema(operation_id="exports_list", responses=ExportFileShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the kinds of data that the study has, with their formats and addresses."""
        study = self.study()
        return Response(
            [
                {
                    "kind": kind,
                    "format": format,
                    "content_type": exports.CONTENT_TYPES[format],
                    "address": reverse("api_export", args=[study.slug, kind, format]),
                }
                for kind in exports.kinds_of(study)
                for format in exports.FORMATS_OF[kind]
            ]
        )

    @extend_schema(operation_id="exports_make", request=MakeExport, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Makes a file of the study's data in the background. The job's link `file` leads to it."""
        sent = MakeExport.of(request)
        study = self.study(MANAGES if sent["worker_ids"] else Role.VIEWER, answers=True)
        format = sent["format"] or exports.FORMATS_OF[sent["kind"]][0]
        chosen = {"kind": sent["kind"], "format": format, "with_worker_ids": sent["worker_ids"]}
        chosen["simulated"] = SIMULATED[sent["simulated"]]
        try:
            exports.pieces(study, **chosen)
        except exports.ExportError as error:
            raise invalid("kind", str(error)) from None
        if sent["worker_ids"]:
            record(study=study, actor=self.actor, action="export worker ids", kind=sent["kind"])
        return job_for(user=self.user, kind=EXPORT, study=study, params=chosen)

    def needed_scope(self, method: str) -> str:
        return "read"  # an export changes nothing


class Export(FileEndpoint):
    more_problems: ClassVar[tuple[int, ...]] = (422,)

    @extend_schema(
        operation_id="exports_file",
        parameters=[
            OpenApiParameter("simulated", str, enum=list(SIMULATED), description="Data of simulated workers."),
            OpenApiParameter("worker_ids", bool, description="Add ids on the platform. Owners only."),
        ],
        responses=FILES,
    )
    def get(self, request: Request, slug: str, kind: str, suffix: str) -> HttpResponseBase:
        """Streams the study's data. Memory use does not grow with the size of the study."""
        with_worker_ids, simulated = flag(request, "worker_ids"), request.query_params.get("simulated", "yes")
        study: Study = self.study(MANAGES if with_worker_ids else Role.VIEWER, answers=True)
        if suffix not in exports.FORMATS_OF.get(kind, ()):
            raise Http404(f"There is no export {kind[:40]}.{suffix[:10]}. See the list of exports.")
        if simulated not in SIMULATED:
            fix = f"Choose one of {', '.join(SIMULATED)}."
            raise BadParameter("simulated", f"“{simulated[:40]}” cannot be used.", fix)
        chosen: dict[str, Any] = {"kind": kind, "format": suffix, "simulated": SIMULATED[simulated]}
        try:
            pieces = exports.pieces(study, with_worker_ids=with_worker_ids, **chosen)
        except exports.ExportError as error:
            raise invalid("kind", str(error)) from None
        if with_worker_ids:
            record(study=study, actor=self.actor, action="export worker ids", kind=kind)
        headers = {"Content-Disposition": f'attachment; filename="{exports.file_name(study, **chosen)}"'}
        return StreamingHttpResponse(pieces, content_type=exports.CONTENT_TYPES[suffix], headers=headers)


class SimulateStudy(Endpoint):
    @extend_schema(operation_id="studies_simulate", request=Simulate, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Lets simulated workers do a live study through its real pages. Their data are marked everywhere."""
        study, sent = self.study(EDITS), Simulate.of(request)
        if study.status != Study.Status.LIVE:
            state = study.get_status_display().lower()
            raise invalid("status", f"The study is {state}; simulated workers need a live study.", "Launch it first.")
        return job_for(user=self.user, kind=SIMULATE, study=study, params=sent)


urlpatterns = [
    path(STUDY + "exports/", Exports.as_view(), name="api_exports"),
    path(STUDY + "exports/<slug:kind>.<slug:suffix>", Export.as_view(), name="api_export"),
    path(STUDY + "simulate/", SimulateStudy.as_view(), name="api_simulate"),
]
