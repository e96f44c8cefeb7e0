"""Qualifications: what a worker has, what they can request, and tests."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from marketplace import clock
from marketplace.models import Qualification, QualificationRequest, QualificationType, Worker
from marketplace.questions import BadXml, Form, Given, parse_question
from marketplace.services import qualifications as services
from marketplace.services.refusals import Refusal
from marketplace.sites.work import form_page, framing
from marketplace.sites.work.page import SignedIn, for_workers, page_of, query_without_page, say_refused, search_of, show

State = QualificationRequest.State
SHOWN_REQUESTS = 30


@for_workers
@require_safe
def qualifications(request: SignedIn, worker: Worker) -> HttpResponse:
    search = search_of(request)
    mine = Qualification.objects.filter(worker=worker, status=Qualification.Status.GRANTED)
    asked = QualificationRequest.objects.filter(worker=worker).select_related("type")
    context = {
        "mine": mine.select_related("type__requester").order_by("type__name"),
        "asked": asked.order_by("-started_at", "-pk")[:SHOWN_REQUESTS],
        "page": page_of(_on_offer(search).exclude(pk__in=mine.values("type")), request),
        "search": search,
        "query": query_without_page(request),
    }
    return show(request, "qualifications.html", context, worker=worker, section="qualifications")


def _on_offer(search: str) -> QuerySet[QualificationType, QualificationType]:
    found = QualificationType.objects.filter(
        status="Active", deleted_at=None, requestable=True, requester__active=True
    ).select_related("requester")
    for word in search.split():
        found = found.filter(Q(name__icontains=word) | Q(description__icontains=word) | Q(keywords__icontains=word))
    return found.order_by("name", "pk")


def _type(type_id: str) -> QualificationType:
    found = QualificationType.objects.select_related("requester").filter(type_id=type_id, deleted_at=None).first()
    if found is None:
        raise Http404("No such qualification.")
    return found


@for_workers
@require_http_methods(["GET", "POST"])
def qualification(request: SignedIn, worker: Worker, type_id: str) -> HttpResponseBase:
    """A qualification and the worker's requests for it. POST requests it: a test starts, it is granted, or it waits."""
    found = _type(type_id)
    if request.method == "POST":
        try:
            asked = services.request(type=found, worker=worker)
        except Refusal as refused:
            say_refused(request, refused)
            return redirect("market_qualification", type_id)
        if asked.state == State.STARTED:
            return redirect("market_test", type_id)
        _tell_outcome(request, asked)
        return redirect("market_qualification", type_id)
    context = {
        "type": found,
        "mine": Qualification.objects.filter(worker=worker, type=found).first(),
        "asked": found.requests.filter(worker=worker).order_by("-started_at", "-pk"),
        "running": _running(found, worker),
        "refusal": services.may_request(found, worker),
    }
    return show(request, "qualification.html", context, worker=worker, section="qualifications")


def _running(type: QualificationType, worker: Worker) -> QualificationRequest | None:
    """The worker's open test of this type, if there is time left."""
    started = type.requests.filter(worker=worker, state=State.STARTED)
    return started.exclude(deadline__lte=clock.now()).first()


def _tell_outcome(request: SignedIn, asked: QualificationRequest) -> None:
    if asked.state == State.GRANTED:
        value = Qualification.objects.filter(type=asked.type, worker=asked.worker).values_list("value", flat=True).get()
        messages.success(request, f"You now have this qualification, with the value {value}.")
    else:
        messages.success(request, "Your request was sent. The requester will decide.")


@for_workers
@require_http_methods(["GET", "POST"])
def test(request: SignedIn, worker: Worker, type_id: str) -> HttpResponseBase:
    """An open test."""
    found = _type(type_id)
    asked = _running(found, worker)
    form = _form_of(asked) if asked else None
    if asked is None or form is None:
        messages.warning(request, "This test is not open: you have submitted it, or its time is up.")
        return redirect("market_qualification", type_id)
    page, status = form_page.fresh(form), 200
    if request.method == "POST":
        page, answers = form_page.answered(form, request.POST)
        if not page.wrong:
            return _hand_in(request, asked, answers)
        status = 422
    left = int((asked.deadline - clock.now()).total_seconds()) if asked.deadline else None
    context = {"type": found, "question_form": page, "seconds_left": left, "send_label": "Submit"}
    response = show(request, "test.html", context, worker=worker, section="qualifications", status=status)
    response["Content-Security-Policy"] = framing.form_policy(form_page.media_origins(form))
    return response


def _form_of(asked: QualificationRequest) -> Form | None:
    try:
        return parse_question(asked.test).form
    except BadXml:
        return None


def _hand_in(request: SignedIn, asked: QualificationRequest, answers: dict[str, Given]) -> HttpResponse:
    try:
        _tell_outcome(request, services.take_test(request=asked, answers=answers))
    except Refusal as refused:
        say_refused(request, refused)
    return redirect("market_qualification", asked.type.type_id)
