"""Reports of generation runs, and diversity threshold generation on their samples."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from analysis.diversify_run import diversify_run, find_metric
from analysis.diversity.metrics import distinct_n
from analysis.frames import sample_frame
from analysis.reports.sweep import write_run_report
from generation.backends.base import Refused
from generation.models import LanguageModel, RunContext
from generation.seeds import sample_seed
from tests.analysis.run_factories import make_run

pytestmark = pytest.mark.django_db

SWEEP = {
    "temperature=0.5": [["a a a a", "a a a a"], ["b b b b", "b b b b"]],
    "ancestral": [["a b c d", "a b c d"], ["b c d e", "b c d f"]],
    "temperature=1.5": [["a b c d", "e f g h"], ["i j k l", "m n o p"]],
    "greedy": [["a a"], ["b b"]],
}


def report(tmp_path: Path, **kwargs: Any) -> tuple[str, dict[str, Any]]:
    page = write_run_report(make_run(SWEEP, **kwargs), out_dir=tmp_path, draws=50)
    return page.read_text(), json.loads((tmp_path / "report.json").read_text())


def test_a_sweep_is_drawn_with_its_trends(tmp_path: Path) -> None:
    page, numbers = report(tmp_path)
    assert 'id="sweep-temperature"' in page
    trends = {each["measure"]: each["rho"]["value"] for each in numbers["sections"]["sweep-temperature"]["trends"]}
    # Repetition by hand: "a a a a" has one 4-gram, so nothing repeats: 0 throughout, and no trend.
    assert trends["Repetition (share)"] is None
    assert trends["Distinct-n"] == pytest.approx(1.0)
    assert trends["Same text (share)"] == pytest.approx(-1.0)  # 1, then 1/2 (one context of two), then 0


def test_the_table_has_every_decoder_and_no_invented_figures(tmp_path: Path) -> None:
    _, numbers = report(tmp_path)
    rows = {row["decoder"]: row for row in numbers["sections"]["decoders"]["decoders"]}
    assert set(rows) == set(SWEEP)
    assert rows["ancestral"]["entropy"]["value"] == pytest.approx(2.0)  # −log q = 0.5 × 4 tokens
    assert rows["ancestral"]["log_p"]["value"] == pytest.approx(-4.0)
    assert rows["greedy"]["entropy"]["value"] is None
    assert rows["greedy"]["same"]["value"] is None


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    page, _ = report(tmp_path, n_wanted=100)
    assert "14 of 100 samples are there: these figures are not final." in page


def test_a_run_without_samples_says_so(tmp_path: Path) -> None:
    page = write_run_report(make_run({}, n_wanted=5), out_dir=tmp_path).read_text()
    assert "There are no samples yet." in page


def test_texts_are_shown_as_text(tmp_path: Path) -> None:
    page = write_run_report(make_run({"greedy": [["<script>alert(1)</script>"]]}), out_dir=tmp_path).read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_frame_takes_one_query_whatever_the_size() -> None:
    small, large = make_run({"greedy": [["a"]]}), make_run({"greedy": [["a"]] * 20}, name="large")
    counts = []
    for run in (small, large):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            sample_frame(run)
        counts.append(len(queries))
    assert counts == [1, 1]


# --- Diversity threshold generation ---


def words(texts: Any) -> float:
    return float(len({word for text in texts for word in text.split()}))


def test_sets_are_resampled_from_the_runs_own_samples_in_order() -> None:
    run = make_run({"ancestral": [["a", "a", "a", "a", "b", "c"]]})
    (made,) = diversify_run(run, metric=words, threshold=3, size=3, most_sampled=20)
    # a a a → drop one, "a" comes → "b" → "c": six responses in all, and one "a" of the first three is left: {a, b, c}.
    assert (made.result.n_sampled, made.result.reached, sorted(made.result.end)) == (6, True, ["a", "b", "c"])


def test_more_are_drawn_only_where_the_run_has_too_few() -> None:
    run = make_run({"ancestral": [["a", "b", "c"], ["a", "a", "a"]]})
    asked: list[tuple[str, str, int, int]] = []

    def more(context: RunContext, model: LanguageModel, decoder: str, first: int, n: int) -> list[str]:
        asked.append((context.external_id, decoder, first, n))
        return ["x", "y", "z"]

    made = list(diversify_run(run, metric=words, threshold=3, size=3, most_sampled=8, draw_more=more))
    assert asked == [("c1", "ancestral", 3, 5)]
    assert [each.result.reached for each in made] == [True, True]
    assert sorted(made[1].result.end) == ["a", "x", "y"]


def test_the_command_writes_sets_for_diversity_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"temperature=0.7": [["a b", "=a c", "a b", "d e"]]})
    call_command("samples", "diversify", "sweep", "--threshold", "0.99", "--size", "3", "--most", "4")
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["label_name"], row["label_value"], row["context"]) == ("temperature", "0.7", "Prompt 0")
    # Dropping either "a b" leaves the same best rest: the first goes, and "d e" comes.
    assert [row[f"resp_{place}"] for place in range(3)] == ["'=a c", "a b", "d e"]
    assert float(row["end_score"]) == pytest.approx(distinct_n(["=a c", "a b", "d e"]))
    assert (row["n_sampled"], row["overlap"], row["reached"]) == ("4", "2", "0")


def test_decoders_that_draw_nothing_make_no_sets(capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"greedy": [["a"]], "beam=4": [["b"]], "ancestral": [["a", "b", "c"]]})
    call_command("samples", "diversify", "sweep", "--threshold", "0.1", "--size", "3")
    out, told = capsys.readouterr()
    assert [row["decoder"] for row in csv.DictReader(io.StringIO(out))] == ["ancestral"]
    assert "one text each: beam=4, greedy." in told
    with pytest.raises(CommandError, match="greedy: nothing is drawn"):
        call_command("samples", "diversify", "sweep", "--threshold", "0.1", "--decoder", "greedy")


def test_a_file_of_sets_is_replaced_only_by_a_whole_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"ancestral": [["a", "b", "c"], ["a", "b"]]})  # the second context has too few
    out = tmp_path / "sets.csv"
    out.write_text("before")
    for name in (str(out), "-"):
        with pytest.raises(CommandError, match="2 samples do not make a set of 3"):
            call_command("samples", "diversify", "sweep", "--threshold", "0.1", "--size", "3", "--out", name)
    assert out.read_text() == "before" and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "told"),
    [(OperationalError("no such table: x"), "Run: manage.py migrate"), (KeyboardInterrupt(), "Stopped; nothing was")],
)
def test_what_comes_between_is_told(error: BaseException, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("analysis.management.commands.samples.Command.find", fail)
    with pytest.raises(CommandError, match=told):
        call_command("samples", "diversify", "sweep", "--threshold", "0.1")


@pytest.mark.parametrize(("over_long", "cut_left"), [("cut", True), ("refuse", False)])
def test_what_is_drawn_live_keeps_to_the_run(over_long: str, cut_left: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run({"ancestral": [["a", "a", "a"]]})
    run.spec = {"over_long": over_long, "limits": {"exact": 7}}
    run.save()
    asked: list[Any] = []

    class Backend:
        def generate(self, requests: list[Any]) -> list[Any]:
            asked.extend(requests)
            return [Refused("The prompt is too long.") for _ in requests]

    monkeypatch.setattr("generation.services.holding.backend_of", lambda model: Backend())
    with pytest.raises(CommandError, match="context c0, ancestral: The prompt is too long"):
        call_command("samples", "diversify", "sweep", "--threshold", "0.9", "--size", "3", "--most", "5", "--live")
    seeds = [sample_seed(run.seed, "c0", run.samples.get(number=0).model.name, "ancestral", n) for n in (3, 4)]
    assert [(each.seed, each.cut_left, each.limits.exact) for each in asked] == [(seed, cut_left, 7) for seed in seeds]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ["diversify", "sweep", "--threshold", "0.5", "--metric", "nonsense"],
            "no metric “nonsense”. Known: distinct-n",
        ),
        (["diversify", "sweep", "--threshold", "0.5", "--metric", "os.nothing"], "no metric “os.nothing”"),
        (["diversify", "sweep", "--threshold", "0.5", "--metric", ".a.b"], "no metric “.a.b”"),
        (["diversify", "sweep", "--threshold", "0.5", "--size", "3", "--metric", "math.floor"], "makes no number"),
        (["diversify", "sweep", "--threshold", "0.5", "--size", "9"], "do not make a set of 9"),
        (["diversify", "sweep", "--threshold", "0.5", "--size", "-1"], "at least 3 responses to drop one of, not -1"),
        (["diversify", "sweep", "--threshold", "0.5", "--out", "/nowhere/sets.csv"], "there is no folder /nowhere"),
        (["diversify", "sweep", "--threshold", "0.5", "--out", "/"], "/ is a folder; name a file in it"),
        (["diversify", "sweep", "--threshold", "0.5", "--decoder", "foo"], "is no decoder"),
        (["diversify", "sweep", "--threshold", "0.5", "--decoder", "beam=3"], "no samples of these decoders"),
        (["report", "other"], "There is no run “other”. Runs: sweep."),
    ],
)
def test_what_cannot_be_is_said(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_run({"ancestral": [["a", "b", "c"]]})
    with pytest.raises(CommandError, match=part):
        call_command("samples", *arguments)


def test_a_metric_may_come_from_anywhere() -> None:
    assert find_metric("analysis.diversity.metrics.distinct_n") is distinct_n
