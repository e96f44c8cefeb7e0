"""What a program changes on a platform: publish, sync, extend, end, more ratings, budget, differences.

With ``dry_run`` nothing is posted or stored, and the answer says what it would cost. What reaches the platform is done
by the console's own jobs: each call has its own record and takes effect once.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import jobs
from annotation.api.fields import Amount, Input, Money, Nothing
from annotation.api.job_kinds import COMPENSATE
from annotation.api.job_views import JobShape, accepted, job_for
from annotation.api.platforms import CostShape, SpendingShape, connected, cost_data
from annotation.api.roles import EDITS, MANAGES, PAYS, SEES_PAYMENTS
from annotation.api.views import Endpoint
from annotation.models import Assignment, OutsideAssignment, PlatformJob, Posting, Study
from annotation.platforms import all_platforms, link, offline
from annotation.recruiting import adding_ratings, changing_offers, job_requests, offered_work
from annotation.recruiting.fetching_work import fetch_answer
from annotation.recruiting.pages.platforms import publishable, request_publishing
from annotation.recruiting.publishing import settings_of
from annotation.recruiting.publishing_preview import calls_of, estimate
from annotation.recruiting.spending import spending_of
from annotation.recruiting.spending_guard import require_room, set_budget
from annotation.studies.storing import close_study
from common.problems import Refused, invalid
from common.words import counted, money

SEE_DIFFERENCES = "Get what can be repaired from platform/differences/ of the study."
STUDY = "studies/<slug:slug>/"
Kind = PlatformJob.Kind
OFFERED = (Posting.State.OPEN, Posting.State.PAUSED)


class DryRun(Input):
    dry_run = serializers.BooleanField(default=False, help_text="Only say what it would cost or change.")


class Publish(DryRun):
    """Where to publish, and what was agreed to."""

    platform = serializers.ChoiceField([name for name in all_platforms() if name != link.PLATFORM])
    replace_lost = serializers.BooleanField(default=True, help_text="Offer lost places again by itself.")
    total = Amount(
        required=False, allow_null=True, default=None, help_text="USD that a dry run answered. Refused if it changed."
    )


class Extend(DryRun):
    """For how long."""

    days = serializers.IntegerField(min_value=1, max_value=365, help_text="From now on.")


class End(DryRun):
    """Whether the study ends with its offer."""

    close = serializers.BooleanField(default=False, help_text="Close the study here, too. This cannot be undone.")


class AddRatings(DryRun):
    """How many ratings each item gets in total, and what was agreed to."""

    ratings = serializers.IntegerField(min_value=1, max_value=9_999, help_text="Per item, with those it has.")
    total = Amount(
        required=False, allow_null=True, default=None, help_text="USD that a dry run answered. Refused if it changed."
    )


class Budget(Input):
    """The most that the study may cost on platforms."""

    budget = Amount()


class Fetch(Input):
    """Work that only the platform has."""

    outside = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="As `platform/differences/` lists it."
    )


class Compensate(Input):
    """Whom to pay, how much and why."""

    assignment = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="As `platform/differences/` lists it."
    )
    amount = Amount()
    reason = serializers.CharField(help_text="The worker reads it.")


class WageShape(serializers.Serializer[Any]):
    """What workers earn per hour at one reward."""

    reward = Money()
    per_hour = Money()
    low = serializers.BooleanField(help_text="Less than the server's minimum.")


class DryRunShape(serializers.Serializer[Any]):
    """What would happen. Nothing was posted or stored."""

    cost = CostShape(allow_null=True)
    postings = serializers.IntegerField(allow_null=True, help_text="How many postings would change.")
    in_progress = serializers.IntegerField(help_text="Assignments in progress; their workers can finish.")
    calls = serializers.DictField(child=serializers.IntegerField(), help_text="Calls to the platform, by operation.")
    wages = WageShape(many=True)
    problems = serializers.ListField(child=serializers.CharField(), help_text="What prevents it. Empty if nothing.")
    remarks = serializers.ListField(child=serializers.CharField())


def would(**values: Any) -> Response:
    """The answer to a dry run."""
    nothing: dict[str, Any] = {"cost": None, "postings": None, "in_progress": 0}
    nothing |= {"calls": {}, "wages": [], "problems": [], "remarks": []}
    return Response(DryRunShape(nothing | values).data)


RESPONSES: Any = {200: DryRunShape, 202: JobShape}


class OfferEndpoint(Endpoint):
    """Changes what the study offers on its platform."""

    role: ClassVar[str | Collection[str]] = MANAGES

    def posted_study(self) -> tuple[Study, str]:
        """The study and its platform. Raises Invalid if it is on none."""
        study = self.study(self.role)
        name = offered_work.posted_on(study)
        if not name:
            raise invalid("status", "This study is on no platform.", "Publish it first.")
        return study, name

    @transaction.atomic
    def ask(self, study: Study, name: str, kind: str, **params: Any) -> Response:
        """Request the console's own job. Raises Invalid, also if there is no key."""
        connected(name, study)
        job = job_requests.request_job(study=study, kind=kind, platform=name, actor=self.actor, params=params)
        return accepted(jobs.follow(user=self.user, study=study, kind=kind, platform_job=job))


class SpendingEndpoint(OfferEndpoint):
    write_scope: ClassVar[str] = "pay"
    role = PAYS


class PublishStudy(SpendingEndpoint):
    def prepare(self) -> None:
        """Ask the endpoint for its fees, which must not wait for a transaction that waits for it."""
        study, sent = self.study(self.role), Publish.of(self.request)
        if not sent["dry_run"]:
            connected(sent["platform"], study).fees()

    @extend_schema(operation_id="platforms_publish", request=Publish, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Posts a study on a platform, and launches it if it is a draft. With `dry_run`, says what it would cost."""
        study, sent = self.study(self.role), Publish.of(request)
        if sent["dry_run"]:
            return _dry_run(study, sent["platform"], self.user)
        platform = connected(sent["platform"], study)
        expected = estimate(study, platform, settings_of(study, platform))
        _agreed(sent["total"], expected.cost.total)
        with transaction.atomic():
            job = request_publishing(
                study=study, platform=platform, expected=expected, replace=sent["replace_lost"], actor=self.actor
            )
            return accepted(jobs.follow(user=self.user, study=study, kind=Kind.PUBLISH, platform_job=job))


def _agreed(total: Decimal | None, now: Decimal) -> None:
    if total is not None and total != now:
        raise invalid(
            "total", f"It costs {money(now)} now.", "Do a dry run again, check the cost, and send that total."
        )


def _dry_run(study: Study, name: str, user: User) -> Response:
    figures = publishable(study, name, user)
    problems, expected, calls = figures["problems"], figures["estimate"], {}
    if not problems:
        try:
            calls = dict(calls_of(study, offline(name, study), most=0).counts)
        except Refused as refused:
            problems = [f"{problem.what} {problem.fix}".strip() for problem in refused.problems]
    warnings = [check.text for check in figures["warnings"]]
    if expected is None:
        return would(problems=problems, remarks=warnings)
    return would(
        cost=cost_data(expected.cost),
        postings=expected.cost.hits,
        calls=calls,
        wages=expected.wages,
        problems=problems,
        remarks=[*expected.remarks, *warnings],
    )


class Resume(SpendingEndpoint):
    @extend_schema(operation_id="platforms_continue", request=Nothing, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Continues publishing where it stopped. Nothing is posted twice."""
        study, name = self.posted_study()
        params = PlatformJob.objects.filter(study=study, kind=Kind.PUBLISH).values_list("params", flat=True).first()
        return self.ask(study, name, Kind.PUBLISH, **(params or {}))


class Sync(OfferEndpoint):
    role = SEES_PAYMENTS

    @extend_schema(operation_id="platforms_sync", request=Nothing, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Asks the platform what was sent there and what it decided."""
        study, name = self.posted_study()
        return self.ask(study, name, Kind.SYNC)


class ReplaceLost(SpendingEndpoint):
    @extend_schema(operation_id="platforms_replace_lost", request=Nothing, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Offers places again that were used on the platform and gave the study nothing."""
        study, name = self.posted_study()
        return self.ask(study, name, Kind.ADD)


class ExtendOffer(SpendingEndpoint):
    @extend_schema(operation_id="platforms_extend", request=Extend, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Offers work for more days from now, also if its time has ended."""
        (study, name), sent = self.posted_study(), Extend.of(request)
        changing_offers.check_extension(study=study, platform=name, days=sent["days"])
        if sent["dry_run"]:
            n_postings = changing_offers.extendable(study, name).count()
            return would(postings=n_postings, in_progress=offered_work.count_in_progress(study))
        until = timezone.now() + timedelta(days=sent["days"])
        return self.ask(study, name, Kind.EXTEND, until=until.isoformat(timespec="seconds"))


class EndOffer(OfferEndpoint):
    @extend_schema(operation_id="platforms_end", request=End, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Stops offering the study on its platform. Work in progress can be finished."""
        (study, name), sent = self.posted_study(), End.of(request)
        if sent["dry_run"]:
            n_offered = Posting.objects.filter(study=study, platform=name, state__in=OFFERED).count()
            return would(postings=n_offered, in_progress=offered_work.count_in_progress(study))
        with transaction.atomic():
            if sent["close"]:
                close_study(study=study, actor=self.actor)
            return self.ask(study, name, Kind.END)


class DeleteOffer(OfferEndpoint):
    @extend_schema(operation_id="platforms_delete", request=DryRun, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Deletes finished work on the platform. Everything stays here."""
        (study, name), sent = self.posted_study(), DryRun.of(request)
        if sent["dry_run"]:
            return would(postings=changing_offers.deletable(study, name).count())
        return self.ask(study, name, Kind.DELETE)


class MoreRatings(SpendingEndpoint):
    def prepare(self) -> None:
        study, name = self.posted_study()
        connected(name, study).fees()

    @extend_schema(operation_id="platforms_add_ratings", request=AddRatings, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Gives each item more ratings and offers their places. With `dry_run`, says what they cost."""
        (study, name), sent = self.posted_study(), AddRatings.of(request)
        ratings, platform = sent["ratings"], connected(name, study)
        if ratings <= study.ratings_per_item:
            what = f"Items already get {counted(study.ratings_per_item, 'rating')}."
            raise invalid("ratings", what, f"Send a number above {study.ratings_per_item}.")
        cost = adding_ratings.cost_of_more(study, platform, ratings)
        if sent["dry_run"]:
            return would(cost=cost_data(cost), postings=cost.hits)
        _agreed(sent["total"], cost.total)
        require_room(study=study, platform=platform, amount=cost.total)
        with transaction.atomic():
            adding_ratings.add_ratings(study=study, ratings=ratings, actor=self.actor)
            return self.ask(study, name, Kind.ADD)


class StudyBudget(SpendingEndpoint):
    @extend_schema(operation_id="platforms_budget", request=Budget, responses=SpendingShape)
    def put(self, request: Request, slug: str) -> Response:
        """Sets the most that the study may cost on platforms."""
        study = self.study(self.role)
        set_budget(study=study, amount=Budget.of(request)["budget"], actor=self.actor)
        return Response(SpendingShape(spending_of(study)).data)


class FetchedShape(serializers.Serializer[Any]):
    """The submission that the work is now."""

    submission = serializers.IntegerField()
    worker = serializers.CharField()


class FetchWork(Endpoint):
    @extend_schema(operation_id="platforms_fetch", request=Fetch, responses=FetchedShape)
    def post(self, request: Request, slug: str) -> Response:
        """Completes work that only the platform has, from its answer and the drafts here."""
        study, sent = self.study(EDITS), Fetch.of(request)
        rows = OutsideAssignment.objects.select_related("posting__study", "posting__hit")
        outside = rows.filter(pk=sent["outside"], posting__study=study).first()
        if outside is None:
            raise invalid("outside", f"There is no work {sent['outside']} that only the platform has.", SEE_DIFFERENCES)
        submission = fetch_answer(outside=outside, actor=self.actor)
        return Response({"submission": submission.pk, "worker": submission.participant.pseudonym})


class CompensateWork(SpendingEndpoint):
    @extend_schema(operation_id="platforms_compensate", request=Compensate, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Pays a worker for work that cannot be paid through its own hit. Each work is compensated once."""
        study, sent = self.study(self.role), Compensate.of(request)
        if not Assignment.objects.filter(pk=sent["assignment"], hit__study=study).exists():
            what = f"This study has no assignment {sent['assignment']}."
            raise invalid("assignment", what, SEE_DIFFERENCES)
        params = {**sent, "amount": str(sent["amount"])}
        return job_for(user=self.user, kind=COMPENSATE, study=study, params=params)


ON = STUDY + "platform/"

urlpatterns = [
    path(STUDY + "publish/", PublishStudy.as_view(), name="api_publish"),
    path(ON + "continue/", Resume.as_view(), name="api_platform_continue"),
    path(ON + "sync/", Sync.as_view(), name="api_platform_sync"),
    path(ON + "replace-lost/", ReplaceLost.as_view(), name="api_platform_replace"),
    path(ON + "extend/", ExtendOffer.as_view(), name="api_platform_extend"),
    path(ON + "end/", EndOffer.as_view(), name="api_platform_end"),
    path(ON + "delete/", DeleteOffer.as_view(), name="api_platform_delete"),
    path(ON + "add-ratings/", MoreRatings.as_view(), name="api_add_ratings"),
    path(ON + "budget/", StudyBudget.as_view(), name="api_budget"),
    path(ON + "fetch/", FetchWork.as_view(), name="api_fetch_work"),
    path(ON + "compensate/", CompensateWork.as_view(), name="api_compensate"),
]
