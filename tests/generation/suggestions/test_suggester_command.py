"""``manage.py suggester``."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from generation.backends.base import BackendError, ModelSpec
from generation.management.commands import suggester as command
from generation.models import ModelWorker, PoolText, Suggester, Suggestion
from tests.generation.support.toy_suggestions import ToyBackend, ToyShop, ask_for, make_model, make_pool, make_suggester

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> str:
    out = StringIO()
    call_command("suggester", *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def refused(*arguments: object) -> str:
    """The problems listed, and the sentence after them."""
    listed = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("suggester", *map(str, arguments), stdout=StringIO(), stderr=listed)
    return f"{listed.getvalue()}{error.value}"


def test_a_suggester_is_added_with_the_defaults_of_a_writing_study() -> None:
    make_model("toy")

    out = run("add", "a", "--model", "toy", "--decoder", "top_p=0.90")

    suggester = Suggester.objects.get()
    assert "a suggests with toy, top_p=0.9." in out
    assert "No suggester process is running" in out
    assert (suggester.decoder, suggester.template, suggester.least_characters, suggester.most_characters) == (
        "top_p=0.9",
        "{story}",
        20,
        260,
    )
    assert (suggester.limits["stop"], suggester.limits["max_new_tokens"]) == ("sentence", 60)
    assert (suggester.wait_seconds, suggester.tries, suggester.active) == (10, 3, True)


def test_every_value_can_be_given_and_changed(tmp_path: Path) -> None:
    make_model("toy")
    words, priming = tmp_path / "words.txt", tmp_path / "priming.txt"
    words.write_text("hell\ndamn\n")
    priming.write_text("Two friends tell a story.")
    run(
        *("add", "a", "--model", "toy", "--limit", "max_new_tokens=30", "--limit", "stop=", "--template", "S: {story}"),
        *("--priming-file", priming, "--word-list", words, "--least", 10, "--most", 99, "--wait", 3, "--tries", 5),
    )

    run("change", "a", "--decoder", "greedy", "--limit", "min_words=2", "--deactivate")

    suggester = Suggester.objects.get()
    assert (suggester.template, suggester.priming, suggester.word_list) == (
        "S: {story}",
        "Two friends tell a story.",
        "hell\ndamn\n",
    )
    assert (suggester.least_characters, suggester.most_characters, suggester.wait_seconds, suggester.tries) == (
        10,
        99,
        3,
        5,
    )
    assert (suggester.decoder, suggester.active) == ("greedy", False)
    assert suggester.limits == {"max_new_tokens": 30, "min_new_tokens": 1, "exact": None, "stop": "", "min_words": 2}


REFUSALS = [
    (("add", "b", "--model", "tox"), "There is no “tox”. Did you mean “toy”?"),
    (("add", "a", "--model", "toy"), "There is already a suggester a."),
    (("add", "b c", "--model", "toy"), "name: Enter a valid “slug”"),
    (("add", "b", "--model", "toy", "--decoder", "top_p=2"), "decoder: top_p is 2"),
    (("add", "b", "--model", "toy", "--template", "go on"), "template: It has no field"),
    (("add", "b", "--model", "toy", "--template", "{story"), "template: The brace at character 1"),
    (("add", "b", "--model", "toy", "--limit", "max_tokens=3"), "limits: "),
    (("add", "b", "--model", "toy", "--limit", "max_new_tokens=x"), "max_new_tokens is 'x'"),
    (("add", "b", "--model", "toy", "--limit", "sentence"), "Write it as NAME=VALUE."),
    (("add", "b", "--model", "toy", "--least", "300"), "They are 300 and 260."),
    (("add", "b", "--model", "toy", "--wait", "0"), "wait_seconds: It is 0."),
    (("add", "b", "--model", "toy", "--tries", "0"), "tries: It is 0."),
    (("add", "b", "--model", "toy", "--word-list", "/nowhere/words.txt"), "/nowhere/words.txt: It cannot be read"),
    (("change", "a"), "Say what to change"),
    (("change", "aa", "--tries", "2"), "Did you mean “a”?"),
    (("pool-fill", "a", "--csv", "/nowhere/pool.csv"), "No such file"),
    (("pool-fill", "a", "--csv", "pool.csv", "--round", "3"), "--round and --round-field go with --run. The rounds of"),
    (("pool-fill", "a", "--csv", "pool.csv", "--decoder", "greedy"), "go with --run."),
    (("pool-fill", "a", "--run", "none"), "run: There is no “none”."),
    (("pool-status", "zz"), "There is no “zz”"),
    (("ask", "a", "--story", ""), ""),
    (("run", "--rows", "0"), "--rows is 0; use 1 to 4096."),
    (("run", "--model", "none"), "There is no “none”"),
]


@pytest.mark.parametrize(("arguments", "message"), [case for case in REFUSALS if case[1]])
def test_invalid_entries_are_refused_in_plain_words(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "runnable", lambda: ("transformers",))
    make_suggester("a")

    assert message in refused(*arguments)


def test_all_problems_are_reported_at_once() -> None:
    make_model("toy")

    message = refused("add", "b", "--model", "toy", "--decoder", "top_q=1", "--wait", "900", "--tries", "99")

    assert [line.split(":")[0].strip() for line in message.splitlines()] == [
        "decoder",
        "wait_seconds",
        "tries",
        "Nothing was written.",
    ]


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ("no such table: generation_suggester", "Run: manage.py migrate"),
        ('relation "generation_suggester" does not exist\nLINE 1: SELECT', "Run: manage.py migrate"),
        ("disk I/O error", "Free some space or wait for whatever holds it, then try again."),
    ],
)
def test_a_refusal_by_the_database_is_reported_with_a_fix(
    error: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise OperationalError(error)

    monkeypatch.setattr(command, "find_suggester", fail)
    message = refused("pool-status", "a")
    assert error.splitlines()[0] in message and fix in message


def test_a_retired_model_gets_no_suggester() -> None:
    make_model("toy", retired=True)

    assert "Model toy is retired." in refused("add", "a", "--model", "toy")


def test_the_list_shows_suggesters_and_processes() -> None:
    assert "There are no suggesters yet." in run("list")
    make_suggester("story-a")
    ModelWorker.objects.create(
        name="host:1", role="suggestions", state="ready", message="toy is ready.", seen_at=timezone.now()
    )

    lines = run("list").splitlines()

    assert lines[1].split()[:4] == ["story-a", "toy", "ancestral", "active"]
    assert lines[2] == "host:1: ready. toy is ready."


def test_a_pool_is_filled_and_shown(tmp_path: Path) -> None:
    make_suggester("a")
    path = tmp_path / "pool.csv"
    path.write_text("round,text\n1,A bell rang in the distance.\n1,No.\n")

    out = run("pool-fill", "a", "--csv", path)

    assert out.splitlines() == [
        "Texts: 1 added, 0 already in the pool.",
        "  1 unusable: shorter than 20 characters",
        "  suggester  round  texts  not shown yet",
        "  a          1      1      1",
    ]
    make_suggester("b")
    assert "b: the pool is empty." in run("pool-status")


@pytest.mark.django_db(transaction=True)
def test_asking_by_hand_loads_the_model_when_no_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    make_suggester("a")
    make_suggester("b", decoder="top_p=0.5")
    shop = ToyShop()
    monkeypatch.setattr(command, "open_backend", shop)
    monkeypatch.setattr(command, "runnable", lambda: ("transformers",))

    out = run("ask", "a", "b", "--story", "It rained.", "--seed", "5")

    texts = list(Suggestion.objects.order_by("suggester__name").values_list("text", flat=True))
    assert [line.split("): ")[1] for line in out.splitlines()] == texts
    assert shop.opened["toy"].closed


@pytest.mark.django_db(transaction=True)
def test_asking_by_hand_says_why_the_model_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    make_suggester("a")

    def open_backend(spec: ModelSpec) -> ToyBackend:
        raise BackendError("The file toy.gguf is no model.")

    monkeypatch.setattr(command, "open_backend", open_backend)
    monkeypatch.setattr(command, "runnable", lambda: ("transformers",))

    assert "The file toy.gguf is no model." in refused("ask", "a", "--story", "It rained.")
    assert Suggestion.objects.get().state == "cancelled"


def test_asking_by_hand_where_a_process_runs_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    suggester = make_suggester("a", wait_seconds=0.5)
    make_pool(suggester, "A bell rang in the distance.")
    ModelWorker.objects.create(name="host:1", role="suggestions", state="ready", seen_at=timezone.now())

    out = run("ask", "a", "--story", "It rained.")

    match = re.fullmatch(r"a \((\d+\.\d+) s, from the pool\): A bell rang in the distance\.\n", out)
    assert match and float(match[1]) >= 0.5


def test_a_machine_without_models_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "runnable", lambda: ())

    assert "script/setup --models" in refused("run")


def test_run_holds_the_models_until_it_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Any] = []

    class Process:
        name = "p"

        def __init__(self, **options: Any) -> None:
            held.append(options)

        def run(self) -> None:
            held.append("ran")

    monkeypatch.setattr(command, "runnable", lambda: ("transformers",))
    monkeypatch.setattr(command, "SuggesterProcess", Process)
    monkeypatch.setattr("signal.signal", lambda *arguments: None)
    monkeypatch.setattr(command, "_end_now", lambda: held.append("ended"))
    make_model("toy")

    run("run", "--model", "toy", "--rows", "8")

    assert (held[0]["models"], held[0]["rows"], held[1:]) == (["toy"], 8, ["ran", "ended"])
    assert ask_for(make_suggester("a")).state == "waiting"


def test_texts_that_fit_no_story_are_taken_out_of_a_pool() -> None:
    first, second = make_pool(make_suggester(), "A bell rang in the distance.", "How to make cheese.", round=2)
    (other,) = make_pool(make_suggester("b"), "A bell rang in the distance.")

    assert f"{second.pk}" in run("pool-texts", "a") and "How to make cheese." in run("pool-texts", "a")
    assert f"The pool of a has no text {other.pk}." in refused("pool-remove", "a", second.pk, other.pk)
    assert PoolText.objects.count() == 3

    assert "1 text removed." in run("pool-remove", "a", second.pk)
    assert list(PoolText.objects.order_by("pk")) == [first, other]
