"""Who created, cancelled and resumed a run."""

from __future__ import annotations

import pytest

from accounts.models import LogEntry
from generation.runs import lifecycle
from tests.generation.support.run_factories import make_file, make_model


@pytest.mark.django_db
def test_who_created_cancelled_and_resumed_a_run_is_in_the_log() -> None:
    make_model()
    file = make_file(name="sweep")
    run, _ = lifecycle.create_run(file=file, actor="ann")
    lifecycle.create_run(file=file, actor="bob")  # there already
    for _ in range(2):
        lifecycle.cancel_run(run_id=run.pk, actor="bob")
    for _ in range(2):
        lifecycle.resume_run(run_id=run.pk, wake_workers=False, actor="ann")
    entries = LogEntry.objects.filter(kind="runs").order_by("pk").values_list("actor", "action", "about")
    assert list(entries) == [
        ("ann", "run created", "sweep"),
        ("bob", "run cancelled", "sweep"),
        ("ann", "run resumed", "sweep"),
    ]
