"""Submissions: the list with filters, and one with its answers, times and flags."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import Prefetch
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.fields import Money
from annotation.api.paging import Pages
from annotation.api.parsing import BadParameter, number, text
from annotation.api.views import Endpoint
from annotation.instrument import Instrument
from annotation.models import Review, Step, Study, Submission
from annotation.recruiting.pay_states import PAY_STATES
from annotation.review.pages.answers import answered_pages, shown_items
from annotation.review.review_queue import compared_with_others, pay_view
from annotation.review.submission_lists import SHOWS, Filter, SubmissionRow, submission_rows, submissions
from annotation.work.left_out import excluded_by_rule, left_out_submissions

STUDY = "studies/<slug:slug>/"


class FlagShape(serializers.Serializer[Any]):
    """A reason to look at a submission."""

    reason = serializers.CharField(help_text="The rule that raised it, such as `too_fast`.")
    detail = serializers.CharField()
    place = serializers.CharField(allow_null=True, help_text="What it is about: the whole, a question, a scale.")
    value = serializers.FloatField(allow_null=True, help_text="What was measured.")
    threshold = serializers.FloatField(allow_null=True, help_text="The limit that it crossed.")
    other = serializers.IntegerField(
        allow_null=True, source="other_id", help_text="Another submission, if it is about two."
    )


class ReviewShape(serializers.Serializer[Any]):
    """A person's decision on a submission. The newest counts."""

    decision = serializers.ChoiceField(Review.Decision.choices)
    note = serializers.CharField()
    by = serializers.CharField(allow_null=True, help_text="The user who decided.")
    at = serializers.DateTimeField()


class BriefAnswerShape(serializers.Serializer[Any]):
    """One rating in brief."""

    topic = serializers.CharField()
    item = serializers.CharField(help_text="Empty if it is about no item.")
    target = serializers.CharField(help_text="The part of the item.")
    value = serializers.CharField(help_text="The number, or the beginning of the text.")


class SubmissionSummaryShape(serializers.Serializer[Any]):
    """A submission as lists show it."""

    id = serializers.IntegerField()
    worker = serializers.CharField(help_text="The worker's pseudonym.")
    synthetic = serializers.BooleanField(help_text="Whether a simulated worker sent it.")
    arm = serializers.CharField()
    submitted_at = serializers.DateTimeField()
    seconds = serializers.FloatField(help_text="From the acceptance of the hit to the last page.")
    included = serializers.BooleanField(help_text="Whether the analysis uses it.")
    released = serializers.BooleanField(help_text="Whether its place was given out again.")
    extra = serializers.BooleanField(help_text="Whether it arrived when somebody else had its place.")
    pay = serializers.ChoiceField(list(PAY_STATES.items()), help_text="What becomes of its reward.")
    flags = FlagShape(many=True)
    review = ReviewShape(allow_null=True, help_text="The newest decision on it.")
    answers = BriefAnswerShape(many=True)


class AnswerShape(serializers.Serializer[Any]):
    """One question and its answer, in the words of the scale."""

    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    about = serializers.CharField()
    answer = serializers.CharField()
    seconds = serializers.FloatField(allow_null=True)
    pastes = serializers.IntegerField()


class AnsweredPageShape(serializers.Serializer[Any]):
    """One page as it was sent."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    item = serializers.IntegerField(allow_null=True, help_text="Which of the hit's items it is about, from 1.")
    received_at = serializers.DateTimeField()
    answers = AnswerShape(many=True)


class ShownItemShape(serializers.Serializer[Any]):
    """An item of the hit."""

    item = serializers.CharField()
    columns = serializers.DictField(child=serializers.CharField(allow_blank=True))


class ComparedShape(serializers.Serializer[Any]):
    """One rating beside the mean of the other workers' ratings of the same item."""

    topic = serializers.CharField()
    item = serializers.CharField()
    target = serializers.CharField()
    own = serializers.FloatField()
    others = serializers.FloatField()
    n = serializers.IntegerField(help_text="How many ratings of others.")


class SubmissionPaymentShape(serializers.Serializer[Any]):
    """Money that was paid for a submission."""

    kind = serializers.CharField()
    amount = Money()
    reason = serializers.CharField()
    by = serializers.CharField(source="actor")
    at = serializers.DateTimeField(source="created_at")


class SubmissionShape(SubmissionSummaryShape):
    """A submission with everything that was sent."""

    items = ShownItemShape(many=True)
    pages = AnsweredPageShape(many=True)
    feedback = serializers.CharField()
    reviews = ReviewShape(many=True, help_text="All decisions, newest first.")
    excluded_by = serializers.ListField(child=serializers.CharField(), help_text="Exclusion rules that leave it out.")
    compared = ComparedShape(many=True)
    payments = SubmissionPaymentShape(many=True)


def summary(row: SubmissionRow, left_out: set[int]) -> dict[str, Any]:
    return {
        "id": row.pk,
        "worker": row.pseudonym,
        "synthetic": row.synthetic,
        "arm": row.arm,
        "submitted_at": row.received_at,
        "seconds": row.seconds,
        "included": row.pk not in left_out,
        "released": row.released,
        "extra": row.extra,
        "pay": row.pay,
        "flags": row.flags,
        "review": _review(row.review) if row.review else None,
        "answers": [asdict(answer) for answer in row.answers],
    }


def _review(review: Review) -> dict[str, Any]:
    by = review.user.get_username() if review.user else None
    return {"decision": review.decision, "note": review.note, "by": by, "at": review.created_at}


class NewestSubmissions(Pages):
    """Newest first, in the order in which they were stored."""

    key = "-pk"


FILTERS = [
    OpenApiParameter("show", str, enum=SHOWS, description="Only these. Without it, all."),
    OpenApiParameter("worker", str, description="Only those of the worker with this pseudonym."),
    OpenApiParameter("arm", str, description="Only those of this arm."),
    OpenApiParameter("pay", str, enum=list(PAY_STATES), description="Only those whose reward is in this state."),
    OpenApiParameter("flag", str, description="Only those with a flag of this rule."),
    OpenApiParameter("faster_than", int, description="Only those that took fewer seconds."),
    OpenApiParameter("since", int, description="Only those with a higher `id`: what is new since then."),
]


def filter_of(request: Request, study: Study) -> Filter:
    """The filter in the address. Raises BadParameter for values that it cannot have."""
    return Filter(
        show=_choice(request, "show", SHOWS) or "all",
        pseudonym=text(request, "worker", most=40),
        arm=_choice(request, "arm", list(study.arms.values_list("name", flat=True))),
        pay=_choice(request, "pay", list(PAY_STATES)) or "",
        reason=text(request, "flag", most=40),
        faster=number(request, "faster_than", least=1, most=10**6),
    )


def _choice(request: Request, name: str, choices: Any) -> str | None:
    chosen = request.query_params.get(name)
    if chosen is not None and chosen not in choices:
        raise BadParameter(name, f"“{chosen[:40]}” cannot be used.", f"Choose one of {', '.join(choices)}.")
    return chosen


class Submissions(Endpoint):
    pagination_class = NewestSubmissions

    @extend_schema(operation_id="submissions_list", parameters=FILTERS, responses=SubmissionSummaryShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the submissions of a study, newest first. The parameters narrow the list; together, all must hold."""
        study = self.study(answers=True)
        rows = submissions(study, filter_of(request, study))
        if (since := number(request, "since", least=0, most=2**63 - 1)) is not None:
            rows = rows.filter(pk__gt=since)
        page: list[Submission] = self.paginate_queryset(rows) or []
        left_out = set(left_out_submissions(study).filter(pk__in=[one.pk for one in page]).values_list("pk", flat=True))
        shown = [summary(row, left_out) for row in submission_rows(page)]
        return self.get_paginated_response(SubmissionSummaryShape(shown, many=True).data)


class OneSubmission(Endpoint):
    @extend_schema(operation_id="submissions_get", responses=SubmissionShape)
    def get(self, request: Request, slug: str, id: int) -> Response:
        """Gets a submission with its pages, answers, times and flags."""
        return Response(SubmissionShape(in_full(self.study(answers=True), id)).data)


def in_full(study: Study, pk: int) -> dict[str, Any]:
    rows = (
        submissions(study).defer(None).prefetch_related(Prefetch("assignment__steps", Step.objects.order_by("number")))
    )
    submission = get_object_or_404(rows.select_related("study", "assignment__hit"), pk=pk)
    left_out = set(left_out_submissions(study).filter(pk=pk).values_list("pk", flat=True))
    instrument = Instrument.of(study, submission.participant.arm)
    received = {step.number + 1: step.received_at for step in submission.assignment.steps.all()}
    pay = pay_view(submission)
    return summary(submission_rows([submission])[0], left_out) | {
        "pay": pay.state,
        "items": [{"item": item.external_id, "columns": item.cells} for item in shown_items(submission, instrument)],
        "pages": [
            asdict(page) | {"received_at": received[page.number]} for page in answered_pages(submission, instrument)
        ],
        "feedback": submission.feedback,
        "reviews": [_review(review) for review in submission.reviews.all()],
        "excluded_by": excluded_by_rule(study, [submission.participant_id]).get(pk, []),
        "compared": [asdict(compared) for compared in compared_with_others(submission)],
        "payments": pay.payments,
    }


urlpatterns = [
    path(STUDY + "submissions/", Submissions.as_view(), name="api_submissions"),
    path(STUDY + "submissions/<int:id>/", OneSubmission.as_view(), name="api_submission"),
]
