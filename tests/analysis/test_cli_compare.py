"""``python -m analysis compare`` on good and bad files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.__main__ import main
from tests.analysis.test_cli_preference import figures, refused, write

SHAPE = ("--value", "score", "--factor", "system")


def answers(shift: float = 1.0, seed: int = 1) -> str:
    """Ten prompts, two systems with a text for each, eight workers who rate everything; `b` is higher."""
    rng = np.random.default_rng(seed)
    lines = ["item,worker,system,prompt,domain,score,verdict"]
    difficulty, taste = rng.normal(0, 1, 10), rng.normal(0, 1, 8)
    for prompt in range(10):
        for worker in range(8):
            for index, system in enumerate("ab"):
                score = round(difficulty[prompt] + taste[worker] + shift * index + rng.normal(), 3)
                domain = "news" if prompt < 5 else "story"
                verdict = "good" if score > 0 else "poor"
                lines.append(f"{prompt}{system},w{worker},{system},p{prompt},{domain},{score},{verdict}")
    return "\n".join(lines) + "\n"


def test_means_and_difference_are_those_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = answers()
    found = figures(capsys, "compare", write(tmp_path, content), *SHAPE, "--context", "prompt")
    rows = [line.split(",") for line in content.splitlines()[1:]]
    by_system = {name: [float(row[5]) for row in rows if row[2] == name] for name in "ab"}
    means = {name: float(np.mean(values)) for name, values in by_system.items()}
    estimates = found["estimates"]
    assert estimates["score.system.mean.a"]["value"] == pytest.approx(means["a"])
    assert estimates["score.system.difference.b.a"]["value"] == pytest.approx(means["b"] - means["a"])
    assert "10 contexts and 8 workers" in estimates["score.system.difference.b.a"]["method"]
    # Cohen's d by its definition, with the pooled standard deviation of the answers.
    pooled = np.sqrt((np.var(by_system["a"], ddof=1) + np.var(by_system["b"], ddof=1)) / 2)
    assert estimates["score.system.effect.b.a"]["value"] == pytest.approx((means["b"] - means["a"]) / pooled)
    assert found["data"] == {"answers": 160, "workers": 8, "items": 20}
    (levels, differences) = (found["figures"]["score.system"][key] for key in ("levels", "differences"))
    assert [(level["name"], level["answers"], level["items"]) for level in levels] == [("b", 80, 10), ("a", 80, 10)]
    assert differences[0]["p_equivalent"] is None and differences[0]["p"] < 0.05


def test_prompts_that_systems_share_make_the_interval_narrower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, answers())
    paired = figures(capsys, "compare", path, *SHAPE, "--context", "prompt")["estimates"]
    alone = figures(capsys, "compare", path, *SHAPE)["estimates"]
    name = "score.system.difference.b.a"
    widths = [of[name]["high"] - of[name]["low"] for of in (paired, alone)]
    assert widths[0] < 0.7 * widths[1]


def test_words_are_compared_by_their_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = answers()
    found = figures(capsys, "compare", write(tmp_path, content), "--value", "verdict", "--factor", "system")
    good = np.mean([line.endswith("good") for line in content.splitlines() if ",b," in line])
    assert found["estimates"]['share of "good".system.mean.b']["value"] == pytest.approx(float(good))
    assert found["estimates"]['share of "good".system.mean.b']["low"] > 0


def test_independent_answers_give_welchs_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.4, 1, 25), rng.normal(0, 2, 35)
    values = [("x", value) for value in first] + [("y", value) for value in second]
    lines = [f"w{at},{group},{value:.12f}" for at, (group, value) in enumerate(values)]
    path = write(tmp_path, "worker,group,score\n" + "\n".join(lines) + "\n")
    found = figures(capsys, "compare", path, "--value", "score", "--factor", "group", "--no-item")
    (difference,) = found["figures"]["score.group"]["differences"]
    assert difference["p"] == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue, rel=1e-6)


def test_the_tables_name_the_family_and_never_a_p_of_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, answers(9))
    words = ("--context", "prompt", "--reference", "a", "--margin", "0.5", "--factor", "domain")
    assert main(["compare", path, *SHAPE, *words]) == 0
    out = capsys.readouterr().out
    assert "Holm’s correction: all differences from a, 1" in out and "p, equivalent within ±0.5" in out
    assert "< 0.0001" in out and "0.0000" not in out and "nan" not in out
    assert "Overall, Overall" in out and "interaction (b − a) at story − at news" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--value", "score", "--factor", "model"), 'column "model": there is no such column'),
        (("--value", "score", "--factor", "system", "--reference", "c"), "the reference c is no level"),
        (("--value", "score", "--factor", "item", "--where", "item=0a"), "all answers have the level 0a"),
        ((*SHAPE, "--worker", "rater"), 'column "rater": there is no such column'),
        ((*SHAPE, "--low", "1"), "give both, the lower as --low"),
        ((*SHAPE, "--low", "0", "--high", "1"), "an answer is outside the scale"),
        (("--value", "item", "--factor", "system"), "is not a number"),
        ((*SHAPE, *SHAPE[2:], *SHAPE[2:]), "there are 3 factors; give one or two"),
        ((*SHAPE, "--where", "system=a"), "all answers have the level a: there is nothing to compare"),
    ],
)
def test_bad_options_are_named(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, "compare", write(tmp_path, answers()), *words)


def test_two_hundred_levels_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"i{at},w{at % 7},s{at % 200},{at % 5}" for at in range(800)]
    path = write(tmp_path, "item,worker,system,score\n" + "\n".join(lines) + "\n")
    assert "there are 200 levels, and at most 30" in refused(capsys, "compare", path, *SHAPE)


def test_an_empty_level_or_worker_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "item,worker,system,score\ni1,w1,,3\ni2,w1,b,4\n")
    assert 'row 1, column "system": the cell is empty' in refused(capsys, "compare", path, *SHAPE)
    path = write(tmp_path, "item,worker,system,score\ni1,w1,a,\ni2,w1,b,NA\n")
    assert "all cells are empty" in refused(capsys, "compare", path, *SHAPE)


def test_one_worker_or_one_item_has_means_without_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"i{at},w,{'ab'[at % 2]},{at}" for at in range(12)]
    path = write(tmp_path, "item,worker,system,score\n" + "\n".join(lines) + "\n")
    found = figures(capsys, "compare", path, *SHAPE)["estimates"]["score.system.difference.b.a"]
    assert found["value"] == pytest.approx(1.0) and found["low"] is None
    assert found["note"] == "based on 1 worker only: an interval needs at least 5"
