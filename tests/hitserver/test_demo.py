"""The demo does the whole job and says clearly when it cannot."""

from __future__ import annotations

import csv
import fcntl
import json
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from annotation.studies.suggesters import suggester_problems
from annotation.task_types.registry import all_types, get_type
from annotation.work import bots
from generation.decoding.prompts import make_prompt
from generation.models import Suggester
from hitserver import demo, demo_suggesters
from hitserver.demo import arguments
from hitserver.demo_steps import Steps
from hitserver.demo_suggesters import make_suggesters
from tests.factories import make_study
from tests.services import ROOT
from tests.support import clean_environment

STEP = re.compile(r"^ *(\d+\.\d) s  (.+)$", re.MULTILINE)
SETS = "sample_id,context,label_value,label_name,resp_0,resp_1\n"


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hitserver.demo", "--no-serve", "--out", str(tmp_path / "out"), *arguments],
        cwd=ROOT,
        env=clean_environment({"HITSERVER_VAR": str(tmp_path / "var")}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_from_a_csv_file_to_report_and_exports(tmp_path: Path) -> None:
    data = tmp_path / "sets.csv"
    rows = [f"s{n},Context {n},{label},content_diversity,Yes {n}.,No {n}.\n" for n in range(3) for label in (1, 0)]
    data.write_text(SETS + "".join(rows), encoding="utf-8")
    done = run(tmp_path, "--data", str(data), "--ratings", "2", "--setup-seconds", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = {text: float(seconds) for seconds, text in STEP.findall(done.stdout)}
    assert [re.sub(r"\W.*", "", text.removeprefix("The ")) for text in steps] == [
        "packages", "program", "database", "Study", "server", "2", "Report", "exports", "in",
    ]  # fmt: skip
    assert steps["The packages are installed."] == 3.0
    *each, total = steps.values()
    assert sum(each) == pytest.approx(total, abs=0.5), "every second belongs to a step"
    out = tmp_path / "out"
    assert "Simulated data" in (out / "report.html").read_text("utf-8")
    assert json.loads((out / "report.json").read_text("utf-8"))
    [long] = out.glob("*long*.csv")
    with long.open(encoding="utf-8", newline="") as file:
        ratings = list(csv.DictReader(file))
    assert len(ratings) == 3 * 2 * 6  # three questions for each of two ratings of each item
    assert {row["synthetic"] for row in ratings} == {"true"}


def test_written_texts_are_judged_in_a_second_act(tmp_path: Path) -> None:
    data = tmp_path / "sets.csv"
    data.write_text("sample_id,context\na,First context.\nb,Second context.\n", encoding="utf-8")
    done = run(tmp_path, "--data", str(data), "--task", "con_test", "--ratings", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "out"
    [written] = out.glob("*outputs*.csv")
    with written.open(encoding="utf-8", newline="") as file:
        outputs = list(csv.DictReader(file))
    # Two contexts × two writers × two sets; each set is judged by two.
    assert len(outputs) == 8
    judged = json.loads((out / "judged" / "report.json").read_text("utf-8"))["sections"]
    assert (judged["data"]["items"], judged["data"]["submissions_used"]) == (8, 16)
    [wide] = (out / "judged").glob("*wide*.csv")
    with wide.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["resp_0"] for row in rows) == sorted(row["text_0"] for row in outputs)
    assert {row["label_value"] for row in rows} == {"0", "1"}


def first_rows(data: Path, folder: Path) -> Path:
    """A file with the first rows of a long one: as many as the largest hit and its practice texts need."""
    with data.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    most = 16 if {"role", "system"} & set(header) else 4
    with (folder / data.name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows[:most]])
    return folder / data.name


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("task", all_types())
def test_every_type_goes_from_its_example_to_a_report(
    task: str, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo's own path, in this process. No model runs, so suggestions come from the pools."""
    monkeypatch.setattr(demo_suggesters, "_has_model", lambda: False)
    monkeypatch.setattr(bots, "LOOK_AGAIN", 0.02)
    demo_suggesters.make_suggesters(get_type(task))
    Suggester.objects.update(wait_seconds=0.01)
    options = arguments(["--task", task, "--data", str(first_rows(demo.example_data(task), tmp_path))])
    study = demo.make_study(options, slug="demo", title="Demo", ratings=1, owner=None)
    assert study.items_per_hit == min(get_type(task).suggested.items_per_hit, study.items.count())

    demo.rate(study, live_server.url, Steps())
    demo.write_results(study, tmp_path, Steps())

    assert not study.hits.filter(n_submitted__lt=F("wanted")).exists()
    sections = json.loads((tmp_path / "report.json").read_text("utf-8"))["sections"]
    assert sections["data"]["items"] == study.items.filter(role="main").count()
    assert [name for name, section in sections.items() if "error" in section] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("task", "made"),
    [
        ("cyoa", {"model-a": "top_k=40", "model-b": "top_p=0.9"}),
        ("mil_story", {"model-a": "top_k=40"}),
        ("slogan", {"model-a": "top_k=40"}),
        ("abs_hds", {}),
    ],
)
def test_types_with_suggestions_get_suggesters_with_which_they_can_go_live(task: str, made: dict[str, str]) -> None:
    lines = make_suggesters(get_type(task))

    assert dict(Suggester.objects.values_list("name", "decoder")) == made
    assert len(lines) >= len(made)
    assert suggester_problems(make_study(task_type=task, items=1, live=False)) == []
    assert make_suggesters(get_type(task)) == [], "those that exist stay"


@pytest.mark.django_db
def test_a_suggestion_for_a_slogan_is_a_whole_slogan_and_not_the_rest_of_what_is_in_the_box() -> None:
    make_suggesters(get_type("slogan"))
    suggester = Suggester.objects.get(name="model-a")

    fields = {"prompt": "An umbrella.", "keywords": "storm, dry", "slogan": "Let it"}
    prompt, _ = make_prompt(suggester.template, fields, suggester.priming)

    assert prompt.endswith("\n\nProduct: An umbrella.\nKeywords: storm, dry Let it\nSlogan:")


@pytest.mark.parametrize(
    ("task", "name"),
    [("abs_hds", "sets.csv"), ("cyoa", "prompts.csv"), ("slogan", "products.csv"), ("no_such_task", "sets.csv")],
)
def test_items_are_those_of_the_type_s_example_unless_a_file_is_named(task: str, name: str) -> None:
    assert arguments(["--task", task]).data.name == name
    assert arguments(["--task", task, "--data", __file__]).data == Path(__file__)


def test_an_unusable_file_is_explained_without_a_stack_trace(tmp_path: Path) -> None:
    data = tmp_path / "sets.csv"
    data.write_text(SETS + "s1,,1,content_diversity,Yes.,No.\n", encoding="utf-8")
    done = run(tmp_path, "--data", str(data))
    assert done.returncode == 1
    assert "context" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere.csv"], "nowhere.csv"),
        (["--ratings", "0"], "at least 1"),
        (["--task", "no_such_task"], "no_such_task"),
        (["--port", "70000"], "65535"),
    ],
)
def test_wrong_arguments_are_explained(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("db.sqlite3")), "nothing was begun"


def test_other_users_cannot_open_what_the_first_demo_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that starts next in this folder would otherwise warn about it."""
    monkeypatch.setattr(demo, "VAR", tmp_path / "var" / "demo")
    with demo.start_over():
        assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700


def test_a_second_demo_leaves_the_first_alone(tmp_path: Path) -> None:
    mine = tmp_path / "var" / "demo" / "db.sqlite3"
    mine.parent.mkdir(parents=True)
    mine.write_text("the first one's")
    with (tmp_path / "var" / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(tmp_path)
    assert done.returncode == 1
    assert "Another demo is running" in done.stderr
    assert "HITSERVER_VAR" in done.stderr
    assert mine.read_text() == "the first one's"


def test_a_port_in_use_is_reported_before_anything_is_done(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "hitserver.demo", "--port", str(port)],
            cwd=ROOT,
            env=clean_environment({"HITSERVER_VAR": str(tmp_path / "var")}),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "var").exists()


def test_ending_the_demo_ends_its_server(tmp_path: Path) -> None:
    data = tmp_path / "sets.csv"
    data.write_text(SETS + "s1,Context,1,content_diversity,Yes.,No.\n", encoding="utf-8")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "hitserver.demo", "--data", str(data), "--ratings", "1"),
            *("--out", str(tmp_path / "out"), "--port", "0"),
        ],
        cwd=ROOT,
        env=clean_environment({"HITSERVER_VAR": str(tmp_path / "var")}),
        stdout=subprocess.PIPE,
        text=True,
        # Tests that run in the background are started with this signal ignored, and their processes would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    console = ""
    for line in process.stdout:
        if line.startswith("Console:"):
            console = line
        if "Ctrl-C" in line:
            break
    port = int(console.split("127.0.0.1:")[1].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
