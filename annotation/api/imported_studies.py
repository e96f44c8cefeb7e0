"""Closed studies from ratings that people gave in another tool."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import path, reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.studies import StudyEndpoint
from annotation.api.study_shapes import StudyShape
from annotation.studies.importing_ratings import import_ratings, read_ratings
from annotation.studies.uploaded_ratings import saved_ratings
from common.problems import invalid


class RatingsRequest(serializers.Serializer[Any]):
    """Ratings that people gave in another tool, as a file that it exported."""

    file = serializers.FileField(
        help_text="Of Label Studio, Argilla or Potato: JSON, JSON lines, CSV, TSV, Parquet, or the folder as a zip."
    )
    slug = serializers.CharField(max_length=60, help_text="The short name of the study, which addresses have.")
    title = serializers.CharField(
        max_length=200, required=False, default="", allow_blank=True, help_text="Empty: made from the name of the file."
    )


class ImportedStudyShape(serializers.Serializer[Any]):
    """A study of imported ratings."""

    study = StudyShape()
    tool = serializers.CharField(help_text="Where the ratings come from.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="What of the file is not in the study.")


class ImportRatings(StudyEndpoint):
    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="studies_import_ratings",
        request={"multipart/form-data": RatingsRequest},
        responses={201: ImportedStudyShape},
    )
    def post(self, request: Request) -> Response:
        """Makes a closed study of ratings from Label Studio, Argilla or Potato. You own it.

        Its report has the figures that `python -m analysis` gives for the file. Nobody is paid for it.
        """
        file = request.FILES.get("file")
        if file is None or not isinstance(request.data, QueryDict):
            raise invalid("file", "The form has no file.", "Send the exported file in a part called “file”.")
        form = RatingsRequest(data=request.data)
        form.is_valid(raise_exception=True)
        sent, name = form.validated_data, file.name or ""
        with saved_ratings(file.chunks(), name) as saved:
            elsewhere = read_ratings(saved, name)
        made = import_ratings(
            elsewhere=elsewhere, file=name, slug=sent["slug"], title=sent["title"], owner=self.user, actor=self.actor
        )
        answer = {"study": self.shape(made.study).data, "tool": elsewhere.tool, "notes": made.notes}
        headers = {"Location": reverse("api_study", args=[made.study.slug])}
        return Response(answer, status=201, headers=headers)


urlpatterns = [path("imported-studies/", ImportRatings.as_view(), name="api_imported_studies")]
