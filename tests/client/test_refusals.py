"""Bad input through the client, for every operation of the API: what people read says what, where and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generation.models import GenerationRun
from hitserver_client import ProblemError
from tests.client.support.calls import CALLS
from tests.client.support.in_process import client_of
from tests.client.support.wrong_calls import BEFORE_THE_WORK, World
from tests.client.support.wrong_calls_on_work import ON_THE_WORK
from tests.factories import make_arms, make_researcher, make_study, make_submission
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db
WRONG = BEFORE_THE_WORK | ON_THE_WORK
#: What the frameworks behind the API say to programmers, and what is no text for people.
NO_WORDS_FOR_PEOPLE = re.compile(
    r"Traceback|<\w|&quot;|HTTP \d|matches the given|valid choice|This field|A valid|\bNone\b|\w+Error"
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[World]:
    settings.API_REQUESTS_PER_MINUTE = 0
    for method in ("celery.app.task.Task.apply_async", "celery.app.base.Celery.send_task"):
        monkeypatch.setattr(method, lambda *_, **__: None)
    ada = make_researcher("ada")
    draft = make_study(slug="draft", items=2, live=False, owner=ada)
    make_arms(study=draft, arms=[{"name": "plain"}, {"name": "more"}])
    make_study(slug="empty", items=0, live=False, owner=ada)
    make_submission(study=make_study(slug="live", items=2, owner=ada))
    make_run({"greedy": [["a text"]]}, name="sweep")
    GenerationRun.objects.update(created_by="ada")
    with client_of(ada) as hits:
        for team in ("crew", "club"):
            hits.teams.create(team, team.title())
        hits.study("empty").set_team("club")
        yield World(hits, hits.study("draft"), hits.study("live"), tmp_path)


def test_every_operation_refuses_something_in_words_for_people(world: World) -> None:
    """One test for all, because making the world takes longer than all the requests."""
    assert set(WRONG) == set(CALLS)
    for operation, (call, words) in WRONG.items():
        with pytest.raises(ProblemError) as refused:
            call(world)
        text = str(refused.value)
        assert words in text, operation
        assert not NO_WORDS_FOR_PEOPLE.search(text), f"{operation}: {text}"
        assert 400 <= refused.value.status < 500, operation
        for line in text.splitlines():
            assert len(re.findall(r"[.:;?] ?", line)) >= 2, f"{operation} names no fix: {line}"
