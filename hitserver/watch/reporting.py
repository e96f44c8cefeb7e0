"""Errors to Sentry and spans to an OpenTelemetry collector, where the settings name one and its package is installed.

Neither gets personal data: no bodies, cookies, headers, addresses or local variables. Requests go by the name of their
route, and secrets in texts are masked as in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from hitserver.logs import masked
from hitserver.version import version
from hitserver.watch.current_work import current, current_number, route_of

logger = logging.getLogger(__name__)
INSTALL = "Install it with: .venv/bin/pip install -r requirements-watch.txt"
#: What an event may have. Everything else is left out: users, requests, breadcrumbs, what packages add in future.
KEPT = frozenset(
    [
        *("event_id", "timestamp", "platform", "level", "logger", "exception", "message", "logentry", "release"),
        *("environment", "sdk", "tags", "fingerprint", "transaction", "type", "server_name", "modules"),
    ]
)
_provider: Any = None
_tracer: Any = None
_task_span: Any = None


def begin() -> None:
    """Call it once in each process, after the last fork: senders have threads."""
    if settings.SENTRY_DSN:
        begin_sentry()
    if settings.OTLP_ENDPOINT:
        begin_spans()


def begin_sentry(transport: Any = None) -> None:
    try:
        import sentry_sdk
        from sentry_sdk.integrations.logging import LoggingIntegration
    except ImportError:
        logger.warning("HITSERVER_SENTRY_DSN is set, but sentry-sdk is missing. %s", INSTALL)
        return
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        release=version(),
        environment=settings.ENVIRONMENT,
        send_default_pii=False,
        max_request_body_size="never",
        include_local_variables=False,
        max_breadcrumbs=0,
        traces_sample_rate=None,
        auto_session_tracking=False,
        # Records of errors are enough. Those of frameworks would read requests.
        default_integrations=False,
        integrations=[LoggingIntegration(level=None, event_level=logging.ERROR)],
        before_send=scrubbed,
        transport=transport,
    )


def scrubbed(event: Any, hint: Any) -> Any:
    """The event with what ``KEPT`` lists, without secrets, and with the number and the route of its request."""
    kept = {name: _masked(value) for name, value in event.items() if name in KEPT}
    tags = {"request_id": current_number()}
    work = current()
    if isinstance(work, HttpRequest):
        tags["route"] = route_of(work)
    elif work is not None:
        tags["task"] = work.name
    kept["tags"] = {name: value for name, value in tags.items() if value}
    return kept


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: _masked(part) for key, part in value.items() if key not in ("vars", "params")}
    return [_masked(part) for part in value] if isinstance(value, list | tuple) else value


def begin_spans() -> None:
    global _provider, _tracer
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        logger.warning("OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is missing. %s", INSTALL)
        return
    provider = _provider = TracerProvider(
        resource=Resource.create({"service.name": "hitserver", "service.version": version()})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = provider.get_tracer("hitserver", version())


def send_rest() -> None:
    """Send the spans that wait for more to be sent with."""
    if _provider is not None:
        _provider.force_flush()


@contextmanager
def request_span() -> Iterator[Any]:
    """A span for the length of the block; None if spans go nowhere."""
    if _tracer is None:
        yield None
        return
    attributes = {"request_id": current_number()}
    with _tracer.start_as_current_span("request", record_exception=False, attributes=attributes) as new:
        yield new


def name_request(new: Any, request: HttpRequest, status: int) -> None:
    """Name a request's span when its route is known."""
    new.update_name(f"{request.method} {route_of(request)}")
    route = {"http.request.method": request.method or "", "http.route": route_of(request)}
    new.set_attributes({**route, "http.response.status_code": status})


def begin_task(name: str) -> None:
    """Begin the span of a task. A worker process does one at a time."""
    global _task_span
    if _tracer is not None:
        _task_span = _tracer.start_span(f"task {name}", attributes={"request_id": current_number(), "task": name})


def end_task(state: str) -> None:
    global _task_span
    if _task_span is not None:
        _task_span.set_attribute("state", state)
        _task_span.end()
        _task_span = None
