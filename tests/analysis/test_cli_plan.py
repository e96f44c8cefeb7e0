"""``python -m analysis plan`` on good and bad options, files and bundles."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.data import write_bundle
from analysis.planning.pilot import pilot_of
from annotation.results.frames import study_data
from tests.analysis.test_cli_preference import figures, refused, write
from tests.factories import make_study
from tests.report_data import rated_study

SMALL = ("--items", "40", "--raters", "2", "4", "--simulations", "60")
NAMED = ("--variances", "items=0.2", "workers=0.3", "item_system=0.15", "worker_system=0.05", "residual=0.7")


def ratings(systems: int = 2, seed: int = 2) -> str:
    rng = np.random.default_rng(seed)
    lines = ["prompt,worker,system,score,gold"]
    prompts, people = rng.normal(0, 0.6, 30), rng.normal(0, 0.5, 15)
    for prompt in range(30):
        for worker in range(15):
            for system in range(systems):
                value = 3 + prompts[prompt] + people[worker] + 0.4 * system + rng.normal(0, 0.7)
                lines.append(f"p{prompt},w{worker},s{system},{min(5, max(1, round(value)))},3")
    return "\n".join(lines) + "\n"


def test_every_design_has_a_row_and_json_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--difference", "0.5", "--reward", "1.20", "--minutes", "6", "--fee", "20")
    shown = figures(capsys, "plan", *SMALL, *NAMED, *options, "--power", "0.5")["figures"]
    assert [(row["items"], row["raters"]) for row in shown["plans"]] == [(40, 2), (40, 4)]
    # 80 texts in hits of 10, two and four raters: 16 and 32 submissions of $1.20, and 20% for the platform.
    assert [row["cost"] for row in shown["plans"]] == ["23.04", "46.08"]
    assert [row["hours"] for row in shown["plans"]] == [1.6, 3.2]
    assert shown["variances"] == {
        "items": 0.2, "workers": 0.3, "item × system": 0.15, "worker × system": 0.05, "residual": 0.7,
    }  # fmt: skip
    (smallest,) = shown["smallest"]
    assert smallest["power"] >= 0.5 and smallest["simulations"] == 60


def test_lines_name_the_aim_the_designs_and_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = tmp_path / "curve.svg"
    assert main(["plan", *SMALL, "--difference", "0.5", "--power", "0.9", "--svg", str(svg)]) == 0
    printed = capsys.readouterr().out
    assert "A difference of 0.5 between 2 systems on a scale from 1 to 5 in 5 points, at 5%, two-sided." in printed
    assert "Source: Card et al. 2020" in printed and "these of likert-high are assumed" in printed
    assert "Variances on the latent normal scale" in printed
    assert "are not enough for a power of 90%" in printed, "40 items are few for these variances"
    assert svg.read_text().startswith("<svg") and "Power by raters per item" in svg.read_text()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--goal", "equivalence", "--margin", "0.6", *NAMED), "Equivalence within ±0.6 of 2 systems"),
        (("--goal", "share", "--share", "0.65"), "A share of 65%, tested against 50% at 5%, two-sided."),
        (("--goal", "accuracy", "--share", "0.7", "--published", "entailment"), "An accuracy of 70%"),
        (("--goal", "agreement", *NAMED), "mean α"),
        (("--difference", "0.5", "--systems", "4", *NAMED), "Holm’s correction over 6 differences"),
        (("--difference", "0.5", "--systems", "4", "--reference", *NAMED), "over 3 differences"),
        (("--difference", "0.5", "--crossing", "one", *NAMED), "each worker rates one system only"),
        (("--difference", "5", "--scale", "0", "100", "--continuous", *NAMED), "a scale without ends"),
        (("--difference", "0.5", "--latent", *NAMED), "Variances on the latent normal scale: items 0.2"),
        (("--difference", "0.5", "--workers", "4", *NAMED), "sign-flip test and no interval"),
    ],
)
def test_every_goal_and_design_has_its_words(
    options: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *SMALL, *options]) == 0
    assert expected in capsys.readouterr().out


def test_variances_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, ratings())
    columns = ("--file", path, "--value", "score", "--item", "prompt", "--system", "system")
    shown = figures(capsys, "plan", *SMALL, *columns, "--difference", "0.4")["figures"]
    assert shown["variances"]["items"] == pytest.approx(0.36, abs=0.2)
    assert shown["variances"]["workers"] == pytest.approx(0.25, abs=0.2)
    assert "900 answers to 30 items by 15 workers, 2 systems" in shown["source"]
    assert main(["plan", "--variances-only", *columns]) == 0
    assert "Variances of answers: items" in capsys.readouterr().out
    assert main(["plan", "--variances-only", *columns[:6], "--gold", "gold"]) == 0
    assert "mean 0." in capsys.readouterr().out, "the share of right answers"


def test_answers_of_a_file_lie_on_the_scale_of_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, ratings())
    columns = ("--file", path, "--value", "score", "--item", "prompt", "--system", "system")
    for options in (("--scale", "1", "3", "--difference", "0.4"), ("--goal", "share", "--share", "0.6")):
        assert "an answer is outside the scale" in refused(capsys, "plan", *SMALL, *columns, *options)


def test_published_variances_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--list"]) == 0
    printed = capsys.readouterr().out
    assert "likert-low: " in printed and "Snow et al. 2008" in printed and "Tevet & Berant 2021" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--items is missing"),
        (("--items", "40"), "--difference is missing: the smallest difference that matters, such as 0.3"),
        ((*SMALL, "--goal", "equivalence"), "--margin is missing"),
        ((*SMALL, "--goal", "share"), "--share is missing: the share to detect"),
        ((*SMALL, "--difference", "0.3", "--systems", "1"), "there is one system, so nothing can be compared"),
        (("--items", "40", "--raters", "0", "--difference", "0.3"), "the number of raters must be 1 or more, not 0"),
        ((*SMALL, "--difference", "0.3", "--workers", "3"), "4 raters per item are more than the 3 workers"),
        ((*SMALL, "--difference", "0.3", "--variances", "items=-1"), "the variance of items must be 0 or more, not -1"),
        ((*SMALL, "--difference", "9"), "a difference of 9 is larger than the scale from 1 to 5 allows"),
        ((*SMALL, "--difference", "0.3", "--points", "1"), "a scale has 2 to 101 points, not 1"),
        ((*SMALL, "--difference", "0.3", "--scale", "1", "4.5"), "Name them with --points"),
        ((*SMALL, "--difference", "0.3", "--continuous", "--points", "5"), "leave out --points or --continuous"),
        (
            (*SMALL, "--difference", "0.3", "--crossing", "all", "--own-items"),
            "no worker can rate all systems of an item",
        ),
        ((*SMALL, "--difference", "0.3", "--crossing", "all", "--texts-per-worker", "1"), "rates at least 2 texts"),
        ((*SMALL, "--difference", "0.3", "--published", "mine"), "there are no published variances “mine”"),
        ((*SMALL, "--difference", "0.3", "--published", "entailment"), "right or wrong answers: use likert-high"),
        ((*SMALL, "--difference", "0.3", "--published", "likert-low", *NAMED), "variances come from one source"),
        ((*SMALL, "--difference", "0.3", "--latent"), "--latent is about variances that you name"),
        ((*SMALL, "--difference", "0.3", "--reward", "much"), "--reward is not a number: “much”"),
        ((*SMALL, "--difference", "0.3", "--reward", "-1"), "the reward must be 0 or more"),
        ((*SMALL, "--difference", "0.3", "--power", "80"), "the power is between 0 and 1, such as 0.8, not 80"),
        ((*SMALL, "--difference", "0.3", "--file", "x.csv"), "--value is missing"),
        ((*SMALL, "--goal", "agreement", "--raters", "1"), "agreement needs two raters or more"),
    ],
)
def test_plans_that_cannot_be_are_refused(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "plan", *options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,worker,score\na,w1,1\na,w2,2\n", "all answers have the same item"),
        ("item,worker,score\na,w1,1\nb,w1,2\n", "all answers have the same worker"),
        ("item,worker,score\na,w1,3\nb,w1,3\na,w2,3\n", "all answers are equal"),
        ("item,worker,score\na,w1,good\nb,w2,bad\n", "is not a number"),
    ],
)
def test_files_that_show_nothing_are_refused(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, content)
    assert message in refused(capsys, "plan", *SMALL, "--difference", "0.3", "--file", path, "--value", "score")


# --- an earlier study ---


def bundle_of(tmp_path: Path, values: dict[tuple[str, str], float], name: str = "pilot.zip") -> str:
    from tests.report_data import a_set

    study = rated_study([a_set(item) for item in dict.fromkeys(item for item, _ in values)], values)
    path = tmp_path / name
    out = io.BytesIO()
    write_bundle(study_data(study), out)
    path.write_bytes(out.getvalue())
    return str(path)


@pytest.mark.django_db
def test_variances_come_from_an_earlier_studys_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    items, people = rng.normal(0, 0.7, 25), rng.normal(0, 0.5, 10)
    values = {
        (f"s{item}", f"w{worker}"): float(min(5, max(1, round(3 + items[item] + people[worker] + rng.normal(0, 0.7)))))
        for item in range(25)
        for worker in range(10)
    }
    path = bundle_of(tmp_path, values)
    shown = figures(capsys, "plan", *SMALL, "--bundle", path, "--difference", "0.4")["figures"]
    table = np.array(list(values.values())).reshape(25, 10)
    # The analysis of variance of a complete table, worked out from its mean squares.
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    residual = float((rest**2).sum()) / (24 * 9)
    assert shown["variances"]["residual"] == pytest.approx(residual)
    assert shown["variances"]["items"] == pytest.approx(float(table.mean(axis=1).var(ddof=1)) - residual / 10)
    assert shown["variances"]["workers"] == pytest.approx(float(table.mean(axis=0).var(ddof=1)) - residual / 25)
    assert "250 answers to 25 items by 10 workers" in shown["source"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({("s1", "w1"): 1.0, ("s2", "w1"): 2.0}, "all answers have the same worker"),
        ({("s1", "w1"): 1.0, ("s1", "w2"): 2.0}, "all answers have the same item"),
    ],
)
def test_bundles_with_one_worker_or_item_are_refused(
    values: dict[tuple[str, str], float], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle_of(tmp_path, values)
    assert message in refused(capsys, "plan", *SMALL, "--difference", "0.3", "--bundle", path)


@pytest.mark.django_db
def test_criteria_and_factors_that_a_bundle_lacks_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bundle_of(tmp_path, {("s1", "w1"): 1.0, ("s1", "w2"): 2.0, ("s2", "w1"): 4.0, ("s2", "w2"): 4.0})
    start = ("plan", *SMALL, "--difference", "0.3", "--bundle", path)
    assert "no criterion “beauty” with a mean; there are diversity" in refused(capsys, *start, "--criterion", "beauty")
    assert "no factor “model”; there are none" in refused(capsys, *start, "--factor", "model")
    assert "neither a folder nor a valid zip archive" in refused(capsys, *start[:-1], write(tmp_path, "a,b\n1,2\n"))


@pytest.mark.django_db
def test_a_study_without_answers_is_no_pilot() -> None:
    with pytest.raises(ValueError, match="no question of the study has answers with a mean"):
        pilot_of(study_data(make_study()))
