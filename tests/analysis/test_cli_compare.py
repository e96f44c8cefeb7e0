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
    few = "with fewer than 15 of either, 90 to 98% of such 95% intervals are right in simulations"
    assert f"  means: {few}\n" in out and "  interactions: clustered by 10 contexts and 8 workers; " in out


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
        ((*SHAPE, *SHAPE[2:]), '--factor: "system" is there twice; give two different columns'),
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
    assert found["note"] == "an interval needs at least 5 workers, and there is only 1"


def test_a_level_without_answers_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"i{at % 20},w{at // 20},{'abc'[at % 3]},{at * 7 % 5 if at % 3 < 2 else ''}" for at in range(120)]
    path = write(tmp_path, "item,worker,system,score\n" + "\n".join(lines) + "\n")
    assert main(["compare", path, *SHAPE]) == 0
    assert "Without answers, so not compared: c." in capsys.readouterr().out
    message = refused(capsys, "compare", path, *SHAPE, "--reference", "c")
    assert "the reference c is no level with answers; there are a, b" in message


def test_pairs_of_levels_that_share_no_worker_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers 0 to 5 rated a and b, workers 6 to 11 rated c: only a and b have a standardised difference."""
    rng = np.random.default_rng(2)
    lines = [
        f"{system}{item},w{worker},{system},{rng.integers(1, 6)}"
        for system, workers in (("a", range(6)), ("b", range(6)), ("c", range(6, 12)))
        for item in range(8)
        for worker in workers
    ]
    path = write(tmp_path, "item,worker,system,score\n" + "\n".join(lines) + "\n")
    (comparison,) = figures(capsys, "compare", path, *SHAPE)["figures"].values()
    expected = "No worker rated both levels of some pairs, so how workers differ is part of their differences: "
    assert comparison["notes"] == [f"{expected}a – c and b – c."]
    assert main(["compare", path, *SHAPE]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    standardised = next(row for row in rows if row[:1] == ["c"])
    assert standardised[4] == "–"


def test_levels_whose_answers_do_not_vary_have_no_effect_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"i{at % 20},w{at // 20},{'ab'[at % 2]},{5 if at % 2 else 0.1}" for at in range(120)]
    path = write(tmp_path, "item,worker,system,score\n" + "\n".join(lines) + "\n")
    found = figures(capsys, "compare", path, *SHAPE, "--mixed")
    effect = found["estimates"]["score.system.effect.b.a"]
    assert effect["value"] is None and effect["note"] == "answers do not vary within levels"
    assert found["estimates"]["score.system.difference.b.a"]["low"] is None
    assert isinstance(found["figures"]["score.system.mixed"], str)


def test_a_mixed_model_that_does_not_converge_leaves_the_other_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM, MixedLMResults

    fit = MixedLM.fit

    def unfinished(self: MixedLM, **options: object) -> MixedLMResults:
        result = fit(self, **options)
        result.converged = False
        return result

    monkeypatch.setattr(MixedLM, "fit", unfinished)
    path = write(tmp_path, answers())
    assert main(["compare", path, *SHAPE, "--mixed"]) == 0
    out = capsys.readouterr().out
    assert "No mixed model: it did not converge. The figures above do not need it." in out
    assert "mixed model, b − a" not in out and "b − a" in out and "nan" not in out


def test_one_item_and_equal_answers_have_means_and_no_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one_item = [f"i,w{at},{'ab'[at % 2]},{at % 5}" for at in range(24)]
    equal = [f"i{at % 10},w{at // 10},{'ab'[at % 2]},4" for at in range(80)]
    for lines, note in ((one_item, "and there is only 1"), (equal, "all answers agree")):
        path = write(tmp_path, "item,worker,system,score\n" + "\n".join(lines) + "\n")
        assert main(["compare", path, *SHAPE, "--mixed", "--wmt"]) == 0
        out = capsys.readouterr().out
        assert note in out and "No mixed model: " in out
        assert "nan" not in out and "0.0000" not in out


def test_the_ranking_of_wmt_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, answers(5))
    systems = figures(capsys, "compare", path, *SHAPE, "--wmt")["figures"]["score.system.wmt"]
    assert [(system["name"], system["cluster"], system["items"]) for system in systems] == [("b", 1, 10), ("a", 2, 10)]
    assert main(["compare", path, *SHAPE, "--wmt"]) == 0
    assert "As WMT computes it: rank-sum tests" in capsys.readouterr().out
