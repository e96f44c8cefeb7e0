"""The console's figures for programs: JSON, read only, by the session of a signed-in member.

``docs/api.md`` describes every address. There are no tokens to hand out or to lose: whoever may see a study in the
console sees it here, everybody else is told that there is no such study.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.urls import path
from django.views.decorators.cache import never_cache
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.generics import GenericAPIView
from rest_framework.pagination import BasePagination, CursorPagination, PageNumberPagination
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import (
    BooleanField,
    CharField,
    DateTimeField,
    IntegerField,
    ModelSerializer,
    SerializerMethodField,
)

from annotation.access import study_for
from annotation.forms import StudyForm
from annotation.models import Item, Rating, Review, Study
from annotation.queries import overview
from annotation.queries.progress import progress
from annotation.task_types.registry import get_type

SIGN_IN = "Sign in to the console first: this address is for members of studies, by their session."


class Pages(PageNumberPagination):
    page_size = 100


class RatingPages(CursorPagination):
    """By primary key, so that a page stays what it was while more comes in, and the last is as fast as the first."""

    page_size = 1000
    ordering = "pk"


class StudySerializer(ModelSerializer[Study]):
    """A study as lists show it. The counts are those of ``overview.studies_of``."""

    items = IntegerField(source="n_items")
    wanted = IntegerField(source="n_wanted")
    submitted = IntegerField(source="n_submitted")
    submitted_synthetic = IntegerField(source="n_simulated")

    class Meta:
        model = Study
        fields: tuple[str, ...] = (
            *("slug", "title", "task_type", "status", "created_at", "live_at", "closed_at"),
            *("items", "wanted", "submitted", "submitted_synthetic"),
        )


class StudyInFull(StudySerializer):
    """Everything that a study file says, too."""

    class Meta(StudySerializer.Meta):
        fields = tuple(dict.fromkeys([*StudySerializer.Meta.fields, *StudyForm.Meta.fields, "config", "texts"]))


class RatingSerializer(ModelSerializer[Rating]):
    """Names as in the long export."""

    item = CharField(source="item.external_id")
    worker = CharField(source="participant.pseudonym")
    synthetic = BooleanField(source="participant.synthetic")
    included = SerializerMethodField()
    submitted_at = DateTimeField(source="created_at")

    class Meta:
        model = Rating
        fields = (
            *("submission", "item", "question", "target", "scale", "value", "text", "seconds"),
            *("worker", "synthetic", "included", "submitted_at"),
        )

    def get_included(self, rating: Any) -> bool:
        return bool(rating.newest != Review.Decision.EXCLUDE)


class MembersView(GenericAPIView[Any]):
    """For signed-in users, as JSON, never kept by a cache; no method but reading."""

    http_method_names = ["get", "head", "options"]
    authentication_classes = (SessionAuthentication,)
    permission_classes = (IsAuthenticated,)
    renderer_classes = (JSONRenderer,)
    pagination_class: type[BasePagination] | None = Pages

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return never_cache(super().as_view(**initkwargs))

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        raise NotAuthenticated(SIGN_IN)

    @property
    def user(self) -> User:
        user = self.request.user
        assert isinstance(user, User)  # noqa: S101 - nobody else gets past the permission
        return user

    def study(self) -> Study:
        return study_for(self.user, self.kwargs["slug"])


class Studies(MembersView):
    """The studies that the user sees, those with the latest activity first."""

    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(overview.studies_of(self.user))
        return self.get_paginated_response(StudySerializer(page, many=True).data)


class OneStudy(MembersView):
    def get(self, request: Request, slug: str) -> Response:
        study = self.study()
        return Response(StudyInFull(overview.studies_of(self.user).get(pk=study.pk)).data)


class StudyProgress(MembersView):
    def get(self, request: Request, slug: str) -> Response:
        return Response(progress(self.study()).as_json())


class Items(MembersView):
    """Items in the order of the file, with their scores so far."""

    def get(self, request: Request, slug: str) -> Response:
        study = self.study()
        task = get_type(study.task_type)
        page: list[Item] = self.paginate_queryset(overview.find_items(study, "")) or []
        rows = overview.with_scores(page, task.scores(), [task.export_columns(item.payload) for item in page])
        return self.get_paginated_response([_item(row) for row in rows])


def _item(row: overview.ItemRow) -> dict[str, Any]:
    return {
        "item": row.item.external_id,
        "columns": row.cells,
        "submissions": row.n_workers,
        "synthetic": row.n_simulated,
        "scores": [asdict(score) for score in row.scores],
    }


class Ratings(MembersView):
    """All ratings in the order in which they were given, those of excluded submissions too."""

    pagination_class = RatingPages

    def get(self, request: Request, slug: str) -> Response:
        page = self.paginate_queryset(overview.ratings_of_study(self.study()))
        return self.get_paginated_response(RatingSerializer(page, many=True).data)


STUDY = "studies/<slug:slug>/"

urlpatterns = [
    path("studies/", Studies.as_view(), name="api_studies"),
    path(STUDY, OneStudy.as_view(), name="api_study"),
    path(STUDY + "progress/", StudyProgress.as_view(), name="api_progress"),
    path(STUDY + "items/", Items.as_view(), name="api_items"),
    path(STUDY + "ratings/", Ratings.as_view(), name="api_ratings"),
]
