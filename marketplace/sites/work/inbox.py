"""Messages from requesters and from whoever runs the marketplace."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from marketplace.models import Worker
from marketplace.services import messages
from marketplace.sites.work.page import SignedIn, for_workers, page_of, show


@for_workers
@require_safe
def inbox(request: SignedIn, worker: Worker) -> HttpResponse:
    context = {"page": page_of(messages.inbox(worker), request)}
    return show(request, "messages.html", context, worker=worker, section="messages")


@for_workers
@require_safe
def message(request: SignedIn, worker: Worker, pk: int) -> HttpResponse:
    """Reading a message marks it as read."""
    found = messages.inbox(worker).filter(pk=pk).first()
    if found is None:
        raise Http404("No such message.")
    messages.mark_read(message=found)
    return show(request, "one_message.html", {"letter": found}, worker=worker, section="messages")
