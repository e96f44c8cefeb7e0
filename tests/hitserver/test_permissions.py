"""Who gets which answer from every address of the server. ``permissions.txt`` has the table.

The addresses are found by asking the server, so a new one needs a row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, reverse

from annotation.models import Item, Study, Submission
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_study, make_submission
from tests.generation.support.finished_runs import make_run
from tests.hitserver.support.api_objects import SCOPES
from tests.hitserver.support.everybody import ROLES, Everybody, addresses, make_everybody
from tests.hitserver.support.rare_objects import PROVIDER

pytestmark = pytest.mark.django_db


ROUTES = dict(addresses(get_resolver()))
OF_STUDIES = sorted(route for route in ROUTES if route.startswith("console/studies/<slug:slug>/"))
OF_RUNS = sorted(route for route in ROUTES if route.startswith(("console/runs/<slug:name>", "console/runs/<slug:run_")))
FOR_EVERYBODY = {"console_login", "console_logout", "console_join", "console_way_in", "console_sso", "console_sso_done"}
#: Browsers send the first two.
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
TABLE = Path(__file__).with_name("permissions.txt")
RUN = "somebodys-run"
VALUES = {
    "<str:name>": "report.html",
    "<slug:kind>": "long",
    "<slug:format>": "csv",
    "<slug:key>": "time-0",
    "<int:user_id>": "1",
    "<int:number>": "0",
    "<int:delivery_pk>": "0",
    "<slug:name>": RUN,
    "<slug:run_name>": RUN,
    "<slug:platform>": "mturk",
    "<slug:staged>": "0" * 32,
    "<slug:questionnaire>": "before",
}


@pytest.fixture
def study() -> Study:
    study = make_study(items=1)
    make_submission(study=study)
    return study


def fill(route: str, study: Study) -> str:
    model = Submission if "submissions/" in route else Item
    pk = str(model._default_manager.values_list("pk", flat=True).get())
    worker = study.participants.get().pseudonym
    own = {"<slug:slug>": study.slug, "<int:pk>": pk, "<str:task_type>": "abs_hds", "<str:pseudonym>": worker}
    for name, value in (VALUES | own).items():
        route = route.replace(name, value)
    assert "<" not in route, "a new kind of part: give it a value here"
    return f"/{route}"


def test_the_list_of_studies_has_pages() -> None:
    assert len(OF_STUDIES) > 20
    assert {"report", "report_file", "export"} <= {ROUTES[route] for route in OF_STUDIES}


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("route", OF_STUDIES)
def test_an_outsider_sees_nothing_of_a_study(route: str, method: str, study: Study) -> None:
    response = getattr(signed_in(make_user("outsider")), method)(fill(route, study))
    assert response.status_code in (404, 405)
    assert study.title.encode() not in response.content


def test_the_list_of_runs_has_pages() -> None:
    names = {"console_run", "console_run_cancel", "run_report", "run_report_file", "run_samples"}
    assert names <= {ROUTES[route] for route in OF_RUNS}


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("route", OF_RUNS)
def test_an_outsider_sees_nothing_of_a_run(route: str, method: str, study: Study) -> None:
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


# --- the whole table ------------------------------------------------------------------------------------------------

#: Parts of the table, each a test: what a route begins with. All other routes are in the last part.
PARTS = (
    *("console/studies/", "console/runs/", "console/", "api/", "marketplace/operate/my/", "marketplace/operate/"),
    *("marketplace/", ""),
)


def part_of(route: str) -> str:
    return next(part for part in PARTS if route.startswith(part))


def answers(everybody: Everybody, method: str, route: str) -> list[str]:
    """The status that each role gets and, from the API, each of the owner's tokens. Everything is undone."""
    statuses: list[str] = []
    for role in (*ROLES, *SCOPES) if route.startswith("api/") else ROLES:
        with transaction.atomic():
            statuses.append(str(everybody.answer(role, method, route)))
            transaction.set_rollback(True)
    return statuses


def _is_done(everybody: Everybody, method: str, route: str) -> bool:
    """Whether the address supports the method."""
    with transaction.atomic():
        status = everybody.answer("owner", method, route)
        transaction.set_rollback(True)
    return status != 405


def row(method: str, route: str, statuses: list[str]) -> str:
    request = f"{method:5} /{route}"
    return f"{request:73}" + "".join(f"{status:>10}" for status in statuses)


def expected(part: str) -> list[str]:
    lines = TABLE.read_text().splitlines()
    rows = [line.rstrip() for line in lines if line.startswith(METHODS)]
    return [line for line in rows if part_of(line.split()[1].removeprefix("/")) == part]


def test_every_row_is_about_something_that_exists() -> None:
    """Otherwise the row would be the same if everybody could read or change it."""
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith(METHODS)]
    # Who has not signed in is sent away, and accounts without a part here are refused, whatever there is.
    assert [
        line for line in rows if set(line.split()[2:]) - {"302", "401", "403"} == {"404"} and "302" not in line[90:]
    ] == []


@pytest.fixture
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A POST that is allowed may start a task, which would load a model or build a report here."""
    for method in ("celery.app.task.Task.apply_async", "celery.app.base.Celery.send_task"):
        monkeypatch.setattr(method, lambda *_, **__: None)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.usefixtures("nothing_is_queued")
def test_everybody_gets_the_answer_that_the_table_says(part: str, settings: Any, tmp_path: Path) -> None:
    settings.MARKETPLACE_FILES, settings.VAR = tmp_path, tmp_path
    settings.API_REQUESTS_PER_MINUTE = settings.API_VISITORS_PER_MINUTE = 0
    settings.OIDC = PROVIDER
    settings.METRICS_TOKEN, settings.METRICS_OPEN = "a-token-that-nobody-sends", True
    everybody = make_everybody()
    routes = sorted({route for route, _ in addresses(get_resolver()) if part_of(route) == part})
    methods = METHODS if part == "api/" else METHODS[:2]
    lines = [
        row(method, route, answers(everybody, method, route)).rstrip()
        for route in routes
        for method in methods
        if part != "api/" or _is_done(everybody, method, route)
    ]
    lines = [line for line in lines if set(line.split()[2:]) != {"405"}]
    assert lines == expected(part), "\n".join(lines)
