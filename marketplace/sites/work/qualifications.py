"""Qualifications: what a worker has, what they can request, and tests."""

from __future__ import annotations

from contextlib import suppress

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from common.languages import gettext as _
from marketplace import clock
from marketplace.models import Qualification, QualificationRequest, QualificationType, Worker
from marketplace.questions import BadXml, parse_question
from marketplace.services.qualifications import qualification_requests as services
from marketplace.services.refusals import Refusal
from marketplace.sites.work import form_page, frames
from marketplace.sites.work.page import (
    PER_PAGE,
    SignedIn,
    for_workers,
    page_of,
    query_without_page,
    say_refused,
    search_of,
    show,
)

State = QualificationRequest.State
SHOWN_REQUESTS = 30


@for_workers
@require_safe
def qualifications(request: SignedIn, worker: Worker) -> HttpResponse:
    search = search_of(request)
    mine = Qualification.objects.filter(worker=worker, status=Qualification.Status.GRANTED)
    on_offer = QualificationType.objects.filter(
        status="Active", deleted_at=None, requestable=True, requester__active=True
    ).select_related("requester")
    for word in search.split():
        on_offer = on_offer.filter(
            Q(name__icontains=word) | Q(description__icontains=word) | Q(keywords__icontains=word)
        )
    others = on_offer.order_by("name", "pk").exclude(pk__in=mine.values("type"))
    requests = QualificationRequest.objects.filter(worker=worker).select_related("type")
    context = {
        "mine": mine.select_related("type__requester").order_by("type__name"),
        "asked": requests.order_by("-started_at", "-pk")[:SHOWN_REQUESTS],
        "page": page_of(others, request, PER_PAGE),
        "search": search,
        "query": query_without_page(request),
    }
    return show(request, "qualifications.html", context, worker=worker, section="qualifications")


def _type(type_id: str) -> QualificationType:
    type = QualificationType.objects.select_related("requester").filter(type_id=type_id, deleted_at=None).first()
    if type is None:
        raise Http404("No such qualification.")
    return type


@for_workers
@require_http_methods(["GET", "POST"])
def qualification(request: SignedIn, worker: Worker, type_id: str) -> HttpResponseBase:
    """A qualification and the worker's requests for it. POST requests it: a test starts, it is granted, or it waits."""
    type = _type(type_id)
    if request.method == "POST":
        try:
            new_request = services.request(type=type, worker=worker)
        except Refusal as refused:
            say_refused(request, refused)
            return redirect("market_qualification", type_id)
        if new_request.state == State.STARTED:
            return redirect("market_test", type_id)
        _tell_outcome(request, new_request)
        return redirect("market_qualification", type_id)
    context = {
        "type": type,
        "mine": Qualification.objects.filter(worker=worker, type=type).first(),
        "asked": type.requests.filter(worker=worker).order_by("-started_at", "-pk"),
        "running": _running(type, worker),
        "refusal": services.may_request(type, worker),
    }
    return show(request, "qualification.html", context, worker=worker, section="qualifications")


def _running(type: QualificationType, worker: Worker) -> QualificationRequest | None:
    """The worker's open test of this type, if there is time left."""
    started = type.requests.filter(worker=worker, state=State.STARTED)
    return started.exclude(deadline__lte=clock.now()).first()


def _tell_outcome(request: SignedIn, decided: QualificationRequest) -> None:
    if decided.state == State.GRANTED:
        value = (
            Qualification.objects.filter(type=decided.type, worker=decided.worker).values_list("value", flat=True).get()
        )
        messages.success(request, _("You now have this qualification, with the value %(value)s.") % {"value": value})
    else:
        messages.success(request, _("Your request was sent. The requester will decide."))


@for_workers
@require_http_methods(["GET", "POST"])
def test(request: SignedIn, worker: Worker, type_id: str) -> HttpResponseBase:
    """An open test."""
    type = _type(type_id)
    open_test = _running(type, worker)
    form = None
    if open_test is not None:
        with suppress(BadXml):
            form = parse_question(open_test.test).form
    if open_test is None or form is None:
        messages.warning(request, _("This test is not open: you have submitted it, or its time is up."))
        return redirect("market_qualification", type_id)
    page, status = form_page.fresh(form), 200
    if request.method == "POST":
        page, answers = form_page.answered(form, request.POST)
        if not page.wrong:
            try:
                _tell_outcome(request, services.take_test(request=open_test, answers=answers))
            except Refusal as refused:
                say_refused(request, refused)
            return redirect("market_qualification", type_id)
        status = 422
    seconds_left = int((open_test.deadline - clock.now()).total_seconds()) if open_test.deadline else None
    context = {"type": type, "question_form": page, "seconds_left": seconds_left, "send_label": _("Submit")}
    response = show(request, "test.html", context, worker=worker, section="qualifications", status=status)
    response["Content-Security-Policy"] = frames.form_policy(form_page.media_origins(form))
    return response
