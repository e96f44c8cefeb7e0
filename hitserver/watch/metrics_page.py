"""``/metrics``: the server's figures in the text format of Prometheus."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from common.brake import source_of

WRONG_TOKEN = "Send the header “Authorization: Bearer …” with the value of HITSERVER_METRICS_TOKEN.\n"  # noqa: S105 - a sentence


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For a request with the token, or from an allowed address. 404 where neither is set."""
    if not settings.METRICS_OPEN:
        raise Http404
    if not is_allowed(request):
        headers = {"WWW-Authenticate": "Bearer"} if settings.METRICS_TOKEN else {}
        text = WRONG_TOKEN if settings.METRICS_TOKEN else "This address is not in HITSERVER_METRICS_ADDRESSES.\n"
        status = 401 if settings.METRICS_TOKEN else 403
        return HttpResponse(text, status=status, headers=headers, content_type="text/plain; charset=utf-8")
    # Only servers that are watched load the library.
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
    from prometheus_client.multiprocess import MultiProcessCollector

    from hitserver.watch import counting
    from hitserver.watch.collector import FiguresCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(counting.FOLDER))  # type: ignore[no-untyped-call]
    registry.register(FiguresCollector())
    response = HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
    response.headers["Cache-Control"] = "no-store"
    return response


def is_allowed(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    is_right = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    if settings.METRICS_TOKEN and scheme.lower() == "bearer" and is_right:
        return True
    source = source_of(request)
    return source is not None and any(source in network for network in settings.METRICS_ADDRESSES)
