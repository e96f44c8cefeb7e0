"""γ and α on marks, and scores from marks, against pygamma-agreement and figures by hand."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.agreement import krippendorff_alpha
from analysis.spans.agreement import by_severity, whatever
from analysis.spans.alpha import character_alpha
from analysis.spans.answers import MarkedAnswer, marked_text, weighed
from analysis.spans.figures import agreement_by, scores_by, segment_scores, standardised
from analysis.spans.gamma import Units, disorder, gamma
from analysis.spans.marks import Span

Marks = list[tuple[int, int, str]]
#: Marks of two markers, and the disorder of their best alignment by pygamma-agreement 0.5.9 (MIT) with
#: ``CombinedCategoricalDissimilarity(alpha=1, beta=1, delta_empty=1)``, as it prints it.
PYGAMMA: list[tuple[Marks, Marks, float]] = [
    ([(0, 4, "minor"), (6, 8, "major")], [(2, 7, "major")], 1.0068027),
    (
        [(0, 4, "minor"), (6, 8, "major"), (20, 30, "minor")],
        [(0, 5, "minor"), (6, 9, "minor"), (40, 44, "major"), (22, 30, "minor")],
        0.5899118,
    ),
    (
        [(10, 20, "x"), (21, 25, "y"), (50, 55, "x"), (60, 61, "y")],
        [(12, 19, "x"), (20, 26, "x"), (51, 56, "x")],
        0.6031833,
    ),
]
#: γ of `long_marks` by pygamma-agreement with its ShuffleContinuumSampler, seed 1, 367 samples.
PYGAMMA_GAMMA = 0.5509016


def units(marks: Marks) -> Units:
    codes = {"minor": 0, "x": 0, "major": 1, "y": 1}
    starts, ends = (np.array([mark[place] for mark in marks], dtype=float) for place in (0, 1))
    return Units(starts, ends, np.array([codes[mark[2]] for mark in marks], dtype=float))


@pytest.mark.parametrize(("one", "other", "expected"), PYGAMMA)
def test_the_best_alignment_is_that_of_the_reference(one: Marks, other: Marks, expected: float) -> None:
    assert disorder(units(one), units(other)) == pytest.approx(expected, abs=1e-6)
    assert disorder(units(other), units(one)) == pytest.approx(expected, abs=1e-6)


def test_an_alignment_by_hand() -> None:
    """The first two are alone (1); 6–8 and 2–7, both major, differ by ((4 + 1) / 7)². Mean number of marks: 1.5."""
    assert disorder(units(PYGAMMA[0][0]), units(PYGAMMA[0][1])) == pytest.approx((1 + (5 / 7) ** 2) / 1.5)


def long_marks() -> tuple[list[Span], list[Span]]:
    rng = random.Random(3)
    one, other = [], []
    for number in range(30):
        start = 20 * number + rng.randint(0, 8)
        end = start + rng.randint(3, 9)
        severity = rng.choice(["minor", "major"])
        one.append(Span(start, end, severity))
        if rng.random() < 0.7:
            first = start + rng.randint(-2, 2) if start > 2 else start
            last = end + rng.randint(0, 2)
            other.append(Span(first, last, severity if rng.random() < 0.8 else "minor"))
        if rng.random() < 0.2:
            other.append(Span(start + 11, start + 14, "minor"))
    return one, other


def test_gamma_is_near_that_of_the_reference() -> None:
    """Both sample the expected disorder, ours 30 times."""
    one, other = long_marks()
    figure = gamma({("i", ""): [("a", one), ("b", other)]}, {("i", ""): 600}, by_severity)
    assert figure.value == pytest.approx(PYGAMMA_GAMMA, abs=0.03)
    assert figure.note == "an interval needs at least 5 items, and there is only 1"


def test_gamma_of_the_same_marks_is_one_and_of_random_ones_near_zero() -> None:
    one, _ = long_marks()
    assert gamma({("i", ""): [("a", one), ("b", one)]}, {("i", ""): 600}, whatever).value == 1
    rng = random.Random(1)
    starts = [[rng.randrange(0, 2990) for _ in range(60)] for _ in range(2)]
    one, other = ([Span(start, start + 6, "minor") for start in sorted(of_one)] for of_one in starts)
    figure = gamma({("i", ""): [("a", one), ("b", other)]}, {("i", ""): 3000}, whatever)
    assert abs(figure.value) < 0.1


def test_nothing_marked_and_nobody_to_compare_say_so() -> None:
    nothing: dict[tuple[str, str], list[tuple[str, list[Span]]]] = {("i", ""): [("a", []), ("b", [])]}
    assert gamma(nothing, {("i", ""): 9}, whatever).note == "nobody marked anything"
    alone = {("i", ""): [("a", [Span(0, 1, "minor")])]}
    assert gamma(alone, {("i", ""): 9}, whatever).note == "no text has two markers"
    assert character_alpha(alone, {("i", ""): 9}, whatever).note == "no text has two markers"
    assert "undefined" in character_alpha(nothing, {("i", ""): 9}, whatever).note


# --- α ---


def test_alpha_by_hand() -> None:
    """Seven characters and the place after them, two workers: one marks 0–4, the other 2–7. Five of eight places
    differ, so D = 10; 9 of 16 values are marked: α = 1 − 10·15 / (16² − 9² − 7²)."""
    answers = {("i", ""): [("a", [Span(0, 4, "minor")]), ("b", [Span(2, 7, "major")])]}
    assert character_alpha(answers, {("i", ""): 7}, whatever).value == pytest.approx(1 - 10 * 15 / 126)


def test_alpha_is_that_of_krippendorff_with_characters_as_units() -> None:
    """The library's own α, which its tests compare with published tables, given one row per character."""
    rng = random.Random(5)
    names = [frozenset[str](), frozenset({"minor"}), frozenset({"major"}), frozenset({"minor", "major"})]
    answers, lengths, columns = {}, {}, []
    for number in range(6):
        marks: list[tuple[str, list[Span]]] = []
        table = np.full((13, 3), math.nan)
        for worker in range(3) if number else range(2):
            spans = [Span(at, at + rng.randint(1, 5), rng.choice(["minor", "major"])) for at in (0, 4, 6)]
            marks.append((f"w{worker}", spans))
            for place in range(13):
                over = frozenset(span.severity for span in spans if span.start <= place < span.end)
                table[place, worker] = names.index(over)
        answers[f"i{number}", ""], lengths[f"i{number}", ""] = marks, 12
        columns.append(table)
    expected = krippendorff_alpha(np.concatenate(columns), "nominal", interval=False).value
    assert character_alpha(answers, lengths, by_severity).value == pytest.approx(expected)


def test_intervals_need_five_items_and_workers_and_hold_the_figure() -> None:
    rng = random.Random(2)
    answers, lengths = {}, {}
    for item in range(12):
        errors = [Span(9 * at, 9 * at + rng.randint(2, 7), "minor") for at in range(5)]
        answers[f"i{item}", ""] = [(f"w{w}", [e for e in errors if rng.random() < 0.6]) for w in range(6)]
        lengths[f"i{item}", ""] = 60
    for figure in (character_alpha(answers, lengths, whatever), gamma(answers, lengths, whatever)):
        assert figure.low < figure.value < figure.high
        assert figure.method.endswith(
            "without each item, each worker and each answer; 93 to 100% of such 95% intervals are right in simulations"
        )


# --- scores ---


def marked(item: str, worker: str, *severities: str, system: str = "s", words: int = 10) -> MarkedAnswer:
    spans = tuple(Span(number, number + 1, severity) for number, severity in enumerate(severities))
    answer = MarkedAnswer(item, "", worker, spans, 0.0, system, 50, words)
    return MarkedAnswer(item, "", worker, spans, weighed(answer, "esa"), system, 50, words)


def test_scores_by_hand() -> None:
    """Worker a gives 0, −1 and −5: mean −2, standard deviation √7, so z = 2/√7, 1/√7 and −3/√7."""
    answers = [marked("1", "a"), marked("2", "a", "minor"), marked("3", "a", "major", system="t", words=5)]
    assert standardised(answers) == pytest.approx([2 / 7**0.5, 1 / 7**0.5, -3 / 7**0.5])
    first, second = scores_by(answers, lambda answer: answer.system)
    assert (first.level, first.answers, first.marks, first.score.value) == ("s", 2, 1, -0.5)
    assert first.z.value == pytest.approx(1.5 / 7**0.5)
    assert first.errors.value == pytest.approx(100 * 1 / 20)
    assert (second.score.value, second.errors.value) == (-5, 20)
    assert [text.score for text in segment_scores(answers)] == [0, -1, -5]


def test_a_worker_with_one_score_has_no_z() -> None:
    (only,) = scores_by([marked("1", "a"), marked("2", "a")], lambda answer: answer.system)
    assert math.isnan(only.z.value)
    assert only.z.note == "no worker gave two different scores"


def test_agreement_by_severity_counts_its_marks_alone() -> None:
    answers = [marked("1", "a", "minor", "major"), marked("1", "b", "minor", "minor")]
    by_name = {name: figures for _, name, figures in agreement_by(answers)}
    assert by_name["minor"][1].estimate.value == pytest.approx(2 / 3)  # one of 1 and 2 marks is the same
    assert by_name["major"][0].estimate.value == 0


def test_the_text_of_a_part() -> None:
    cells = {"a_1": "one", "a_2": "two", "b": "both"}
    assert marked_text(cells, [["x", "y"]], "2") == "y"
    assert marked_text(cells, [["x"]], "") == "x"
    assert marked_text(cells, [], "2/a") == "two"
    assert marked_text(cells, [], "1/b") == marked_text(cells, [], "b") == "both"
    assert marked_text(cells, [["x"]], "9") == ""


# --- the command ---

ROWS = """item,worker,criterion,part,start,end,severity,label,origin,answer_weight,words
1,a,errors,,0,4,minor,fluency/punctuation,own,1,10
1,a,errors,,6,8,major,accuracy/omission,given,1,10
1,b,errors,,,,,,,0,10
1,b,errors,,6,8,major,accuracy/omission,removed,0,10
"""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["spans", *words])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_published_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Minor punctuation weighs 0.1 and a major error 5 (Freitag et al. 2021, table 2); removed marks do not count."""
    path = tmp_path / "marks.csv"
    path.write_text(ROWS, encoding="utf-8")
    code, printed = run(capsys, str(path), "--weights", "mqm", "--json", "--out", str(tmp_path / "texts.csv"))
    result = json.loads(printed)
    assert code == 0
    assert result["estimates"]["worker.a.score"]["value"] == pytest.approx(-5.1)
    assert result["estimates"]["worker.b.score"]["value"] == 0
    assert result["estimates"]["worker.a.errors_per_100_words"]["value"] == pytest.approx(20)
    assert result["data"]["errors"] == {"answers": 2, "marks": 2, "texts": 1, "workers": 2}
    assert (tmp_path / "texts.csv").read_text("utf-8").splitlines()[1].startswith("errors,1,,all texts,2,-2.55,")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (("6,8,major", "8,6,major"), (), "the mark is empty or outside the text"),
        (("0,4,minor", "x,4,minor"), (), '"x" is not a whole number'),
        (("minor", "critical"), ("--weights", "esa"), "the severity “critical” has no published weight (minor, major)"),
        (("item", "thing"), (), "item"),
        (("", ""), ("--question", "style"), "no question “style” asks for marks"),
    ],
)
def test_bad_input_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], options: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "marks.csv"
    path.write_text(ROWS.replace(*change, 1) if change[0] else ROWS, encoding="utf-8")
    code, printed = run(capsys, str(path), *options)
    assert code == 2
    assert message in printed
