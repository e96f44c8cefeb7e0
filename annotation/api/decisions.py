"""Decisions on submissions: what the analysis uses, and what is paid; one at a time or many.

Each is one of the console's actions on many submissions, done in the background: nothing is done or paid twice, even if
a process is killed. A bonus is refused before anything is paid if the budget does not allow all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import jobs
from annotation.api.fields import Amount, Input
from annotation.api.job_views import JobShape, accepted
from annotation.api.roles import EDITS, PAYS
from annotation.api.views import Endpoint
from annotation.models import Study, Submission
from annotation.review.bulk_decisions import FOR_EDITORS, confirm_action, plan_action, set_terms
from annotation.review.tasks import start_bulk_action
from common.problems import invalid
from common.words import counted

STUDY = "studies/<slug:slug>/"
MOST_IDS = 1_000


class Note(Input):
    """Why, for the log of the study."""

    note = serializers.CharField(required=False, allow_blank=True, default="", help_text="Saved with the decision.")


class Exclusion(Note):
    """Why, and whether somebody else can take the place."""

    release = serializers.BooleanField(default=False, help_text="Give the place out again.")


class Reason(Input):
    """Why, as the worker reads it."""

    reason = serializers.CharField(help_text="The worker reads it.")


class Rejection(Reason):
    """Why, as the worker reads it, and whether the analysis leaves the work out."""

    exclude = serializers.BooleanField(default=True, help_text="Leave the work out of the analysis, too.")


class Bonus(Reason):
    """How much, and why, as the worker reads it."""

    amount = Amount()


class Ids(serializers.ListField):
    def __init__(self, **kwargs: Any) -> None:
        help_text = f"The `id` of each submission, up to {MOST_IDS:,}."
        child = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
        super().__init__(child=child, min_length=1, max_length=MOST_IDS, help_text=help_text, **kwargs)


class ManyNotes(Exclusion):
    ids = Ids()


class ManyIncluded(Note):
    ids = Ids()


class ManyApproved(Note):
    ids = Ids()


class ManyRejected(Rejection):
    ids = Ids()


class ManyBonuses(Bonus):
    ids = Ids()


@transaction.atomic
def decide(endpoint: Endpoint, action: str, ids: Sequence[int], terms: dict[str, Any]) -> Response:
    """Plan the action, set its terms and confirm it, as a person does on the console's pages. Raises Invalid."""
    study = endpoint.study(EDITS if action in FOR_EDITORS else PAYS)
    chosen = Submission.objects.filter(study=study, pk__in=set(ids))
    missing = set(ids) - set(chosen.values_list("pk", flat=True))
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        what = f"{counted(len(missing), 'submission')} of the list {verb} not in this study."
        raise invalid("ids", what, f"Leave out: {', '.join(map(str, sorted(missing)[:20]))}.")
    bulk = plan_action(study=study, action=action, chosen=chosen, actor=endpoint.actor)
    note = terms.get("reason", terms.get("note", ""))
    amount: Decimal | None = terms.get("amount")
    bulk = set_terms(
        bulk=bulk, note=note, amount=amount, release=terms.get("release", False), exclude=terms.get("exclude", False)
    )
    confirm_action(bulk=bulk, actor=endpoint.actor, start=start_bulk_action)
    return accepted(jobs.follow(user=endpoint.user, study=study, kind=action, bulk=bulk))


def _one(endpoint: Endpoint, action: str, form: type[Input], request: Request) -> Response:
    study: Study = endpoint.study(EDITS if action in FOR_EDITORS else PAYS)
    submission = get_object_or_404(Submission, study=study, pk=endpoint.kwargs["id"])
    return decide(endpoint, action, [submission.pk], form.of(request))


def _many(endpoint: Endpoint, action: str, form: type[Input], request: Request) -> Response:
    terms = form.of(request)
    return decide(endpoint, action, terms.pop("ids"), terms)


class PayEndpoint(Endpoint):
    write_scope: ClassVar[str] = "pay"


class Exclude(Endpoint):
    @extend_schema(operation_id="submissions_exclude", request=Exclusion, responses={202: JobShape})
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Leaves a submission out of the analysis. With `release`, another worker can take its place."""
        return _one(self, "exclude", Exclusion, request)


class Include(Endpoint):
    @extend_schema(operation_id="submissions_include", request=Note, responses={202: JobShape})
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Uses a submission in the analysis. This undoes an exclusion, also one by a rule."""
        return _one(self, "include", Note, request)


class Approve(PayEndpoint):
    @extend_schema(operation_id="submissions_approve", request=Note, responses={202: JobShape})
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Approves a submission, which pays its reward where the platform pays. Undoes a rejection."""
        return _one(self, "approve", Note, request)


class Reject(PayEndpoint):
    @extend_schema(operation_id="submissions_reject", request=Rejection, responses={202: JobShape})
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Rejects a submission with a reason that the worker reads. Its reward is not paid."""
        return _one(self, "reject", Rejection, request)


class PayBonus(PayEndpoint):
    @extend_schema(operation_id="submissions_bonus", request=Bonus, responses={202: JobShape})
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Pays a bonus for a submission. Refused if the study's budget does not allow it."""
        return _one(self, "bonus", Bonus, request)


class ExcludeMany(Endpoint):
    @extend_schema(operation_id="submissions_exclude_many", request=ManyNotes, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Leaves several submissions out of the analysis. The job's result has a row for each."""
        return _many(self, "exclude", ManyNotes, request)


class IncludeMany(Endpoint):
    @extend_schema(operation_id="submissions_include_many", request=ManyIncluded, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Uses several submissions in the analysis. The job's result has a row for each."""
        return _many(self, "include", ManyIncluded, request)


class ApproveMany(PayEndpoint):
    @extend_schema(operation_id="submissions_approve_many", request=ManyApproved, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Approves several submissions. The job's result has a row for each."""
        return _many(self, "approve", ManyApproved, request)


class RejectMany(PayEndpoint):
    @extend_schema(operation_id="submissions_reject_many", request=ManyRejected, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Rejects several submissions for the same reason. The job's result has a row for each."""
        return _many(self, "reject", ManyRejected, request)


class BonusMany(PayEndpoint):
    @extend_schema(operation_id="submissions_bonus_many", request=ManyBonuses, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Pays the same bonus for several submissions. All are refused if the budget does not allow all."""
        return _many(self, "bonus", ManyBonuses, request)


MANY = STUDY + "submissions/"
ONE = STUDY + "submissions/<int:id>/"

urlpatterns = [
    path(MANY + "exclude/", ExcludeMany.as_view(), name="api_exclude_many"),
    path(MANY + "include/", IncludeMany.as_view(), name="api_include_many"),
    path(MANY + "approve/", ApproveMany.as_view(), name="api_approve_many"),
    path(MANY + "reject/", RejectMany.as_view(), name="api_reject_many"),
    path(MANY + "bonus/", BonusMany.as_view(), name="api_bonus_many"),
    path(ONE + "exclude/", Exclude.as_view(), name="api_exclude"),
    path(ONE + "include/", Include.as_view(), name="api_include"),
    path(ONE + "approve/", Approve.as_view(), name="api_approve"),
    path(ONE + "reject/", Reject.as_view(), name="api_reject"),
    path(ONE + "bonus/", PayBonus.as_view(), name="api_bonus"),
]
