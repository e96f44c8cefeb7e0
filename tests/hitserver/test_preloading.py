"""Nothing that a worker's first page needs is left to load while the worker waits."""

import logging
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.http import HttpRequest, HttpResponseBase
from django.template import engines
from django.test.utils import CaptureQueriesContext

from hitserver.preloading import load_for_requests, open_first_page
from tests.services import ROOT
from tests.support import clean_environment

PROBE = textwrap.dedent(
    """
    import sys
    import hitserver.wsgi
    from hitserver.preloading import load_for_requests

    load_for_requests()
    before = set(sys.modules)
    from annotation.task_types.registry import all_types
    from django.template import engines
    from django.template.loader import get_template

    types = all_types()
    loader, = engines["django"].engine.template_loaders
    print("TEMPLATES", *loader.get_template_cache)
    get_template("annotation/work.html")
    print("TYPES", len(types))
    print("LATE", *sorted(set(sys.modules) - before))
    """
)


def test_task_types_and_workers_pages_are_loaded_before_the_first_request(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=clean_environment({"HITSERVER_VAR": str(tmp_path), "PYTHONPATH": str(ROOT)}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    lines = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert int(lines["TYPES"]) >= 14
    assert lines["LATE"] == ""
    assert "work/start.html" in lines["TEMPLATES"]
    assert "annotation/work.html" in lines["TEMPLATES"]


class Recorded(WSGIHandler):
    """The application, which notes what it responded."""

    def __init__(self) -> None:
        super().__init__()
        self.responses: list[tuple[str, int]] = []

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        response = super().get_response(request)
        self.responses.append((request.path, response.status_code))
        return response


@pytest.mark.django_db(transaction=True)
def test_the_first_page_was_opened_once_before_the_server_is_ready() -> None:
    application = Recorded()

    load_for_requests(application)

    assert application.responses == [("/", 302), ("/console/", 302), ("/console/login/", 200)]
    (loader,) = engines["django"].engine.template_loaders  # type: ignore[attr-defined]
    assert {"console/login.html", "console/studies.html"} <= set(loader.get_template_cache)


@pytest.mark.django_db
def test_opening_the_first_page_reads_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hitserver.preloading.connections.close_all", lambda: None)  # this test's own, too

    with CaptureQueriesContext(connection) as seen:
        open_first_page(WSGIHandler())

    assert "session" in seen.captured_queries[0]["sql"]


def test_a_first_page_that_fails_does_not_stop_the_server(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(WSGIHandler):
        def get_response(self, request: HttpRequest) -> HttpResponseBase:
            raise OSError("no database")

    with caplog.at_level(logging.WARNING):
        load_for_requests(Broken())

    assert "The first page could not be opened" in caplog.text
