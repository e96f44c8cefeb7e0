"""Diversity Threshold Generation on the sets of a run, and the command that writes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from analysis.diversity.metrics import cos_sim, distinct_n
from common.problems import Invalid
from generation.backends.base import NotGenerated
from generation.decoding.seeds import sample_seed
from generation.diversify.metrics import find_metrics
from generation.diversify.references import references_in_columns, references_in_file
from generation.diversify.run_sets import Design, diversify_run
from generation.diversify.threshold_of_people import threshold_of_people
from generation.models import LanguageModel, RunContext
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db


def words(texts: Any) -> float:
    return float(len({word for text in texts for word in text.split()}))


def test_sets_are_resampled_from_the_runs_own_samples_in_order() -> None:
    run = make_run({"ancestral": [["a", "a", "a", "a", "b", "c"]]})
    (diversified,) = diversify_run(run, Design(words, 2, size=3))
    # a a a → drop one, "a" comes → "b" → "c": six responses in all, and one "a" of the first three is left: {a, b, c}.
    assert (diversified.result.n_sampled, diversified.result.reached, sorted(diversified.result.end)) == (
        6,
        True,
        ["a", "b", "c"],
    )


def test_more_are_drawn_only_where_the_run_has_too_few() -> None:
    run = make_run({"ancestral": [["a", "b", "c"], ["a", "a", "a"]]})
    draws: list[tuple[str, str, int, int]] = []

    def more(context: RunContext, model: LanguageModel, decoder: str, first: int, n: int) -> list[str]:
        draws.append((context.external_id, decoder, first, n))
        return ["x", "y", "z"]

    diversified = list(diversify_run(run, Design(words, 2, size=3, most_sampled=8), draw_more=more))
    assert draws == [("c1", "ancestral", 3, 5)]
    assert [diversified_set.result.reached for diversified_set in diversified] == [True, True]
    assert sorted(diversified[1].result.end) == ["a", "x", "y"]


def test_the_command_writes_sets_for_diversity_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"temperature=0.7": [["a b", "=a c", "a b", "d e"]]})
    call_command("samples", "diversify", "sweep", "--threshold", "0.99", "--size", "3", "--most", "4")
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["label_name"], row["label_value"], row["context"]) == ("temperature", "0.7", "Prompt 0")
    # Dropping either "a b" leaves the same best rest: the first goes, and "d e" comes.
    assert [row[f"resp_{number}"] for number in range(3)] == ["'=a c", "a b", "d e"]
    assert float(row["end_score"]) == pytest.approx(distinct_n(["=a c", "a b", "d e"]))
    assert (row["n_sampled"], row["overlap"], row["reached"]) == ("4", "2", "0")


def test_every_trial_has_its_own_samples() -> None:
    run = make_run({"ancestral": [["a", "a", "b", "c", "d", "x", "x", "x", "y", "z"]]})
    first, second = diversify_run(run, Design(words, 2, size=3, most_sampled=5, trials=2))
    assert (first.result.start, second.result.start) == (("a", "a", "b"), ("x", "x", "x"))
    assert (first.numbers, second.numbers) == ([1, 2, 3], [7, 8, 9])
    assert sorted(second.result.end) == ["x", "y", "z"]


def test_a_trial_without_samples_draws_its_first_set_and_then_the_rest() -> None:
    run = make_run({"ancestral": [["a", "b", "c", "d"]]})
    draws: list[tuple[int, int]] = []

    def more(context: RunContext, model: LanguageModel, decoder: str, first: int, n: int) -> list[str]:
        draws.append((first, n))
        return [f"x{first}"] * n

    design = Design(words, 1, size=3, most_sampled=5, trials=2)
    first, second = diversify_run(run, design, draw_more=more)
    assert first.result.n_sampled == 3  # already above: nothing is drawn
    assert draws == [(5, 3), (8, 2)]
    assert second.result.end == ("x5", "x5", "x8")
    with pytest.raises(ValueError, match="trial 2 needs the samples 5 to 7"):
        list(diversify_run(run, design))


def test_the_file_has_trials_relevance_and_the_numbers_of_the_samples(capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run({"ancestral": [["the boat", "the boat", "the boat", "Prompt 0", "x", "x", "x", "x"]]})
    arguments = ("--threshold", "0.9", "--size", "3", "--most", "4", "--trials", "2", "--stop", "cos-sim")
    run.contexts.update(fields={"human": "Prompt 0"})
    call_command("samples", "diversify", run.name, *arguments, "--reference", "human")
    out, errors = capsys.readouterr()
    first, second = csv.DictReader(io.StringIO(out))
    assert [(row["sample_id"], row["trial"], row["samples"]) for row in (first, second)] == [
        ("c0", "1", "1 2 3"), ("c0", "2", "5 6 7"),
    ]  # fmt: skip
    # Of three responses the last is the reference itself, whose BLEU is 1; the others share no word with it.
    assert float(first["start_bleu"]) == 0
    assert float(first["end_bleu"]) == pytest.approx(1 / 3)
    assert float(first["start_stop"]) == pytest.approx(cos_sim(["the boat"] * 3))
    assert float(first["end_stop"]) == pytest.approx(cos_sim(["the boat", "the boat", "Prompt 0"]))
    assert "0 of 2 sets ended above cos-sim = 0.9." in errors
    assert "tiny, ancestral: 0 of 2 above; score " in errors
    assert "4.0 responses drawn; 2.0 of the first set left; bleu 0.000 → 0.167" in errors


def test_the_threshold_is_a_percentile_of_what_people_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("resp_0,resp_1,resp_2\na,a,a\na,a,b\na,b,c\nd,e,f\n")  # 1, 2, 3 and 3 different responses

    def different(texts: Sequence[str]) -> float:
        return float(len(set(texts)))

    assert threshold_of_people(people, different) == 3
    assert threshold_of_people(people, different, 50) == 2.5
    with pytest.raises(ValueError, match="between 0 and 100, not 101"):
        threshold_of_people(people, different, 101)
    make_run({"ancestral": [["a", "b", "c"]]})
    call_command("samples", "diversify", "sweep", "--threshold-from", str(people), "--percentile", "0", "--size", "3")
    # Distinct-n of three equal words: 1/3 for one word, 0 for the four longer orders.
    assert f"Threshold: {1 / 15:.6g}, the 0th percentile of the sets in {people}." in capsys.readouterr().err
    for wrong in ((), ("--threshold", "1", "--threshold-from", str(people))):
        with pytest.raises(CommandError, match="a number as --threshold, or a file of sets by people"):
            call_command("samples", "diversify", "sweep", *wrong)


def test_decoders_that_draw_nothing_make_no_sets(capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"greedy": [["a"]], "beam=4": [["b"]], "ancestral": [["a", "b", "c"]]})
    call_command("samples", "diversify", "sweep", "--threshold", "0.1", "--size", "3")
    out, errors = capsys.readouterr()
    assert [row["decoder"] for row in csv.DictReader(io.StringIO(out))] == ["ancestral"]
    assert "one text each: beam=4, greedy." in errors
    with pytest.raises(CommandError, match="greedy: nothing is drawn"):
        call_command("samples", "diversify", "sweep", "--threshold", "0.1", "--decoder", "greedy")


def test_a_file_of_sets_is_replaced_only_by_a_whole_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"ancestral": [["a", "b", "c"], ["a", "b"]]})  # the second context has too few
    out = tmp_path / "sets.csv"
    out.write_text("before")
    for name in (str(out), "-"):
        with pytest.raises(CommandError, match="c1, ancestral: trial 1 needs the samples 0 to 2, and the run has 2 "):
            call_command("samples", "diversify", "sweep", "--threshold", "0.1", "--size", "3", "--out", name)
    assert out.read_text() == "before" and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "errors"),
    [(OperationalError("no such table: x"), "Run: manage.py migrate"), (KeyboardInterrupt(), "Stopped")],
)
def test_interruptions_are_reported(error: BaseException, errors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("generation.management.commands.samples.find_run", fail)
    with pytest.raises(CommandError, match=errors):
        call_command("samples", "diversify", "sweep", "--threshold", "0.1")


@pytest.mark.parametrize(("over_long", "cut_left"), [("cut", True), ("refuse", False)])
def test_what_is_drawn_live_keeps_to_the_run(over_long: str, cut_left: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run({"ancestral": [["a", "a", "a"]]})
    run.spec = {"over_long": over_long, "limits": {"exact": 7}}
    run.save()
    asked_requests: list[Any] = []

    class Backend:
        def generate(self, requests: list[Any], on_done: object = None) -> list[Any]:
            asked_requests.extend(requests)
            return [NotGenerated("The prompt is too long.") for _ in requests]

    monkeypatch.setattr("generation.registry.open_models.backend_of", lambda model: Backend())
    with pytest.raises(CommandError, match="context c0, ancestral: The prompt is too long"):
        call_command("samples", "diversify", "sweep", "--threshold", "0.9", "--size", "3", "--most", "5", "--live")
    seeds = [sample_seed(run.seed, "c0", run.samples.get(number=0).model.name, "ancestral", n) for n in (3, 4)]
    assert [(request.seed, request.cut_left, request.limits.exact) for request in asked_requests] == [
        (seed, cut_left, 7) for seed in seeds
    ]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ["diversify", "sweep", "--threshold", "0.5", "--metric", "nonsense"],
            "no metric “nonsense”. Known: distinct-n",
        ),
        (["diversify", "sweep", "--threshold", "0.5", "--metric", "os.nothing"], "no metric “os.nothing”"),
        (["diversify", "sweep", "--threshold", "0.5", "--metric", ".a.b"], "no metric “.a.b”"),
        (["diversify", "sweep", "--threshold", "0.5", "--size", "3", "--metric", "math.floor"], "The metric failed"),
        (["diversify", "sweep", "--threshold", "0.5", "--size", "9"], "trial 1 needs the samples 0 to 8"),
        (
            ["diversify", "sweep", "--threshold", "0.5", "--size", "-1"],
            "at least 3 responses, because one",
        ),
        (
            ["diversify", "sweep", "--threshold", "0.5", "--size", "3", "--trials", "0"],
            "0 trials for each context",
        ),
        (["diversify", "sweep", "--threshold", "nan"], "The threshold is nan. Use a finite number"),
        (
            ["diversify", "sweep", "--threshold", "10", "--metric", "nli"],
            "The metric nli needs a model",
        ),
        (
            ["diversify", "sweep", "--threshold", "10", "--stop", "contradictions"],
            "contradictions needs a model",
        ),
        (
            ["diversify", "sweep", "--threshold", "1", "--metric", "nli", "--stop", "embedding", "--metric-model", "x"],
            "two different models",
        ),
        (["diversify", "sweep", "--threshold", "0.5", "--out", "/nowhere/sets.csv"], "there is no folder /nowhere"),
        (["diversify", "sweep", "--threshold", "0.5", "--out", "/"], "is a folder; name a file in it"),
        (["diversify", "sweep", "--threshold", "0.5", "--decoder", "foo"], "is not a decoder"),
        (["diversify", "sweep", "--threshold", "0.5", "--decoder", "beam=3"], "no samples of these decoders"),
    ],
)
def test_invalid_options_are_explained(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"ancestral": [["a", "b", "c"]]})
    with pytest.raises(CommandError, match=part):
        call_command("samples", *arguments)


def test_a_metric_may_come_from_anywhere() -> None:
    name = "analysis.diversity.metrics.distinct_n"
    assert find_metrics([name]) == {name: distinct_n}


def test_an_unknown_run_is_refused_with_the_existing_ones(capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"ancestral": [["a", "b", "c"]]})
    for action in (["report", "other"], ["diversify", "other", "--threshold", "0.5"]):
        with pytest.raises(CommandError):
            call_command("samples", *action)
        assert "There is no “other”. Known: sweep." in capsys.readouterr().err


ARGUMENTS = ("--threshold", "0.99", "--size", "3", "--most", "3")


def sets(run: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[dict[str, str]], str]:
    call_command("samples", "diversify", run, *ARGUMENTS, *arguments)
    out, errors = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(out))), errors


def test_relevance_is_measured_against_the_references_and_not_the_context(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One response repeats the context and shares no word with a reference; two are references (Stasaski & Hearst 2022,
    section 6.4)."""
    run = make_run({"ancestral": [["Prompt 0", "a warm day", "it was cold outside"]]})
    run.contexts.update(fields={"first": "a warm day", "second": "it was cold outside"})
    data = tmp_path / "references.csv"
    data.write_text("id,reference\nc0,a warm day\nc0,it was cold outside\nelsewhere,x\n")
    for options in (("--reference", "first", "--reference", "second"), ("--references", str(data))):
        (row,), _ = sets(run.name, capsys, *options)
        assert float(row["start_bleu"]) == pytest.approx(2 / 3)


def test_without_references_relevance_is_left_out_and_the_command_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"ancestral": [["a", "b", "c"]]})
    (row,), errors = sets("sweep", capsys)
    assert "start_bleu" not in row
    assert "Relevance is left out: it is measured against human references." in errors


def test_references_that_are_missing_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = make_run({"ancestral": [["a", "b", "c"], ["a", "b", "c"]]})
    run.contexts.update(fields={"human": "x"})
    data = tmp_path / "references.csv"
    data.write_text("id,reference\nc0,a warm day\n")
    with pytest.raises(Invalid, match=r"There is no reference in references\.csv for 1 context: c1"):
        references_in_file(run, data)
    with pytest.raises(Invalid, match=r"There is no “humen”. Did you mean “human”"):
        references_in_columns(run, ["humen"])
    with pytest.raises(Invalid, match="cannot be read"):
        references_in_file(run, tmp_path / "none.csv")
    with pytest.raises(CommandError):
        sets("sweep", capsys, "--reference", "humen")
