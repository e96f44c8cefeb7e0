"""The console's figures for programs: read-only JSON, for an API token or the session of a signed-in researcher.

``docs/api.md`` describes every address. A researcher sees the same studies as in the console; any other study is not
found.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.urls import path
from django.views.decorators.cache import never_cache
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.generics import GenericAPIView
from rest_framework.pagination import BasePagination, CursorPagination, PageNumberPagination
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
    SlugRelatedField,
)

from accounts.authentication import IsResearcher, TokenAuthentication
from annotation.access import study_for
from annotation.models import Arm, Item, Rating, Study
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.criteria import Criteria, Criterion
from annotation.review.progress import progress
from annotation.studies import items_overview
from annotation.studies.spec import stored_factors
from annotation.studies.studies_list import listed_studies
from annotation.study_forms import StudyForm
from annotation.task_types.registry import get_type
from annotation.work.member_work import works_blind

SIGN_IN = (
    "Send an API token (Authorization: Bearer …), or sign in to the console first. Tokens are on the page Your account."
)
NOT_RESEARCHER = "This account is not a researcher's, so it cannot use the API. Ask an administrator for access."
BLIND = "You see what others answered when you have coded all your items."


class Pages(PageNumberPagination):
    page_size = 100


class RatingPages(CursorPagination):
    """In the order of primary keys: pages do not change while ratings arrive, and the last is as fast as the first."""

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


class ArmSerializer(ModelSerializer[Arm]):
    """What an arm changes. The reward and the number of participants are null if the arm does not set them."""

    class Meta:
        model = Arm
        fields = ("name", "config", "texts", "factors", "reward", "wanted", "n_enrolled")


class StudyInFull(StudySerializer):
    """A study as lists show it, with everything that a study file contains."""

    arms = SerializerMethodField()
    factors = SerializerMethodField()
    exclude_studies: SlugRelatedField[Study] = SlugRelatedField(many=True, read_only=True, slug_field="slug")

    class Meta(StudySerializer.Meta):
        more = (*StudyForm.Meta.fields, "config", "texts", "exclude_studies", "arms", "factors")
        fields = tuple(dict.fromkeys([*StudySerializer.Meta.fields, *more]))

    def get_arms(self, study: Study) -> Any:
        """The arms. Empty if the study has only the unnamed one."""
        arms = list(study.arms.all())
        return ArmSerializer(arms if len(arms) > 1 else [], many=True).data

    def get_factors(self, study: Study) -> Any:
        """The settings of the declared factors by their names, in their order."""
        return stored_factors(study)


class RatingSerializer(ModelSerializer[Rating]):
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


class MembersView(GenericAPIView[Any]):
    """A read-only view for researchers. It answers in JSON that no cache stores."""

    http_method_names = ["get", "head", "options"]
    authentication_classes = (TokenAuthentication, SessionAuthentication)
    permission_classes = (IsResearcher,)
    renderer_classes = (JSONRenderer,)
    pagination_class: type[BasePagination] | None = Pages

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return never_cache(super().as_view(**initkwargs))

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        if request.user.is_authenticated:
            raise PermissionDenied(NOT_RESEARCHER)
        raise NotAuthenticated(SIGN_IN)

    @property
    def user(self) -> User:
        user = self.request.user
        assert isinstance(user, User)  # noqa: S101 - nobody else gets past the permission
        return user

    def study(self, *, answers: bool = False) -> Study:
        """``answers``: what people answered is to be shown, which coders see only when they are done."""
        study = study_for(self.user, self.kwargs["slug"])
        if answers and works_blind(study, self.user):
            raise PermissionDenied(BLIND)
        return study


class Studies(MembersView):
    """The studies that the user sees, those with the latest activity first."""

    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(listed_studies(self.user))
        return self.get_paginated_response(StudySerializer(page, many=True).data)


class OneStudy(MembersView):
    def get(self, request: Request, slug: str) -> Response:
        study = self.study()
        return Response(StudyInFull(listed_studies(self.user).get(pk=study.pk)).data)


class StudyProgress(MembersView):
    def get(self, request: Request, slug: str) -> Response:
        return Response(progress(self.study()).as_json())


class Items(MembersView):
    """Items in the order of the file, with their scores so far."""

    def get(self, request: Request, slug: str) -> Response:
        study = self.study(answers=True)
        page: list[Item] = self.paginate_queryset(items_overview.find_items(study, "")) or []
        return self.get_paginated_response([_item(row) for row in items_overview.item_rows(study, page)])


def _item(row: items_overview.ItemRow) -> dict[str, Any]:
    return {
        "item": row.item.external_id,
        "role": row.item.role,
        "source": row.item.source,
        "columns": row.cells,
        "wanted": row.wanted,
        "submissions": row.submissions,
        "synthetic": row.synthetic,
        "scores": [asdict(score) for score in row.scores],
        "arms": [asdict(arm) for arm in row.arms],
    }


class Ratings(MembersView):
    """All ratings in the order in which they were given, also those that the analysis leaves out."""

    pagination_class = RatingPages

    def get(self, request: Request, slug: str) -> Response:
        study = self.study(answers=True)
        page = self.paginate_queryset(items_overview.ratings_of_study(study))
        about_what = "own" if get_type(study.task_type).own_work else "item"
        context = {"about": about_what, "marks": Marks(study), "criteria": Criteria(study, list(study.arms.all()))}
        return self.get_paginated_response(RatingSerializer(page, many=True, context=context).data)


STUDY = "studies/<slug:slug>/"

urlpatterns = [
    path("studies/", Studies.as_view(), name="api_studies"),
    path(STUDY, OneStudy.as_view(), name="api_study"),
    path(STUDY + "progress/", StudyProgress.as_view(), name="api_progress"),
    path(STUDY + "items/", Items.as_view(), name="api_items"),
    path(STUDY + "ratings/", Ratings.as_view(), name="api_ratings"),
]
