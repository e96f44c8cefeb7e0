"""Workers' replies to messages from a requester or from the people who run the marketplace."""

from __future__ import annotations

from django.contrib import messages as notices
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from marketplace.models import Requester
from marketplace.services.messages import worker_messages
from marketplace.services.refusals import Refusal
from marketplace.sites.operate.forms import AnswerForm
from marketplace.sites.operate.page import SignedIn, for_operators, for_requesters, page_of, show


@for_operators
@require_GET
def replies(request: SignedIn) -> HttpResponse:
    return _list(request, None)


@for_requesters
@require_GET
def my_replies(request: SignedIn, requester: Requester) -> HttpResponse:
    return _list(request, requester)


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def reply(request: SignedIn, message_id: str) -> HttpResponseBase:
    return _one(request, None, message_id)


@for_requesters
@require_http_methods(["GET", "HEAD", "POST"])
def my_reply(request: SignedIn, requester: Requester, message_id: str) -> HttpResponseBase:
    return _one(request, requester, message_id)


def _role(requester: Requester | None) -> str:
    return "operator" if requester is None else "requester"


def _list(request: SignedIn, requester: Requester | None) -> HttpResponse:
    context = {"page": page_of(worker_messages.replies_to(requester), request), "section": "replies"}
    return show(request, "replies.html", context, role=_role(requester))


def _one(request: SignedIn, requester: Requester | None, message_id: str) -> HttpResponseBase:
    """Opening a reply marks it as read. POST answers it."""
    reply = worker_messages.replies_to(requester).filter(message_id=message_id).first()
    if reply is None:
        raise Http404("No such message.")
    worker_messages.mark_read(message=reply)
    form = AnswerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            worker_messages.answer(reply=reply, text=form.cleaned_data["text"], actor=request.user.get_username())
        except Refusal as refused:
            form.add_error("text", refused.message)
        else:
            notices.success(request, "Your answer was sent.")
            return redirect("operate_reply" if requester is None else "operate_my_reply", message_id)
    answers = reply.replies.filter(from_worker=False).order_by("pk")
    context = {"letter": reply, "answers": answers, "form": form, "section": "replies"}
    return show(request, "reply.html", context, role=_role(requester), status=422 if form.errors else 200)
