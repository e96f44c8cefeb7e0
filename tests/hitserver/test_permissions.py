"""Every address of the server, found by asking the server: what is not meant for everybody is shown to nobody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.models import Item, Study, Submission
from tests.analysis.run_factories import make_run
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


def addresses(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, str]]:
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield route, str(entry.name)
        else:
            yield from addresses(entry, route)


ROUTES = dict(addresses(get_resolver()))
OF_STUDIES = sorted(route for route in ROUTES if route.startswith("console/studies/<slug:slug>/"))
OF_RUNS = sorted(route for route in ROUTES if route.startswith(("console/runs/<slug:name>", "console/runs/<slug:run_")))
FOR_EVERYBODY = {"console_login", "console_logout"}
RUN = "somebodys-run"
VALUES = {
    "<str:name>": "report.html",
    "<slug:kind>": "long",
    "<slug:format>": "csv",
    "<int:user_id>": "1",
    "<slug:name>": RUN,
    "<slug:run_name>": RUN,
}


@pytest.fixture
def study() -> Study:
    study = make_study(items=1)
    make_submission(study=study)
    return study


def fill(route: str, study: Study) -> str:
    model = Submission if "submissions/" in route else Item
    pk = str(model._default_manager.values_list("pk", flat=True).get())
    for name, value in (VALUES | {"<slug:slug>": study.slug, "<int:pk>": pk, "<str:task_type>": "abs_hds"}).items():
        route = route.replace(name, value)
    assert "<" not in route, "a new kind of part: give it a value here"
    return f"/{route}"


def test_there_are_pages_of_studies() -> None:
    assert len(OF_STUDIES) > 20
    assert {"report", "report_file", "export"} <= {ROUTES[route] for route in OF_STUDIES}


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("route", OF_STUDIES)
def test_an_outsider_learns_nothing_of_a_study(route: str, method: str, study: Study) -> None:
    response = getattr(signed_in(make_user("outsider")), method)(fill(route, study))
    assert response.status_code in (404, 405)
    assert study.title.encode() not in response.content


def test_there_are_pages_of_runs() -> None:
    names = {"console_run", "console_run_cancel", "run_report", "run_report_file", "run_samples"}
    assert names <= {ROUTES[route] for route in OF_RUNS}


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("route", OF_RUNS)
def test_an_outsider_learns_nothing_of_a_run(route: str, method: str, study: Study) -> None:
    make_run({"greedy": [["a secret text"]]}, name=RUN)
    response = getattr(signed_in(make_user("outsider")), method)(fill(route, study))
    assert response.status_code in (404, 405)
    assert b"secret" not in response.content


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("route", sorted(route for route in ROUTES if route.startswith("console/")))
def test_a_visitor_is_sent_to_sign_in_or_away(route: str, method: str, study: Study) -> None:
    if ROUTES[route] in FOR_EVERYBODY:
        return
    response = getattr(Client(), method)(fill(route, study))
    assert response.status_code in (302, 404, 405)
    assert response.headers.get("Location", reverse("console_login")).startswith(reverse("console_login"))
