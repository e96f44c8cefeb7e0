"""The weights of a suggester's model are compared when a process opens it, as those of a run's model are."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from generation.backends import open_backend
from generation.models import Suggester, Suggestion
from generation.suggestions import suggester_process
from generation.suggestions.definitions import change_suggester
from generation.suggestions.suggester_process import SuggesterProcess
from generation.suggestions.suggester_uses import InUse, hold_suggesters
from generation.suggestions.weights import accept_weights, changed_weights
from tests.generation.suggestions.test_suggester_process import ended, ready, turns
from tests.generation.support.tiny_models import tiny
from tests.generation.support.toy_suggestions import ToyShop, ask_for, make_model, make_pool, make_suggester
from tests.services import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
COMMIT, OTHER = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggester_process, "REFRESH_SECONDS", 0.01)


def process_with(**origin: str) -> SuggesterProcess:
    """A process that has opened a model with these weights and compared them."""
    process = ready(ToyShop(origin=origin))
    turns(process, lambda: all(lane.compared for lane in process.lanes.values()))
    return process


def shown_by(process: SuggesterProcess, suggester: Suggester, key: str) -> Suggestion:
    """What a writer gets."""
    row = ask_for(suggester, key)
    turns(process, lambda: ended(row))
    row.refresh_from_db()
    return row


def test_the_suggester_stores_what_its_model_was_at_first() -> None:
    suggester = make_suggester()
    process_with(commit=COMMIT)
    suggester.refresh_from_db()
    assert suggester.origin == {"commit": COMMIT, "dtype": "toy", "device": "nowhere"}
    assert changed_weights(suggester) is None


@pytest.mark.parametrize("kind", ["commit", "sha256"])
def test_a_model_with_other_weights_does_not_write_for_the_suggester(kind: str) -> None:
    suggester = make_suggester()
    make_pool(suggester, "A bell rang in the distance.")
    process_with(**{kind: COMMIT})._finish()
    process = process_with(**{kind: OTHER})

    row = shown_by(process, suggester, "after")

    assert row.from_pool and not row.raw_text
    assert f"it was {kind} {COMMIT} and is now {kind} {OTHER}" in row.message
    suggester.refresh_from_db()
    assert changed_weights(suggester) == (f"{kind} {COMMIT}", f"{kind} {OTHER}")
    assert not shown_by(process, make_suggester("new"), "new").from_pool, "one that begins with the new weights"


def test_when_the_old_files_are_back_it_writes_again() -> None:
    suggester = make_suggester()
    for commit in (COMMIT, OTHER):
        process_with(commit=commit)._finish()
    process = process_with(commit=COMMIT)
    assert not shown_by(process, suggester, "k").from_pool
    suggester.refresh_from_db()
    assert changed_weights(suggester) is None


def test_accepted_weights_are_used_at_once_and_noted_with_each_suggestion() -> None:
    suggester = make_suggester()
    process_with(commit=COMMIT)._finish()
    process = process_with(commit=OTHER)

    accept_weights(suggester=suggester)

    row = shown_by(process, suggester, "k")
    assert not row.from_pool
    assert row.parameters["weights"] == {"commit": OTHER}
    suggester.refresh_from_db()
    assert changed_weights(suggester) is None


def test_other_libraries_and_servers_without_weights_continue() -> None:
    suggester = make_suggester()
    process_with(commit=COMMIT, versions="1")._finish()
    process_with(commit=COMMIT, versions="2")._finish()
    process = process_with(server="vllm")
    assert not shown_by(process, suggester, "k").from_pool


def test_while_a_live_study_uses_it_other_weights_cannot_be_accepted() -> None:
    suggester = make_suggester()
    for commit in (COMMIT, OTHER):
        process_with(commit=commit)._finish()
    hold_suggesters(names=["a"], user="study-1")
    with pytest.raises(InUse, match="study-1"):
        accept_weights(suggester=suggester)


def test_another_model_begins_anew() -> None:
    suggester = make_suggester()
    process_with(commit=COMMIT)._finish()
    change_suggester(suggester=suggester, model=make_model("other"))
    suggester.refresh_from_db()
    assert suggester.origin == {}


def test_the_command_says_what_changed_and_accepts_it() -> None:
    make_suggester()
    for commit in (COMMIT, OTHER):
        process_with(commit=commit)._finish()
    out = io.StringIO()
    call_command("suggester", "list", stdout=out)
    assert OTHER in out.getvalue() and "manage.py suggester accept a" in out.getvalue()
    call_command("suggester", "accept", "a", stdout=out)
    assert "a now uses the new files" in out.getvalue()


def test_files_that_changed_between_two_starts_are_noticed(tmp_path: Path) -> None:
    """With real weights: the folder of a model is replaced while no process runs."""
    folder = tmp_path / "model"
    make_model("files", source=str(folder), dtype="float32", device="cpu")
    suggester = make_suggester(model="files")
    for seed in (1, 2):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tiny(seed=seed), folder)
        process = SuggesterProcess(open_backend=open_backend, poll=0)

        def compared(process: SuggesterProcess = process) -> bool:
            process.turn()
            return any(lane.compared for lane in process.lanes.values())

        wait_for(compared, "the model")
        process._finish()
    suggester.refresh_from_db()
    changed = changed_weights(suggester)
    assert changed is not None and changed.was != changed.now
