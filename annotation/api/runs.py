"""Generation runs and language models."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import run_for, runs_of
from annotation.api.exports import FileEndpoint
from annotation.api.fields import Nothing
from annotation.api.paging import Pages
from annotation.api.parsing import body
from annotation.api.views import Endpoint
from annotation.results.exports import CONTENT_TYPES
from common.problems import invalid
from generation.models import GenerationRun, LanguageModel, Sample
from generation.runs import lifecycle
from generation.runs.export import csv_pieces, json_pieces
from generation.runs.progress import progress, runs_with_counts
from generation.runs.run_files import read_run

PIECES = {"csv": csv_pieces, "jsonl": json_pieces}
SAMPLE_FILES: Any = {(200, CONTENT_TYPES[suffix].partition(";")[0]): OpenApiTypes.STR for suffix in PIECES}


class RunSummaryShape(serializers.Serializer[Any]):
    """A generation run as lists show it."""

    name = serializers.CharField()
    state = serializers.ChoiceField(GenerationRun.State.choices)
    wanted = serializers.IntegerField(source="n_wanted", help_text="Samples there will be.")
    done = serializers.IntegerField(source="n_done", help_text="Samples stored.")
    by = serializers.CharField(source="created_by")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class RunProgressShape(serializers.Serializer[Any]):
    """How far a run is. Rates are of all workers together; null if nothing was made recently."""

    state = serializers.CharField()
    n_wanted = serializers.IntegerField()
    n_done = serializers.IntegerField()
    n_drawn = serializers.IntegerField(help_text="Texts drawn but not stored yet.")
    n_tokens = serializers.IntegerField()
    chunks = serializers.IntegerField()
    chunks_done = serializers.IntegerField()
    chunks_failed = serializers.IntegerField()
    samples_per_second = serializers.FloatField(allow_null=True)
    tokens_per_second = serializers.FloatField(allow_null=True)
    seconds_left = serializers.FloatField(allow_null=True)
    at_work = serializers.IntegerField()
    workers = serializers.IntegerField()
    note = serializers.CharField(help_text="Why nothing happens, or what went wrong. May be empty.")


class RunShape(RunSummaryShape):
    """A generation run with its specification and progress."""

    seed = serializers.IntegerField()
    spec = serializers.DictField(help_text="The run file as it was checked, sweeps expanded.")
    origins = serializers.DictField(help_text="By model: commit or checksum, library versions, device.")
    progress = RunProgressShape()


class SampleShape(serializers.Serializer[Any]):
    """One generated text."""

    id = serializers.IntegerField()
    context = serializers.CharField(source="context.external_id")  # type: ignore[assignment]  # the metaclass takes it off the class
    model = serializers.CharField(source="model.name")
    decoder = serializers.CharField()
    number = serializers.IntegerField()
    seed = serializers.IntegerField()
    text = serializers.CharField()
    n_tokens = serializers.IntegerField()
    log_p = serializers.FloatField(allow_null=True)
    log_q = serializers.FloatField(allow_null=True)
    finish_reason = serializers.CharField()


class ModelShape(serializers.Serializer[Any]):
    """A registered language model."""

    name = serializers.CharField()
    backend = serializers.ChoiceField(LanguageModel.Backend.choices)
    source = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    revision = serializers.CharField()
    retired = serializers.BooleanField()
    check = serializers.ChoiceField(LanguageModel.Check.choices, source="check_state")
    check_message = serializers.CharField(help_text="What the last check found. May be empty.")


class NewestRuns(Pages):
    key = "-pk"


class Runs(Endpoint):
    pagination_class = NewestRuns

    @extend_schema(operation_id="runs_list", responses=RunSummaryShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists your generation runs, newest first. Administrators see all."""
        mine = runs_with_counts().filter(pk__in=runs_of(self.user).values("pk"))
        return self.get_paginated_response(RunSummaryShape(self.paginate_queryset(mine), many=True).data)

    @extend_schema(operation_id="runs_create", request=OpenApiTypes.OBJECT, responses={200: RunShape, 201: RunShape})
    def post(self, request: Request) -> Response:
        """Creates a generation run and starts it. The body is a run file as JSON, with its contexts in it. The same
        content again returns the existing run."""
        described = body(request)
        contexts = described.get("contexts")
        if isinstance(contexts, str | dict):
            fix = 'Send the contexts as a list: [{"id": …, "context": …}, …].'
            raise invalid("contexts", "A run of the API cannot read a file of this server.", fix)
        with tempfile.TemporaryDirectory(prefix="run-") as folder:
            file = read_run(described, folder=Path(folder))
        run, created = lifecycle.create_run(file=file, actor=self.actor)
        if not created:
            run_for(self.user, run.name)
        lifecycle.start_run(run_id=run.pk)
        return Response(_in_full(run), status=201 if created else 200)


def _in_full(run: GenerationRun) -> dict[str, Any]:
    counted: Any = runs_with_counts().get(pk=run.pk)
    counted.progress = asdict(progress(run))
    return dict(RunShape(counted).data)


class OneRun(Endpoint):
    @extend_schema(operation_id="runs_get", responses=RunShape)
    def get(self, request: Request, name: str) -> Response:
        """Gets a generation run with its specification and progress."""
        return Response(_in_full(run_for(self.user, name)))


class CancelRun(Endpoint):
    @extend_schema(operation_id="runs_cancel", request=Nothing, responses=RunShape)
    def post(self, request: Request, name: str) -> Response:
        """Cancels a run. Its stored samples stay."""
        run = run_for(self.user, name)
        return Response(_in_full(lifecycle.cancel_run(run_id=run.pk, actor=self.actor)))


class ResumeRun(Endpoint):
    @extend_schema(operation_id="runs_resume", request=Nothing, responses=RunShape)
    def post(self, request: Request, name: str) -> Response:
        """Continues a failed or cancelled run where it stopped."""
        run = run_for(self.user, name)
        return Response(_in_full(lifecycle.resume_run(run_id=run.pk, actor=self.actor)))


class SamplePages(Pages):
    """In the order in which they were stored."""

    page_size = 500


class Samples(Endpoint):
    pagination_class = SamplePages

    @extend_schema(operation_id="runs_samples", responses=SampleShape(many=True))
    def get(self, request: Request, name: str) -> Response:
        """Lists the samples of a run in the order in which they were stored."""
        samples = Sample.objects.filter(run=run_for(self.user, name)).select_related("context", "model")
        return self.get_paginated_response(SampleShape(self.paginate_queryset(samples), many=True).data)


class SampleFile(FileEndpoint):
    @extend_schema(operation_id="runs_samples_file", responses=SAMPLE_FILES)
    def get(self, request: Request, name: str, suffix: str) -> HttpResponseBase:
        """Streams all samples of a run, as `csv` or `jsonl`."""
        run = run_for(self.user, name)
        if suffix not in PIECES:
            raise Http404(f"There is no format {suffix[:10]}. Choose csv or jsonl.")
        headers = {"Content-Disposition": f'attachment; filename="{run.name}-samples.{suffix}"'}
        return StreamingHttpResponse(PIECES[suffix](run), content_type=CONTENT_TYPES[suffix], headers=headers)


class Models(Endpoint):
    pagination_class = Pages

    @extend_schema(operation_id="models_list", responses=ModelShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists the language models of this server."""
        page = self.paginate_queryset(LanguageModel.objects.all())
        return self.get_paginated_response(ModelShape(page, many=True).data)


urlpatterns = [
    path("models/", Models.as_view(), name="api_models"),
    path("runs/", Runs.as_view(), name="api_runs"),
    path("runs/<slug:name>/", OneRun.as_view(), name="api_run"),
    path("runs/<slug:name>/cancel/", CancelRun.as_view(), name="api_cancel_run"),
    path("runs/<slug:name>/resume/", ResumeRun.as_view(), name="api_resume_run"),
    path("runs/<slug:name>/samples/", Samples.as_view(), name="api_samples"),
    path("runs/<slug:name>/samples.<slug:suffix>", SampleFile.as_view(), name="api_samples_file"),
]
