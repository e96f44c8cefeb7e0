"""What leaves the server for Sentry and OpenTelemetry: errors and spans without personal data."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import sentry_sdk
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sentry_sdk.transport import Transport

from hitserver.watch import reporting
from hitserver.watch.middleware import watch_requests

SECRET = "s3cret-Answer"


class Collected(Transport):
    """The SDK's own way to see what would be sent."""

    events: list[Any] = []

    def capture_envelope(self, envelope: Any) -> None:
        self.events.append(envelope.get_event())


@pytest.fixture
def events(settings: Any) -> Iterator[list[Any]]:
    settings.SENTRY_DSN = "http://key@127.0.0.1:9/1"
    Collected.events = []
    reporting.begin_sentry(transport=Collected)
    yield Collected.events
    sentry_sdk.init()


def test_an_error_goes_to_sentry_without_what_people_sent(events: list[Any]) -> None:
    def page(request: HttpRequest) -> HttpResponse:
        answer = request.POST["answer"]  # a local variable that no frame may show
        try:
            raise ValueError(f"/w/{SECRET}/") from KeyError(len(answer))
        except ValueError:
            logging.getLogger("django.request").exception("Failed: %s", f"/w/{SECRET}/", extra={"request": request})
        return HttpResponse(status=500)

    headers = {"X-Request-ID": "n1", "Cookie": f"sessionid={SECRET}", "Authorization": SECRET}
    factory = RequestFactory(REMOTE_ADDR="192.0.2.77")
    request = factory.post(f"/w/{SECRET}/?k={SECRET}", {"answer": SECRET}, headers=headers)
    watch_requests(page)(request)

    [event] = events
    text = json.dumps(event, default=str)
    assert event["tags"] == {"request_id": "n1", "route": "unknown"}
    assert event["exception"]["values"][-1]["type"] == "ValueError"
    assert SECRET not in text
    assert "192.0.2.77" not in text
    assert not {"request", "user", "breadcrumbs", "extra", "contexts"} & set(event)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ExportTraceServiceRequest]]:
    """A server for spans, as the OpenTelemetry protocol describes it: POST /v1/traces with a protobuf message."""
    messages: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            assert self.headers["Content-Type"] == "application/x-protobuf"
            messages.append(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield messages
    server.shutdown()
    server.server_close()


def test_spans_have_the_route_and_no_address(
    collector: list[ExportTraceServiceRequest], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OTLP_ENDPOINT = "http://collector.example"
    monkeypatch.setattr(reporting, "_tracer", None)
    reporting.begin_spans()
    request = RequestFactory().get(f"/w/{SECRET}/?k={SECRET}", headers={"X-Request-ID": "n1", "Cookie": SECRET})
    watch_requests(lambda request: HttpResponse(status=404))(request)
    reporting.begin_task("annotation.tasks.sync_due")
    reporting.end_task("SUCCESS")
    reporting.send_rest()

    parts = [part for message in collector for part in message.resource_spans]
    spans = [span for part in parts for scope in part.scope_spans for span in scope.spans]
    assert [span.name for span in spans] == ["GET unknown", "task annotation.tasks.sync_due"]
    attributes = {one.key: one.value.string_value or one.value.int_value for one in spans[0].attributes}
    assert attributes == {
        "request_id": "n1",
        "http.request.method": "GET",
        "http.route": "unknown",
        "http.response.status_code": 404,
    }
    assert SECRET not in str(collector)


@pytest.mark.parametrize("package", ["sentry_sdk", "opentelemetry.sdk.trace"])
def test_a_package_that_is_missing_is_named_and_stops_nothing(
    package: str, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SENTRY_DSN, settings.OTLP_ENDPOINT = "http://key@127.0.0.1:9/1", "http://127.0.0.1:9"
    monkeypatch.setitem(sys.modules, package, None)
    begin = reporting.begin_sentry if package == "sentry_sdk" else reporting.begin_spans
    begin()

    assert "pip install -r requirements-watch.txt" in caplog.text


def test_a_span_goes_nowhere_unless_an_address_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "_tracer", None)
    with reporting.request_span() as new:
        assert new is None
