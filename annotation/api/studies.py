"""Studies: the list, one study, its progress."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.paging import Pages
from annotation.api.study_shapes import ProgressShape, StudyShape, StudySummary
from annotation.api.views import Endpoint
from annotation.review.progress import progress
from annotation.studies.studies_list import listed_studies


class StudyPages(Pages):
    """Newest first: a study keeps its place in the list while others change."""

    key = "-pk"
    counted = True


class Studies(Endpoint):
    pagination_class = StudyPages

    @extend_schema(operation_id="studies_list", responses=StudySummary(many=True))
    def get(self, request: Request) -> Response:
        """Lists the studies that you are a member of, newest first. Administrators see all studies."""
        page = self.paginate_queryset(listed_studies(self.user))
        return self.get_paginated_response(StudySummary(page, many=True).data)


class OneStudy(Endpoint):
    @extend_schema(operation_id="studies_get", responses=StudyShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets a study with all its settings."""
        study = self.study()
        return Response(StudyShape(listed_studies(self.user).get(pk=study.pk)).data)


class StudyProgress(Endpoint):
    @extend_schema(operation_id="studies_progress", responses=ProgressShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets the figures of the study page."""
        return Response(ProgressShape(progress(self.study())).data)
