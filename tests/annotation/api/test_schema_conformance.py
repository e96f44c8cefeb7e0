"""Requests made from the schema, right and wrong ones: none fails, and the schema describes every answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts import tokens
from annotation.models import Membership, Participant, Study, Submission
from generation.models import GenerationRun
from tests.factories import make_arms, make_researcher, make_study, make_submission
from tests.generation.support.finished_runs import make_run

pytestmark = [pytest.mark.django_db, pytest.mark.slow(on_every_database=True)]

EXAMPLES = 5
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture
def token() -> str:
    """Of the owner of a draft with arms and of a live study with work."""
    ann = make_researcher("ann")
    draft = make_study(slug="draft", items=2, live=False)
    make_arms(study=draft, arms=[{"name": "plain"}, {"name": "told"}])
    live = make_study(slug="live", items=2)
    make_submission(study=live)
    for study in (draft, live):
        Membership.objects.create(study=study, user=ann, role="owner")
    make_run({"greedy": [["a text"]]}, name="sweep")
    GenerationRun.objects.update(created_by="ann")
    return tokens.create_token(user=ann, name="script", scopes=["read", "collect", "pay"]).text


@pytest.fixture
def application() -> Iterator[WSGIHandler]:
    """The server. As in Django's own client, it leaves the connection to the database open after a request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield WSGIHandler()
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def as_many_requests_as_it_takes(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is refused because of a limit, and no task runs while a request waits."""
    settings.API_REQUESTS_PER_MINUTE = 0
    for method in ("celery.app.task.Task.apply_async", "celery.app.base.Celery.send_task"):
        monkeypatch.setattr(method, lambda *_, **__: None)


def about_something(case: Any, number: int) -> None:
    """Puts what exists into most addresses: generated names are those of nothing."""
    known: dict[str, Any] = {"slug": ("draft", "live"), "item": ("s0",), "user": ("ann",), "number": (1, 0)}
    known["name"] = ("abs_hds",) if "task-types" in case.path else ("sweep",) if "/runs/" in case.path else ("plain",)
    known["pseudonym"] = tuple(Participant.objects.values_list("pseudonym", flat=True))
    known["id"] = tuple(Submission.objects.values_list("pk", flat=True))
    known |= {"kind": ("long", "wide"), "suffix": ("csv", "jsonl")}
    for name, values in known.items():
        if name in case.path_parameters and number % 4:
            case.path_parameters[name] = values[number % len(values)]


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_fits_the_schema(mode: GenerationMode, token: str, application: WSGIHandler) -> None:
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", application)
    operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(operations) > 20
    requests = 0
    for operation in operations:

        @given(case=operation.as_strategy(generation_mode=mode))
        @hypothesis_settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            nonlocal requests
            requests += 1
            about_something(case, requests)
            with transaction.atomic():
                case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)
                transaction.set_rollback(True)

        ask()
    assert requests >= len(operations)
    assert set(Study.objects.values_list("slug", flat=True)) == {"draft", "live"}
