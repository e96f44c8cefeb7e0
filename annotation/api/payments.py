"""What a study owes its workers outside the platforms, and recording that it was paid."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import jobs
from annotation.api.fields import Input, Money
from annotation.api.job_views import JobShape, accepted
from annotation.api.paging import Pages
from annotation.api.parsing import BadParameter, flag, text
from annotation.api.roles import PAYS, SEES_PAYMENTS
from annotation.api.views import Endpoint
from annotation.audit import record
from annotation.models import Study
from annotation.review.paying import MARK_PAID, Counted, Expected, count_owed, start_marking
from annotation.review.payment_file import payments_csv
from annotation.review.payment_lists import totals, workers_in
from annotation.review.payments_due import STATES, due, rows_of
from annotation.review.tasks import start_bulk_action

STUDY = "studies/<slug:slug>/"


class PaymentShape(serializers.Serializer[Any]):
    """One worker: what they did, what the study owes them and what they were paid."""

    worker = serializers.CharField(source="pseudonym")
    completion_code = serializers.CharField(source="code")
    arm = serializers.CharField()
    state = serializers.ChoiceField(STATES)
    hits_done = serializers.IntegerField()
    hits_due = serializers.IntegerField(help_text="Hits to pay by hand.")
    due = Money()
    hits_open = serializers.IntegerField(help_text="Hits that wait for an approval on the platform.")
    open = Money()
    hits_later = serializers.IntegerField(help_text="Hits that are due when the time for a decision has passed.")
    hits_paid = serializers.IntegerField()
    paid = Money(help_text="USD, with bonuses, compensations and part pay.")
    extra = Money(help_text="USD of these that were no rewards.")
    hits_excluded = serializers.IntegerField()
    hits_rejected = serializers.IntegerField()
    hits_unconfirmed = serializers.IntegerField()
    hits_partly_paid = serializers.IntegerField(source="hits_partly")
    last_paid_at = serializers.DateTimeField(allow_null=True)


class DueShape(serializers.Serializer[Any]):
    """What would be paid now."""

    hits = serializers.IntegerField()
    workers = serializers.IntegerField()
    total = Money()


class PaymentTotalsShape(serializers.Serializer[Any]):
    """What is owed and paid in the whole study."""

    due = DueShape(help_text="To pay by hand.")
    to_approve = DueShape(help_text="What the platform pays if all that waits there is approved.")
    paid_hits = serializers.IntegerField()
    paid = Money()
    extra = Money(help_text="USD of these that were no rewards.")


class MarkPaid(Input):
    """What was paid. It is recorded only if it is still what is due."""

    hits = serializers.IntegerField(min_value=0, help_text="As `payments/due/` answered.")
    total = serializers.DecimalField(max_digits=14, decimal_places=3, help_text="USD, as `payments/due/` answered.")
    worker = serializers.CharField(required=False, default="", help_text="Only this worker, by pseudonym.")
    with_excluded = serializers.BooleanField(
        default=False, help_text="Also what is excluded or waits for a decision. Only for one worker."
    )


STATE = OpenApiParameter("state", str, enum=STATES, description="Only workers in this state.")
CODE = OpenApiParameter("code", str, description="Only the worker with this completion code.")
WORKER = OpenApiParameter("worker", str, description="Only the worker with this pseudonym.")


def state_of(request: Request) -> str:
    state = request.query_params.get("state", "")
    if state and state not in STATES:
        raise BadParameter("state", f"“{state[:40]}” cannot be used.", f"Choose one of {', '.join(STATES)}.")
    return state


class PayersEndpoint(Endpoint):
    write_scope: ClassVar[str] = "pay"

    def payable_study(self) -> Study:
        return self.study(SEES_PAYMENTS)


class Payments(PayersEndpoint):
    pagination_class = Pages

    @extend_schema(operation_id="payments_list", parameters=[STATE, CODE], responses=PaymentShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the workers with what they are owed and were paid. Simulated workers are never paid."""
        study = self.payable_study()
        page = self.paginate_queryset(workers_in(study, state=state_of(request), code=text(request, "code", most=40)))
        return self.get_paginated_response(PaymentShape(rows_of(study, page or []), many=True).data)


class PaymentTotals(PayersEndpoint):
    @extend_schema(operation_id="payments_totals", responses=PaymentTotalsShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets what is owed and paid in the whole study."""
        figures = totals(self.payable_study())
        return Response(PaymentTotalsShape(figures | {"to_approve": figures["open"]}).data)


class DuePayments(PayersEndpoint):
    @extend_schema(operation_id="payments_due", parameters=[WORKER], responses=DueShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets what must be paid by hand now. Send it to `payments/paid/` when you have paid it."""
        study, worker = self.payable_study(), text(request, "worker", most=40)
        if worker and not study.participants.filter(pseudonym=worker).exists():
            raise Http404(f"This study has no worker “{worker}”. Get the list: {reverse('api_workers', args=[slug])}")
        owed = due(study, pseudonym=worker)
        return Response(DueShape(owed).data)


class PaidPayments(PayersEndpoint):
    #: What is owed, counted before the transaction in which it is marked as paid.
    owed: Counted | None = None

    def prepare(self) -> None:
        study, sent = self.payable_study(), MarkPaid.of(self.request)
        if not sent["worker"]:
            self.owed = count_owed(study)

    @extend_schema(operation_id="payments_mark_paid", request=MarkPaid, responses={200: DueShape, 202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Records that what is due was paid. Refused if the number of hits or the total has changed since.

        Hundreds of hits are recorded by a job: the answer is then 202, and the job's result says what was recorded.
        """
        study, sent = self.payable_study(), MarkPaid.of(request)
        with_excluded = bool(sent["worker"]) and sent["with_excluded"]
        total: Decimal = sent["total"]
        paid, bulk = start_marking(
            study=study,
            actor=self.actor,
            pseudonym=sent["worker"],
            with_excluded=with_excluded,
            expected=Expected(sent["hits"], total),
            owed_before=self.owed,
            start=start_bulk_action,
        )
        if bulk is not None:
            return accepted(jobs.follow(user=self.user, study=study, kind=MARK_PAID, bulk=bulk))
        return Response(DueShape(paid).data)


class PaymentFile(PayersEndpoint):
    answers_files = True

    @extend_schema(
        operation_id="payments_file",
        parameters=[
            STATE,
            CODE,
            OpenApiParameter("worker_ids", bool, description="Add ids on the platform. Owners only."),
        ],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Downloads the list as CSV. With `worker_ids`, it is noted in the study's log."""
        with_worker_ids = flag(request, "worker_ids")
        study = self.study(PAYS if with_worker_ids else SEES_PAYMENTS)
        state, code = state_of(request), text(request, "code", most=40)
        if with_worker_ids:
            record(study=study, actor=self.actor, action="export worker ids", kind="payments")
        pieces = payments_csv(study, state=state, code=code, with_worker_ids=with_worker_ids)
        headers = {"Content-Disposition": f'attachment; filename="{study.slug}-payments.csv"'}
        return StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8", headers=headers)


urlpatterns = [
    path(STUDY + "payments/", Payments.as_view(), name="api_payments"),
    path(STUDY + "payments/totals/", PaymentTotals.as_view(), name="api_payment_totals"),
    path(STUDY + "payments/due/", DuePayments.as_view(), name="api_payments_due"),
    path(STUDY + "payments/paid/", PaidPayments.as_view(), name="api_mark_paid"),
    path(STUDY + "payments.csv", PaymentFile.as_view(), name="api_payment_file"),
]
