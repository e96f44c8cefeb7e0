"""Studies: the list, one study, its document, and copies of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import yaml
from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.documents import StudyChanges, StudyDocument, document_in
from annotation.api.paging import Pages
from annotation.api.parsing import BadParameter, body, flag
from annotation.api.study_shapes import AppliedShape, ProgressShape, StudyShape, StudySummary
from annotation.api.views import Endpoint, Role
from annotation.audit import jsonable
from annotation.models import Study
from annotation.review.study_progress import study_progress
from annotation.studies.applying import Applied, match_study, patch_study
from annotation.studies.duplicating import duplicate_study
from annotation.studies.storing import delete_draft
from annotation.studies.studies_list import listed_studies
from annotation.studies.study_documents import document_of
from annotation.studies.study_files import read_document

DRY_RUN = OpenApiParameter("dry_run", bool, description="Check everything and report it, but write nothing.")


class StudyPages(Pages):
    """Newest first: a study keeps its place in the list while others change."""

    key = "-pk"
    counted = True


class StudyEndpoint(Endpoint):
    """An address that answers with a study."""

    def shape(self, study: Study) -> StudyShape:
        """The study with its counts."""
        return StudyShape(listed_studies(self.user).get(pk=study.pk))

    def applied(self, applied: Applied, *, dry_run: bool) -> Response:
        """What a write did."""
        study = applied.study
        answer = {
            "study": listed_studies(self.user).get(pk=study.pk) if study else None,
            "created": applied.created,
            "dry_run": dry_run,
            "differences": [jsonable(asdict(difference)) for difference in applied.differences],
            "warnings": applied.warnings,
            "suggestion": applied.suggestion,
        }
        is_new = applied.created and study is not None and not dry_run
        headers = {"Location": reverse("api_study", args=[study.slug])} if is_new and study else {}
        return Response(AppliedShape(answer).data, 201 if is_new else 200, headers=headers)


class Studies(StudyEndpoint):
    pagination_class = StudyPages

    @extend_schema(operation_id="studies_list", responses=StudySummary(many=True))
    def get(self, request: Request) -> Response:
        """Lists the studies that you are a member of, newest first. Administrators see all studies."""
        page = self.paginate_queryset(listed_studies(self.user))
        return self.get_paginated_response(StudySummary(page, many=True).data)

    @extend_schema(
        operation_id="studies_create",
        request=StudyDocument,
        responses={200: OpenApiResponse(AppliedShape, "With dry_run: what it would be."), 201: AppliedShape},
        parameters=[DRY_RUN],
    )
    def post(self, request: Request) -> Response:
        """Creates a draft from the keys of a study file. You become its owner.

        `items` may have the rows themselves, or say where they come from. With `dry_run`, the study is checked and
        every problem reported, but nothing is stored.
        """
        dry_run = flag(request, "dry_run")
        file = read_document(document_in(request))
        return self.applied(match_study(None, file, user=self.user, owner=self.user, dry_run=dry_run), dry_run=dry_run)


class OneStudy(StudyEndpoint):
    @extend_schema(operation_id="studies_get", responses=StudyShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets a study with all its settings."""
        return Response(self.shape(self.study()).data)

    @extend_schema(operation_id="studies_replace", request=StudyDocument, responses=AppliedShape, parameters=[DRY_RUN])
    def put(self, request: Request, slug: str) -> Response:
        """Makes the study match the document: completely or not at all. What the document leaves out has its default.

        Items stay if it has no `items`. The answer lists every key that differs.
        """
        dry_run, study = flag(request, "dry_run"), self.study(Role.EDITOR)
        file = read_document(document_in(request))
        return self.applied(match_study(study, file, user=self.user, dry_run=dry_run), dry_run=dry_run)

    @extend_schema(operation_id="studies_update", request=StudyChanges, responses=AppliedShape, parameters=[DRY_RUN])
    def patch(self, request: Request, slug: str) -> Response:
        """Changes the keys that the document names. All others stay.

        Of `config`, `texts`, `quality_control`, `exclude` and `platforms`, entries that are not named stay, too.
        `arms`, `factors` and `exclude_studies` are replaced as a whole. The answer lists every key that differs.
        """
        dry_run, study = flag(request, "dry_run"), self.study(Role.EDITOR)
        applied = patch_study(study=study, document=document_in(request), user=self.user, dry_run=dry_run)
        return self.applied(applied, dry_run=dry_run)

    @extend_schema(operation_id="studies_delete", responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Deletes a draft with everything in it. Only its owner can do that, and only before the launch."""
        delete_draft(study=self.study(Role.OWNER), actor=self.actor)
        return Response(status=204)


class StudyProgress(Endpoint):
    @extend_schema(operation_id="studies_progress", responses=ProgressShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets the figures of the study page."""
        return Response(ProgressShape(study_progress(self.study()).figures).data)


class SpecOfStudy(Endpoint):
    answers_files = True

    @extend_schema(
        operation_id="studies_spec",
        responses={(200, "application/json"): StudyDocument, (200, "application/yaml"): StudyDocument},
        parameters=[OpenApiParameter("format", str, enum=["json", "yaml"], description="JSON by default.")],
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Gets the study as a study file, without its items: to keep it, or to send it again with changes."""
        document = document_of(self.study())
        wanted = request.query_params.get("format", "json")
        if wanted not in ("json", "yaml"):
            raise BadParameter("format", f"There is no format “{wanted[:40]}”.", "Write format=json or format=yaml.")
        if wanted == "json":
            return Response(document)
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
        return HttpResponse(text, content_type="application/yaml; charset=utf-8")


class DuplicateRequest(serializers.Serializer[Any]):
    """The draft to make."""

    slug = serializers.CharField(max_length=60, help_text="Its short name in addresses.")
    title = serializers.CharField(max_length=200, required=False, help_text="By default, the same title.")
    items = serializers.BooleanField(default=True, help_text="Whether to copy the items.")


class Duplicate(StudyEndpoint):
    @extend_schema(operation_id="studies_duplicate", request=DuplicateRequest, responses={201: StudyShape})
    def post(self, request: Request, slug: str) -> Response:
        """Makes a draft like this study, with its settings, arms and items. You become its owner."""
        study = self.study()
        form = DuplicateRequest(data=body(request))
        form.is_valid(raise_exception=True)
        wanted = form.validated_data
        draft = duplicate_study(
            study=study,
            slug=wanted["slug"],
            title=wanted.get("title", study.title),
            with_items=wanted["items"],
            actor=self.actor,
            owner=self.user,
        )
        return Response(self.shape(draft).data, 201, headers={"Location": reverse("api_study", args=[draft.slug])})
