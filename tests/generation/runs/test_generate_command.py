"""``manage.py generate``: what it prints, how it ends, and that it leaves nothing half-done."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from generation.backends.base import BackendError
from generation.management import generate_output as output
from generation.models import GenerationRun, LanguageModel, Sample
from generation.runs import chunks, run_worker
from tests.generation.support.run_factories import make_model
from tests.generation.support.toy_runs import Toy
from tests.services import ROOT
from tests.support import clean_environment

RUN = """\
name: small
models: [toy]
decoders: [greedy, top_p=0.9]
contexts: [One, Two]
samples: 4
limits: {exact: 5}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.run.yaml"
    path.write_text(RUN)
    return path


@pytest.fixture
def ready(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """A registered model that is a toy, for checks too, and a queue that takes messages and does nothing."""
    make_model()
    monkeypatch.setattr("generation.registry.open_models.backend_of", toy.backend_of)
    monkeypatch.setattr("generation.queueing.send_work", lambda run_id: None)
    return toy


def generate(*arguments: Any) -> str:
    """What the command prints."""
    out = io.StringIO()
    call_command("generate", *map(str, arguments), stdout=out)
    return out.getvalue()


def refused(*arguments: Any) -> tuple[str, str, str]:
    """What is printed, the problems listed, and the sentence after them."""
    out, listed = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("generate", *map(str, arguments), stdout=out, stderr=listed)
    return out.getvalue(), listed.getvalue(), str(caught.value)


# --- models ---


@pytest.mark.django_db
def test_a_model_is_registered_and_checked(ready: Toy) -> None:
    output = generate("register", "new", "--backend", "transformers", "--source", "x", "--option", "threads=2",
                    "--option", "mode=fast")  # fmt: skip
    assert "new is registered." in output
    assert "new works (float32 on cpu)." in output
    assert "parameters  0.0 M" in output
    assert "gives       log p and log q" in output
    model = LanguageModel.objects.get(name="new")
    assert (model.options, model.check_state) == ({"threads": 2, "mode": "fast"}, "passed")
    assert "new works" in generate("check", "new")
    listed = generate("models")
    assert "new" in listed
    assert "Works" in listed
    assert "is retired" in generate("retire", "new")
    assert "retired" in generate("models")
    assert "can be used again" in generate("retire", "new", "--undo")


@pytest.mark.django_db
def test_a_model_that_does_not_work_ends_with_the_reason(ready: Toy) -> None:
    def fail(number: int) -> None:
        raise BackendError("There is no folder /nowhere.")

    ready.before = fail
    out, _, error = refused("register", "new", "--backend", "transformers", "--source", "/nowhere")
    assert "new is registered." in out
    assert error == "new does not work: There is no folder /nowhere."
    assert "new: There is no folder /nowhere." in generate("models")


@pytest.mark.django_db
def test_where_models_cannot_run_a_worker_is_asked_to_check(
    nothing_installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked_ids: list[int] = []

    def send(model_id: int) -> bool:
        checked_ids.append(model_id)
        return True

    monkeypatch.setattr("generation.management.commands.generate.send_check", send)
    output = generate("register", "--embedded")
    assert "smollm2-135m is registered." in output
    assert "script/setup --models" in output
    assert "A worker will check it." in output
    assert checked_ids == [LanguageModel.objects.get().pk]
    assert "does not work" in refused("check", "smollm2-135m")[2]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("register", "x"), "Give a name, --backend and --source; or --embedded."),
        (("register", "x", "--backend", "transformers", "--source", "y", "--option", "a"), "write NAME=VALUE"),
        (("check", "toi"), "Nothing was written."),
        (("retire", "toi"), "Nothing was written."),
        (("status", "none"), "Nothing was written."),
        (("export", "none"), "Nothing was written."),
        (("cancel", "none"), "Nothing was written."),
        (("resume", "none"), "Nothing was written."),
        (("reproduce", "none", "--sample", "1"), "Nothing was written."),
        (("apply", "/nowhere.yaml"), "Nothing was written."),
    ],
)
def test_refusals_are_explained_in_plain_words(ready: Toy, arguments: tuple[str, ...], message: str) -> None:
    _, listed, error = refused(*arguments)
    assert message in error
    assert "Traceback" not in listed


@pytest.mark.django_db
def test_without_models_the_list_says_how_to_get_one() -> None:
    assert "generate register --embedded" in generate("models")
    assert "There are no runs yet." in generate("status")


# --- runs ---


@pytest.mark.django_db
def test_a_run_is_made_here_exported_and_reproduced(ready: Toy, file: Path, tmp_path: Path) -> None:
    output = generate("apply", file, "--here")
    assert "small: 10 samples in 1 chunk (2 contexts, 1 model, 2 decoders)." in output
    assert "small: done, 10 of 10 samples (100%)" in output
    again = generate("apply", file)
    assert "this run already exists (done); nothing changed." in again
    assert Sample.objects.count() == 10
    assert "small" in generate("status")

    out = tmp_path / "out.csv"
    assert f"{out}: 10 samples" in generate("export", "small", "-o", out)
    rows = list(csv.DictReader(out.open(newline="")))
    assert f"{tmp_path / 'all.jsonl'}: 10 samples" in generate("export", "small", "-o", tmp_path / "all.jsonl")
    assert json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])["sample"] == rows[0]["sample"]

    output = generate("reproduce", "small", "--sample", rows[0]["sample"])
    assert "The texts are equal." in output
    Sample.objects.filter(pk=rows[0]["sample"]).update(text="other")
    output, _, sentence = refused("reproduce", "small", "--sample", rows[0]["sample"])
    assert "The texts differ." in output
    assert "batch a text was made in" in output
    assert sentence == "The sample was not reproduced."
    assert "Its samples have ids from" in refused("reproduce", "small", "--sample", "999999")[1]


@pytest.mark.django_db
def test_a_run_is_started_for_the_workers(
    ready: Toy, file: Path, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    run_ids: list[int] = []
    monkeypatch.setattr("generation.queueing.send_work", run_ids.append)
    with django_capture_on_commit_callbacks(execute=True):
        output = generate("apply", file)
    run = GenerationRun.objects.get()
    assert "Next: manage.py generate status small --watch" in output
    assert (run_ids, run.state) == ([run.pk], "waiting")
    status = generate("status", "small")
    assert "small: waiting, 0 of 10 samples (0%)" in status
    assert "No worker with models is running." in status
    figures = json.loads(generate("status", "small", "--json"))
    assert (figures["run"], figures["state"], figures["n_wanted"], figures["share"]) == ("small", "waiting", 10, 0.0)


@pytest.mark.django_db
def test_waiting_shows_the_progress_until_the_end(ready: Toy, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        run_worker.work_on(run_id=GenerationRun.objects.get().pk, worker="w", backend_of=ready.backend_of)

    monkeypatch.setattr("time.sleep", sleep)
    output = generate("apply", file, "--wait")
    assert "waiting, 0 of 10 samples (0%). No worker with models is running" in output
    assert "done, 10 of 10 samples (100%)" in output


@pytest.mark.django_db
def test_a_run_that_fails_ends_with_its_message(ready: Toy, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(number: int) -> None:
        raise BackendError("The server answered 500.")

    monkeypatch.setattr(chunks, "PAUSE_SECONDS", 0.0)
    ready.before = fail
    out, _, error = refused("apply", file, "--here")
    assert "small: failed, 0 of 10 samples" in out
    assert error == "The run small has failed. Chunk 0 (toy) failed: The server answered 500."
    ready.before = lambda number: None
    assert "small: done, 10 of 10" in generate("resume", "small", "--here")


@pytest.mark.django_db
def test_ctrl_c_hands_the_chunk_back_and_the_same_command_continues(ready: Toy, file: Path) -> None:
    def interrupt(number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt

    ready.before = interrupt
    assert "Stopped. Stored samples stay" in refused("apply", file, "--here")[2]
    assert not GenerationRun.objects.get().chunks.exclude(leased_by="").exists()
    assert "small: done, 10 of 10" in generate("apply", file, "--here")


@pytest.mark.django_db
def test_cancel_and_resume(ready: Toy, file: Path) -> None:
    generate("apply", file)
    assert "small is cancelled" in generate("cancel", "small")
    assert "small: cancelled" in generate("status", "small")
    assert refused("apply", file, "--wait")[2].startswith("The run small was cancelled.")
    assert "small continues." in generate("resume", "small")
    assert GenerationRun.objects.get().state == "running"


@pytest.mark.django_db
def test_problems_of_a_run_file_are_listed_with_their_lines(ready: Toy, file: Path) -> None:
    file.write_text(RUN.replace("samples", "sample") + "seed: x\n")
    _, listed, error = refused("apply", file)
    assert "line 5, sample: There is no “sample”. Did you mean “samples”?" in listed
    assert "line 7, seed: This is the text “x”." in listed
    assert error == "Nothing was written."
    assert not GenerationRun.objects.exists()


@pytest.mark.django_db
def test_an_unknown_model_is_named_with_the_nearest(ready: Toy, file: Path) -> None:
    file.write_text(RUN.replace("[toy]", "[toi]"))
    assert "models: There is no “toi”. Did you mean “toy”?" in refused("apply", file)[1]


@pytest.mark.django_db
def test_an_export_gets_its_name_only_when_it_is_complete(
    ready: Toy, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate("apply", file, "--here")
    out = tmp_path / "out.csv"
    out.write_text("before")

    def fail(*_: Any) -> Any:
        raise OperationalError("disk I/O error")

    monkeypatch.setattr("generation.runs.export.samples_of", fail)
    assert "The database refused: disk I/O error." in refused("export", "small", "-o", out)[2]
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []
    assert "there is no folder" in refused("export", "small", "-o", tmp_path / "no" / "out.csv")[2]
    assert f"{tmp_path}: is a folder; name a file in it." in refused("export", "small", "-o", tmp_path)[2]


@pytest.mark.django_db
def test_an_export_to_standard_output_is_the_file_and_nothing_else(ready: Toy, file: Path) -> None:
    generate("apply", file, "--here")
    rows = list(csv.DictReader(io.StringIO(generate("export", "small"), newline="")))
    assert len(rows) == 10
    assert all(row["text"].startswith(" ") for row in rows)


@pytest.mark.slow
def test_a_wrong_command_line_exits_with_2_and_a_refused_action_with_1(tmp_path: Path) -> None:
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path), "HITSERVER_PARTS": "studies"})

    def ends_with(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "manage.py", "generate", *arguments]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert ends_with("export", "x", "--sets", "3")[0] == 2
    code, output = ends_with("status", "x")
    assert code == 1
    assert "Run: manage.py migrate" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3599, "60 min"), (12_000, "3 h 20 min")]
)
def test_durations_as_people_say_them(seconds: float, shown: str) -> None:
    assert output.duration(seconds) == shown


def test_sizes_as_people_say_them() -> None:
    assert [output.size(count) for count in (None, 91_730_000, 1_548_000_000)] == ["–", "92 MB", "1.5 GB"]
