"""Ratings: every answer to one question about one target."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, DateTimeField, ModelSerializer, SerializerMethodField

from annotation.api.paging import Pages
from annotation.api.views import Endpoint
from annotation.models import Rating
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.criteria import Criteria, Criterion
from annotation.studies import items_overview
from annotation.task_types.registry import get_type


class RatingShape(ModelSerializer[Rating]):
    """A rating. Its fields mean what the columns of the long export do; three have the names that bundles give them:
    ``question`` is the criterion, ``target`` the part, ``text`` the answer_text."""

    item = CharField(source="item.external_id", default="")
    role = CharField(source="item.role", default="")
    about = SerializerMethodField()
    label = SerializerMethodField()  # type: ignore[assignment]  # the metaclass takes it off the class
    scale_level = SerializerMethodField()
    scale_low = SerializerMethodField()
    scale_high = SerializerMethodField()
    worker = CharField(source="participant.pseudonym")
    synthetic = BooleanField(source="participant.synthetic")
    arm = CharField(source="participant.arm.name")
    included = SerializerMethodField()
    confirmation = SerializerMethodField()
    submitted_at = DateTimeField(source="created_at")

    class Meta:
        model = Rating
        fields = (
            *("submission", "item", "role", "question", "target", "about", "scale", "scale_level"),
            *("scale_low", "scale_high"),
            *(
                "value",
                "label",
                "text",
                "seconds",
                "worker",
                "synthetic",
                "included",
                "confirmation",
                "arm",
                "submitted_at",
            ),
        )

    def get_about(self, rating: Any) -> str:
        return "" if rating.item_id is None else str(self.context["about"])

    def get_label(self, rating: Any) -> str:
        return "" if rating.value is None else self._criterion(rating).words.get(rating.value, "")

    def get_scale_level(self, rating: Any) -> str:
        return self._criterion(rating).level

    def get_scale_low(self, rating: Any) -> float | None:
        return self._criterion(rating).low

    def get_scale_high(self, rating: Any) -> float | None:
        return self._criterion(rating).high

    def _criterion(self, rating: Any) -> Criterion:
        criteria: Criteria = self.context["criteria"]
        return criteria.of(rating.participant.arm.name, rating.question)

    def get_included(self, rating: Any) -> bool:
        return self._marks.included(rating.submission_id)

    def get_confirmation(self, rating: Any) -> str:
        return str(self._marks.confirmation(rating.submission_id))

    @property
    def _marks(self) -> Marks:
        marks: Marks = self.context["marks"]
        return marks


class RatingPages(Pages):
    """In the order of primary keys: pages do not change while ratings arrive, and the last is as fast as the first."""

    page_size = 1000


class Ratings(Endpoint):
    pagination_class = RatingPages

    @extend_schema(operation_id="ratings_list", responses=RatingShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists all ratings in the order in which they were given. Also those that the analysis leaves out."""
        study = self.study(answers=True)
        page = self.paginate_queryset(items_overview.ratings_of_study(study))
        about_what = "own" if get_type(study.task_type).own_work else "item"
        context = {"about": about_what, "marks": Marks(study), "criteria": Criteria(study, list(study.arms.all()))}
        return self.get_paginated_response(RatingShape(page, many=True, context=context).data)
