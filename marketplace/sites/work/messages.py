"""Messages from requesters and from the marketplace's operator, and replies to them."""

from __future__ import annotations

from django.contrib import messages as notices
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from common.languages import gettext as _
from marketplace.models import Worker
from marketplace.services.messages import worker_messages
from marketplace.services.refusals import Refusal
from marketplace.sites.work.forms import ReplyForm
from marketplace.sites.work.page import PER_PAGE, SignedIn, for_workers, page_of, show


@for_workers
@require_safe
def inbox(request: SignedIn, worker: Worker) -> HttpResponse:
    context = {"page": page_of(worker_messages.inbox(worker), request, PER_PAGE)}
    return show(request, "messages.html", context, worker=worker, section="messages")


@for_workers
@require_http_methods(["GET", "HEAD", "POST"])
def message(request: SignedIn, worker: Worker, message_id: str) -> HttpResponseBase:
    """Opening a message marks it as read. POST replies to it."""
    letter = worker_messages.inbox(worker).filter(message_id=message_id).first()
    if letter is None:
        raise Http404("No such message.")
    worker_messages.mark_read(message=letter)
    form = ReplyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            worker_messages.reply(message=letter, text=form.cleaned_data["text"])
        except Refusal as refused:
            form.add_error("text", refused.message)
        else:
            notices.success(request, _("Your reply was sent."))
            return redirect("market_message", message_id)
    context = {"letter": letter, "replies": letter.replies.filter(from_worker=True).order_by("pk"), "form": form}
    status = 422 if form.errors else 200
    return show(request, "one_message.html", context, worker=worker, section="messages", status=status)
