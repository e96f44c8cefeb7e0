"""The number of a request: where it comes from, and that it is in every log line, on the error page and in tasks."""

from __future__ import annotations

import json
import logging
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.test import Client, RequestFactory

from hitserver import errors
from hitserver.celery import NUMBER_HEADER
from hitserver.log_config import logging_config
from hitserver.logs import JsonFormatter, PrivateFormatter
from hitserver.watch import current_work
from hitserver.watch.middleware import watch_requests

MADE_HERE = re.compile(r"[0-9a-f]{16}")


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    line = logging.LogRecord(
        "x", logging.ERROR, "x.py", 1, message, arguments, sys.exc_info() if sys.exception() else None
    )
    line.__dict__.update(extra)
    return line


def as_json(line: logging.LogRecord) -> dict[str, Any]:
    text = JsonFormatter().format(line)
    assert "\n" not in text
    fields: dict[str, Any] = json.loads(text)
    return fields


def test_the_number_of_the_web_server_in_front_is_kept() -> None:
    answer = Client().get("/healthz/live", headers={"X-Request-ID": "4bf92f35-77b3.a_1"})

    assert answer.headers["X-Request-ID"] == "4bf92f35-77b3.a_1"


@pytest.mark.parametrize("number", ["", "a" * 10_000, "a" * 65, "a\nforged", "a b", "<b>", "é", "-a", "٣"])
def test_any_other_number_is_replaced(number: str) -> None:
    answer = watch_requests(lambda request: HttpResponse())(RequestFactory().get("/", HTTP_X_REQUEST_ID=number))

    assert MADE_HERE.fullmatch(answer.headers["X-Request-ID"])


def test_a_client_cannot_set_the_number_by_another_header() -> None:
    request = RequestFactory().get("/", headers={"HITSERVER_REQUEST_ID": "mine", "Hitserver-Request-Id": "mine"})

    assert watch_requests(lambda request: HttpResponse())(request).headers["X-Request-ID"] != "mine"


def test_lines_of_a_request_have_its_number_and_lines_after_it_do_not() -> None:
    lines = []

    def page(request: Any) -> HttpResponse:
        lines.append(PrivateFormatter("[7%(number)s] %(message)s").format(record("inside")))
        return HttpResponse()

    watch_requests(page)(RequestFactory().get("/", headers={"X-Request-ID": "n1"}))
    lines.append(PrivateFormatter("[7%(number)s] %(message)s").format(record("outside")))

    assert lines == ["[7 n1] inside", "[7] outside"]


def test_the_error_page_shows_the_number_that_the_log_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for path, shown in (("/nowhere/", b"tell them this number: n2"), ("/api/v1/studies/", b"this number: n2")):
        request = RequestFactory().get(path)
        answer = watch_requests(errors.server_error)(RequestFactory().get(path, headers={"X-Request-ID": "n2"}))
        assert answer.status_code == 500
        assert isinstance(answer, HttpResponse)
        assert shown in answer.content, request.path


def test_a_task_has_the_number_of_the_request_that_sent_it() -> None:
    headers: dict[str, Any] = {}

    def page(request: Any) -> HttpResponse:
        before_task_publish.send(sender="a task", headers=headers)
        return HttpResponse()

    watch_requests(page)(RequestFactory().get("/", headers={"X-Request-ID": "n3"}))
    task = SimpleNamespace(name="annotation.tasks.sync_due", request=Headers(headers))
    task_prerun.send(sender=task.name, task=task)
    inside = as_json(record("working"))
    task_postrun.send(sender=task.name, task=task, state="SUCCESS")

    assert headers == {NUMBER_HEADER: "n3"}
    assert (inside["request_id"], inside["task"]) == ("n3", "annotation.tasks.sync_due")
    assert "task" not in as_json(record("over"))


class Headers(dict[str, Any]):
    is_eager = False


@pytest.mark.parametrize("number", ["", "a" * 10_000, "a\nb"])
def test_a_task_without_a_usable_number_gets_one(number: str) -> None:
    task = SimpleNamespace(name="x", request=Headers({NUMBER_HEADER: number}))
    task_prerun.send(sender=task.name, task=task)
    number_of_task = current_work.current_number()
    task_postrun.send(sender=task.name, task=task, state="SUCCESS")

    assert MADE_HERE.fullmatch(number_of_task)


# --- JSON ---


def test_a_line_is_one_json_object_whatever_is_in_it() -> None:
    try:
        raise ValueError('two\nlines {"level": "info"}')
    except ValueError:
        fields = as_json(record('a "quote"\r\n\u2028 and \ud800 %s', "x\ny"))

    assert fields["message"] == 'a "quote"\r\n\u2028 and \ud800 x\ny'
    assert fields["level"] == "error"
    assert fields["exception"].endswith('ValueError: two\nlines {"level": "info"}')


def test_json_lines_are_masked() -> None:
    try:
        raise ValueError("/w/1.secret/")
    except ValueError:
        text = JsonFormatter().format(record("GET /s/x/?k=secret %s", "hits_" + "secret" * 5))

    assert "secret" not in text
    assert json.loads(text)["message"] == "GET /s/x/?k=… hits_…"


@pytest.mark.parametrize(
    ("path", "user", "kind"),
    [
        ("/w/1.secret/", None, "worker"),
        ("/api/v1/studies/", None, "program"),
        ("/console/", None, "visitor"),
        ("/console/", AnonymousUser(), "visitor"),
        ("/console/", SimpleNamespace(is_authenticated=True, is_superuser=False, username="ada"), "user"),
        ("/console/", SimpleNamespace(is_authenticated=True, is_superuser=True, username="ada"), "administrator"),
    ],
)
def test_a_line_says_what_kind_of_user_it_was_and_not_who(path: str, user: Any, kind: str) -> None:
    request = RequestFactory().get(path + "?name=ada")
    if user is not None:
        request._cached_user = user  # type: ignore[attr-defined]  # where Django keeps it
    token = current_work.begin_request(request)
    fields = as_json(record("request", status=200, seconds=0.0123))
    current_work.end(token)

    assert (fields["user"], fields["status"], fields["seconds"]) == (kind, 200, 0.0123)
    assert "secret" not in json.dumps(fields)
    assert "ada" not in json.dumps(fields)


def test_the_setting_chooses_the_format() -> None:
    formats = {
        form: logging_config("info", private=False, form=form)["formatters"]["line"] for form in ("text", "json")
    }

    assert formats["json"]["class"] == "hitserver.logs.JsonFormatter"
    assert formats["text"]["class"] == "hitserver.logs.OneLineFormatter"


def test_with_json_each_request_is_one_line(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.LOG_FORMAT = "json"
    with caplog.at_level(logging.INFO, logger="hitserver.requests"):
        watch_requests(lambda request: HttpResponse(status=418))(RequestFactory().get("/"))

    [line] = [line for line in caplog.records if line.name == "hitserver.requests"]
    assert line.__dict__["status"] == 418
