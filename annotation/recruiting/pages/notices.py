"""Where platforms send notices about changes. A notice only starts a look at the platform, and nothing in it is used as
data, so that a copy or a late one does no harm."""

from __future__ import annotations

from celery import current_app
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.platforms import all_platforms
from annotation.platforms.base import BadNotice
from common.task_queue import handed_over

TASK = "annotation.tasks.look_up"
MOST_BYTES = 100_000


@csrf_exempt
@require_POST
def notice(request: HttpRequest, platform: str) -> HttpResponse:
    """One notice. The platform sends it again until it gets a 2xx answer."""
    kind = all_platforms().get(platform)
    if kind is None:
        raise Http404("There is no such platform.")
    try:
        notified = kind.read_notice(request.body[:MOST_BYTES], request.headers)
    except BadNotice as wrong:
        return HttpResponse(f"{wrong}\n", "text/plain; charset=utf-8", status=403)
    args = (platform, notified.subject, notified.name, notified.account)
    if not handed_over(lambda: current_app.signature(TASK, args=args).delay()):
        return HttpResponse("Please send this again later.\n", "text/plain; charset=utf-8", status=503)
    return HttpResponse(status=204)
