"""The log of edits: what workers typed and deleted, in the order in which it arrived."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.paging import Pages
from annotation.api.parsing import number
from annotation.api.views import Endpoint
from annotation.models import EventBatch

STUDY = "studies/<slug:slug>/"


class EditBatchShape(serializers.Serializer[Any]):
    """Edits that a worker's page sent together."""

    id = serializers.IntegerField()
    submission = serializers.IntegerField(
        allow_null=True, source="submission_id", help_text="Null while the hit is in progress."
    )
    worker = serializers.CharField(source="assignment.participant.pseudonym")
    page = serializers.SerializerMethodField()
    view = serializers.CharField(help_text="One loading of the page.")
    number = serializers.IntegerField(help_text="Counts the batches of a view from 0.")
    edits = serializers.ListField(
        child=serializers.ListField(),
        help_text="Each is `[field, at, position, deleted, inserted, how]`; `at` is in milliseconds.",
    )
    received_at = serializers.DateTimeField()

    def get_page(self, batch: EventBatch) -> int:
        """The page of the hit, from 1."""
        return batch.step + 1


class EditPages(Pages):
    """In the order in which they were stored."""

    page_size = 200


class Edits(Endpoint):
    pagination_class = EditPages

    @extend_schema(
        operation_id="edits_list",
        parameters=[OpenApiParameter("submission", int, description="Only those of this submission.")],
        responses=EditBatchShape(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists what workers typed, in the order in which it arrived. Only for types that record edits."""
        study = self.study(answers=True)
        rows = EventBatch.objects.filter(assignment__hit__study=study)
        if (submission := number(request, "submission", least=1, most=2**63 - 1)) is not None:
            rows = rows.filter(assignment__submission=submission)
        page: list[Any] = (
            self.paginate_queryset(rows.select_related("assignment__participant", "assignment__submission")) or []
        )
        for batch in page:
            sent = getattr(batch.assignment, "submission", None)
            batch.submission_id = sent.pk if sent is not None else None
        return self.get_paginated_response(EditBatchShape(page, many=True).data)


urlpatterns = [path(STUDY + "edits/", Edits.as_view(), name="api_edits")]
