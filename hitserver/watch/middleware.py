"""The first middleware: gives each request its number, counts it and logs it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from hitserver.middleware import GetResponse
from hitserver.watch import current_work, reporting

logger = logging.getLogger("hitserver.requests")


def watch_requests(get_response: GetResponse) -> GetResponse:
    """With HITSERVER_LOG_FORMAT=json, each request is one log line. With ``/metrics``, requests are counted."""
    logs = settings.LOG_FORMAT == "json" and logger.isEnabledFor(logging.INFO)
    count: Callable[[HttpRequest, int, float], None] | None = None
    if settings.METRICS_OPEN:
        from hitserver.watch import counting  # loads a library that other servers do not need

        count = counting.count

    def in_a_span(request: HttpRequest) -> HttpResponseBase:
        with reporting.request_span() as new:
            response = get_response(request)
            if new is not None:
                reporting.name_request(new, request, response.status_code)
            return response

    answer = in_a_span if settings.OTLP_ENDPOINT else get_response

    def middleware(request: HttpRequest) -> HttpResponseBase:
        token = current_work.begin_request(request)
        begin = perf_counter()
        try:
            response = answer(request)
            response.headers[current_work.HEADER] = current_work.number_of(request)
            if count or logs:
                duration = perf_counter() - begin
                if count:
                    count(request, response.status_code, duration)
                if logs:
                    logger.info("request", extra={"status": response.status_code, "seconds": round(duration, 4)})
            return response
        finally:
            current_work.end(token)

    return middleware
