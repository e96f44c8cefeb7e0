"""Workers of a study: figures, exclusion, messages. They appear under their pseudonym."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.decisions import Exclusion, Note
from annotation.api.fields import Input, Money
from annotation.api.job_kinds import MESSAGE
from annotation.api.job_views import JobShape, job_for
from annotation.api.paging import Pages
from annotation.api.parsing import flag
from annotation.api.platforms import connected
from annotation.api.roles import EDITS, MANAGES, SEES_PAYMENTS, can
from annotation.api.views import Endpoint
from annotation.models import Participant, Study
from annotation.people.worker_figures import NEWEST_OF_OTHERS, agreement_with_others, exclusion_effect, worker_figures
from annotation.platforms import platform_class
from annotation.recruiting.messages import readers
from annotation.recruiting.offered_work import posted_on
from annotation.review.payments_due import rows_of
from annotation.work.excluding import exclude_worker, include_worker
from common.problems import invalid

STUDY = "studies/<slug:slug>/"


class WorkerSummaryShape(serializers.Serializer[Any]):
    """A worker of the study as lists show them."""

    worker = serializers.CharField(source="pseudonym", help_text="Their pseudonym in this study.")
    arm = serializers.CharField(source="arm.name")
    synthetic = serializers.BooleanField(help_text="Whether this is a simulated worker.")
    excluded_at = serializers.DateTimeField(allow_null=True)
    submissions = serializers.IntegerField(source="n_submissions")
    last_submission_at = serializers.DateTimeField(allow_null=True, source="last_at")


class WorkerFiguresShape(serializers.Serializer[Any]):
    """Counts and times of one worker."""

    submissions = serializers.IntegerField()
    excluded = serializers.IntegerField()
    flagged = serializers.IntegerField()
    in_progress = serializers.IntegerField()
    returned = serializers.IntegerField()
    timed_out = serializers.IntegerField()
    stopped = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True)
    fastest_seconds = serializers.FloatField(allow_null=True)
    median_of_others = serializers.FloatField(
        allow_null=True, help_text=f"Over up to {NEWEST_OF_OTHERS:,} of the newest submissions of others."
    )


class AgreementShape(serializers.Serializer[Any]):
    """How the worker's ratings on a topic compare with those of others. What is undefined is null."""

    title = serializers.CharField()
    numeric = serializers.BooleanField()
    ratings = serializers.IntegerField()
    compared = serializers.IntegerField(help_text="How many of these ratings others gave, too.")
    agreement = serializers.FloatField(allow_null=True, help_text="Pearson's r, or the share of equal answers.")
    bias = serializers.FloatField(allow_null=True, help_text="Mean of rating − mean of the others.")
    top_share = serializers.FloatField()


class ExclusionEffectShape(serializers.Serializer[Any]):
    """What excluding the worker would change."""

    submissions = serializers.IntegerField()
    ratings = serializers.IntegerField()
    items = serializers.IntegerField()
    places = serializers.IntegerField()
    in_progress = serializers.BooleanField()
    hits_due = serializers.IntegerField()
    due = Money()


class WorkerPayShape(serializers.Serializer[Any]):
    """What the study owes the worker and what they were paid."""

    state = serializers.CharField()
    hits_done = serializers.IntegerField()
    hits_due = serializers.IntegerField()
    due = Money()
    hits_paid = serializers.IntegerField()
    paid = Money()


class WorkerShape(WorkerSummaryShape):
    """A worker of the study with their figures."""

    figures = WorkerFiguresShape()
    agreement = AgreementShape(many=True)
    if_excluded = ExclusionEffectShape()
    pay = WorkerPayShape(allow_null=True, help_text="Null for simulated workers, and to viewers.")


class ExcludedShape(serializers.Serializer[Any]):
    """What an exclusion of a worker, or its end, has changed."""

    worker = serializers.CharField()
    submissions = serializers.IntegerField(help_text="How many submissions were changed.")


class Message(Input):
    """A message to one worker, or to all."""

    subject = serializers.CharField()
    text = serializers.CharField()


def workers_of(study: Study) -> QuerySet[Participant]:
    """The study's participants with their number of submissions."""
    counts = {"n_submissions": Count("submissions"), "last_at": Max("submissions__received_at")}
    rows = Participant.objects.filter(study=study).select_related("arm", "study", "worker").annotate(**counts)
    return rows.defer("arm__shown_config", "arm__shown_texts")


class Workers(Endpoint):
    pagination_class = Pages

    @extend_schema(
        operation_id="workers_list",
        parameters=[OpenApiParameter("excluded", bool, description="Only those who are excluded.")],
        responses=WorkerSummaryShape(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the workers of a study, in the order in which they began."""
        rows = workers_of(self.study(answers=True))
        if flag(request, "excluded"):
            rows = rows.exclude(excluded_at=None)
        return self.get_paginated_response(WorkerSummaryShape(self.paginate_queryset(rows), many=True).data)


class WorkerEndpoint(Endpoint):
    def worker(self, study: Study) -> Participant:
        return get_object_or_404(workers_of(study), pseudonym=self.kwargs["pseudonym"])


class OneWorker(WorkerEndpoint):
    @extend_schema(operation_id="workers_get", responses=WorkerShape)
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Gets a worker with figures, agreement with others, and what excluding them would change."""
        study = self.study(answers=True)
        worker = self.worker(study)
        sees_pay = can(self.user, study, SEES_PAYMENTS)
        owed = rows_of(study, [worker]) if sees_pay else []
        figures = {
            "figures": asdict(worker_figures(worker)),
            "agreement": [asdict(agreement) for agreement in agreement_with_others(study, worker)],
            "if_excluded": asdict(exclusion_effect(worker)),
            "pay": owed[0] if owed else None,
        }
        for name, value in figures.items():
            setattr(worker, name, value)
        return Response(WorkerShape(worker).data)


class ExcludeWorker(WorkerEndpoint):
    @extend_schema(operation_id="workers_exclude", request=Exclusion, responses=ExcludedShape)
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Excludes everything that a worker sent, and gives them no more hits. Nothing is deleted."""
        worker, terms = self.worker(self.study(EDITS)), Exclusion.of(request)
        count = exclude_worker(participant=worker, user=self.user, **terms)
        return Response({"worker": pseudonym, "submissions": count})


class IncludeWorker(WorkerEndpoint):
    @extend_schema(operation_id="workers_include", request=Note, responses=ExcludedShape)
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Undoes the exclusion of a worker. What was excluded before stays excluded."""
        worker = self.worker(self.study(EDITS))
        count = include_worker(participant=worker, user=self.user, **Note.of(request))
        return Response({"worker": pseudonym, "submissions": count})


class MessageWorkers(Endpoint):
    @extend_schema(operation_id="workers_message_all", request=Message, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Writes to everybody who began work of the study on its platform. Nobody gets the message twice."""
        return self.write("")

    def write(self, pseudonym: str) -> Response:
        study = self.study(MANAGES)
        message = Message.of(self.request)
        if pseudonym:
            get_object_or_404(Participant, study=study, pseudonym=pseudonym)
        name = posted_on(study)
        if not name or not platform_class(name).writes:
            raise invalid("status", "This study is on no platform that passes on messages.", "Write to them yourself.")
        if not readers(study, pseudonym).exists():
            raise invalid("worker", "Nobody has begun work of this study on the platform.", "Wait until somebody has.")
        connected(name, study)  # without a key, the program sees that at once
        return job_for(user=self.user, kind=MESSAGE, study=study, params={**message, "worker": pseudonym})


class MessageWorker(MessageWorkers):
    @extend_schema(operation_id="workers_message", request=Message, responses={202: JobShape})
    def post(self, request: Request, slug: str, pseudonym: str = "") -> Response:
        """Writes to one worker through the platform that they came from."""
        return self.write(pseudonym)


ONE = STUDY + "workers/<str:pseudonym>/"

urlpatterns = [
    path(STUDY + "workers/", Workers.as_view(), name="api_workers"),
    path(STUDY + "message/", MessageWorkers.as_view(), name="api_message_workers"),
    path(ONE, OneWorker.as_view(), name="api_worker"),
    path(ONE + "exclude/", ExcludeWorker.as_view(), name="api_exclude_worker"),
    path(ONE + "include/", IncludeWorker.as_view(), name="api_include_worker"),
    path(ONE + "message/", MessageWorker.as_view(), name="api_message_worker"),
]
