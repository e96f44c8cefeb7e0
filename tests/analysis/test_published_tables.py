"""Published tables from simulated studies of the published designs, against plain pandas, SciPy and krippendorff.

The studies are simulated in tests/analysis/support/published.py, without the analysis, so the true effects are known.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.__main__ import main
from analysis.data import write_bundle_folder
from analysis.report.sections.variability import texts_by_decoder
from analysis.similarity.embedding import NoEmbedder
from analysis.tagging import NoTagger
from tests.analysis.support.pages import built, is_sound, unknown_numbers
from tests.analysis.support.published import (
    CATEGORIES,
    DOMAINS,
    MODELS,
    PEAKED,
    SKILL,
    SYSTEMS,
    TRAININGS,
    coding_study,
    detection_study,
    frame_of,
    judged_stories,
    production_study,
    quality_study,
    writing_study,
)
from tests.analysis.support.studies import a_set, study_data

Row = dict[str, Any]


def by(rows: list[Row], *keys: str) -> dict[Any, Row]:
    return {tuple(row[key] for key in keys): row for row in rows}


def sentence_on(sections: dict[str, Any], criterion: str) -> str:
    rows = sections["findings"]["sentences"]
    return str(next(row["sentence"] for row in rows if row["criterion"] == criterion))


# --- Clark 2021, Tables 6.1 and 6.2 ---


@pytest.fixture(scope="module")
def detection(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], pd.DataFrame]:
    data = detection_study(workers=40)
    page, sections = built(data, tmp_path_factory.mktemp("detection"))
    frame = frame_of(data)
    frame["machine"] = frame["source"] != "human"
    frame["said"] = frame["value"] >= 3
    frame["right"] = frame["machine"] == frame["said"]
    return page, sections, frame


def part(frame: pd.DataFrame, column: str, level: str, domain: str) -> pd.DataFrame:
    chosen = frame[(frame[column] == level) | (level == "Overall")]
    return chosen[(chosen["domain"] == domain) | (domain == "Overall")]


@pytest.mark.parametrize(("factor", "levels"), [("model", MODELS), ("training", TRAININGS)])
def test_accuracy_by_model_and_training(
    factor: str, levels: tuple[str, ...], detection: tuple[str, dict[str, Any], pd.DataFrame]
) -> None:
    """Tables 6.1 (models without training) and 6.2 (trainings with GPT-3), with the overall rows."""
    page, sections, everything = detection
    section = sections["human_or_machine"]
    fixed = {"model": ("arm_training", "none"), "training": ("arm_model", "GPT3")}[factor]
    frame = everything[everything[fixed[0]] == fixed[1]]
    cells = by(section[f"cells by {factor}"], "level", "domain")
    assert set(cells) == {(level, domain) for level in (*levels, "Overall") for domain in (*DOMAINS, "Overall")}
    chance = by(section[f"chance by {factor}"], "level", "domain")
    for (level, domain), cell in cells.items():
        rows, measures = part(frame, f"arm_{factor}", level, domain), cell["measures"]
        hits = (rows["machine"] & rows["said"]).sum()
        precision, recall = hits / rows["said"].sum(), hits / rows["machine"].sum()
        matrix = rows.pivot(index="worker", columns="item", values="said").to_numpy(dtype=float)
        expected = {
            "accuracy": rows["right"].mean(),
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
            "said_human": 1 - rows["said"].mean(),
            "confident": rows["value"].isin([1, 4]).mean(),
            "alpha": krippendorff.alpha(reliability_data=matrix, level_of_measurement="nominal"),
        }
        for name, value in expected.items():
            assert measures[name]["value"] == pytest.approx(value), (level, domain, name)
        assert measures["accuracy"]["low"] < expected["accuracy"] < measures["accuracy"]["high"]
        test = stats.ttest_1samp(rows.groupby("worker")["right"].mean(), 0.5)
        published = chance[level, domain]["published"]
        assert (published["t"], published["p"], published["df"]) == pytest.approx(
            (test.statistic, test.pvalue, test.df)
        )
        assert published["threshold"] == pytest.approx(0.05 / 15)  # the paper's 0.00333
    assert unknown_numbers(is_sound(page), sections) == []


def test_differences_between_models_trainings_and_domains(
    detection: tuple[str, dict[str, Any], pd.DataFrame],
) -> None:
    _, sections, everything = detection
    section = sections["human_or_machine"]
    (models,) = section["differences by model"]
    without = everything[everything["arm_training"] == "none"].groupby(["arm_model", "worker"])["right"].mean()
    test = stats.ttest_ind(without["GPT2"], without["GPT3"])
    assert (models["published"]["t"], models["published"]["p"]) == pytest.approx((test.statistic, test.pvalue))
    assert models["pair"]["difference"]["value"] == pytest.approx(without["GPT2"].mean() - without["GPT3"].mean())
    # The true difference: the logistic of a normal variable with the variances of texts and people, by integration.
    draws = stats.norm.ppf((np.arange(10_000) + 0.5) / 10_000) * np.hypot(0.5, 0.4)
    truth = [float(np.mean(1 / (1 + np.exp(-(SKILL["none", model] + draws))))) for model in MODELS]
    assert models["pair"]["difference"]["low"] < truth[0] - truth[1] < models["pair"]["difference"]["high"]

    with_gpt3 = everything[everything["arm_model"] == "GPT3"].groupby(["arm_training", "worker"])["right"].mean()
    tukey = stats.tukey_hsd(*(with_gpt3[training] for training in TRAININGS))
    trainings = {(row["pair"]["first"], row["pair"]["second"]): row for row in section["differences by training"]}
    assert set(trainings) == set(combinations(TRAININGS, 2))
    for (first, second), row in trainings.items():
        at = TRAININGS.index(first), TRAININGS.index(second)
        assert row["published"]["difference"]["value"] == pytest.approx(float(tukey.statistic[at]))
        assert row["published"]["p"] == pytest.approx(float(tukey.pvalue[at]), abs=1e-4)

    domains = {row["level"]: row["anova"] for row in section["domains within model"]}
    gpt2 = everything[everything["arm_model"] == "GPT2"].groupby(["domain", "worker"])["right"].mean()
    anova = stats.f_oneway(*(gpt2[domain] for domain in DOMAINS))
    assert (domains["GPT2"]["f"], domains["GPT2"]["p"]) == pytest.approx((anova.statistic, anova.pvalue))
    assert (domains["GPT2"]["df_between"], domains["GPT2"]["df_within"]) == (2, 117)
    pairs = next(row["pairs"] for row in section["domains within model"] if row["level"] == "GPT2")
    assert {(pair["first"], pair["second"]): pair["difference"]["value"] for pair in pairs} == pytest.approx(
        {(one, other): gpt2[one].mean() - gpt2[other].mean() for one, other in combinations(DOMAINS, 2)}
    )
    assert sentence_on(sections, "accuracy by model").startswith("GPT2 0.")


def test_trainings_are_compared_only_where_the_model_is_the_same(
    detection: tuple[str, dict[str, Any], pd.DataFrame],
) -> None:
    page, _, _ = detection
    assert "Only answers with model GPT3, where training varies." in page
    assert "Only answers with training none, where model varies." in page


def test_texts_without_a_source_are_named(tmp_path: Path) -> None:
    data = detection_study(workers=4, texts=6)
    data.items["cells"].iloc[0]["source"] = " "
    page, sections = built(data, tmp_path)
    assert "the column “source” is empty for 1 text, such as story-human-0: say who wrote them" in page
    assert "measures" not in sections["human_or_machine"]


@pytest.mark.slow
def test_one_command_makes_the_tables_of_the_full_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """15 cells of 130 workers: t has 389 degrees of freedom, as 390 workers give, and F has 2 and 387."""
    data = detection_study()
    write_bundle_folder(data, tmp_path / "bundle")
    assert main(["report", str(tmp_path / "bundle"), "--out", str(tmp_path / "report")]) == 0
    section = json.loads((tmp_path / "report" / "report.json").read_text())["sections"]["human_or_machine"]
    chance = by(section["chance by model"], "level", "domain")
    assert chance["GPT2", "Overall"]["published"]["df"] == 389
    frame = section["domains within model"]
    assert [(row["anova"]["df_between"], row["anova"]["df_within"]) for row in frame[:2]] == [(2, 387)] * 2
    assert chance["GPT2", "Overall"]["published"]["p"] < 0.05 / 15 < chance["GPT3", "Overall"]["published"]["p"]


# --- Clark 2021, Table 6.3 ---


def test_labels_by_training_add_up_as_in_the_paper(tmp_path: Path) -> None:
    data = coding_study()
    page, sections = built(data, tmp_path)
    rows = data.ratings
    given = rows.groupby(["item", "target"])["value"].max().unstack()  # nobody settled, so any coder's label counts
    given = given[given.drop(columns="vague").any(axis=1)]
    training = given.index.str.split("-").str[0]
    categories = pd.DataFrame({name: given[list(labels)].max(axis=1) for name, labels in CATEGORIES.items()})
    shares = by(sections["coding"]["category by writer’s training"]["shares"], "label", "level")
    for level in ("none", "examples"):
        inside = categories[training == level]
        for name in CATEGORIES:
            row = shares[name, level]
            assert row["comments"] == len(inside)
            assert row["share"]["value"] == pytest.approx(inside[name].mean())
            assert row["of_labels"]["value"] == pytest.approx(inside[name].sum() / inside.to_numpy().sum())
        assert sum(shares[name, level]["of_labels"]["value"] for name in CATEGORIES) == pytest.approx(1)
    differences = {row["label"]: row for row in sections["coding"]["category by writer’s training"]["differences"]}
    for name, row in differences.items():
        # Comments are independent, so the interval's core must come near Welch's test.
        welch = stats.ttest_ind(categories.loc[training == "none", name], categories.loc[training == "examples", name],
                                equal_var=False)  # fmt: skip
        assert row["p"] == pytest.approx(welch.pvalue, rel=0.25, abs=0.002)
    assert differences["Content"]["p_corrected"] < 0.05 and differences["Content"]["difference"]["value"] < 0
    assert "Content, examples − none" in sentence_on(sections, "category by writer’s training")
    assert unknown_numbers(is_sound(page), sections) == []


# --- Clark 2021, Tables 2.2 to 2.4 ---


def test_writers_statements_by_arm_and_whether_they_would_use_it_again(tmp_path: Path) -> None:
    data = writing_study()
    page, sections = built(data, tmp_path)
    rows = data.ratings
    for topic in ("creative", "coherent"):
        means = rows[rows["question"] == topic].groupby(["arm", "worker"])["value"].mean()
        student = stats.ttest_ind(means["solo"], means["mil"])
        ranks = stats.mannwhitneyu(means["solo"], means["mil"])
        (test,) = sections["arm_tests"][topic]
        assert (test["mean_first"], test["mean_second"]) == pytest.approx((means["solo"].mean(), means["mil"].mean()))
        assert (test["t"], test["p_student"]) == pytest.approx((student.statistic, student.pvalue))
        assert (test["shift"]["u"], test["shift"]["p"]) == pytest.approx((ranks.statistic, ranks.pvalue))
    levels = {(row["criterion"], row["level"]["name"]): row["level"]["mean"]["value"]
              for row in sections["findings"]["levels by arm"]}  # fmt: skip
    assert levels == pytest.approx(
        {(topic, name): rows[(rows["question"] == topic) & (rows["arm"] == name)]["value"].mean()
         for topic in ("creative", "coherent") for name in ("solo", "mil")}
    )  # fmt: skip
    assert sentence_on(sections, "creative").startswith("mil is ahead")
    again = rows.loc[rows["question"] == "use_again", "value"]
    shares = sections["answers"]["use_again"]["options"]
    expected = {"As they are": 4, "If better": 3, "In another way": 2, "No": 1}
    assert {name: share["value"] for name, share in shares.items()} == pytest.approx(
        {name: (again == value).mean() for name, value in expected.items()}
    )
    (printed,) = [t for t in sections["answers"]["tables"] if t["caption"].startswith("use_again: percent")]
    assert printed["columns"] == ["Answer", "% of answers"]
    assert [row[0] for row in printed["rows"]] == list(expected)
    assert [row[1] for row in printed["rows"]] == pytest.approx(
        [100 * (again == value).sum() / 30 for value in expected.values()]
    )
    assert sections["answers"]["use_again"]["location"] == {}  # a choice has no mean
    assert unknown_numbers(is_sound(page), sections) == []


def test_third_parties_ratings_are_compared_by_the_writers_arm(tmp_path: Path) -> None:
    data = judged_stories()
    _, sections = built(data, tmp_path)
    frame = frame_of(data)
    means = frame.groupby(["from:arm", "item"])["value"].mean().groupby(level=0).mean()
    levels = {row["level"]["name"]: row["level"] for row in sections["findings"]["levels by from:arm"]}
    assert {name: level["mean"]["value"] for name, level in levels.items()} == pytest.approx(means.to_dict())
    (row,) = sections["findings"]["differences by from:arm"]
    assert row["pair"]["difference"]["low"] < 0.8 < row["pair"]["difference"]["high"]  # the true difference
    texts = frame.groupby(["from:arm", "item"])["value"].mean()
    student, ranks = (test(texts["solo"], texts["mil"]) for test in (stats.ttest_ind, stats.mannwhitneyu))
    (published,) = sections["origin_tests"]["from:arm"]
    assert (published["test"]["t"], published["test"]["p"]) == pytest.approx((student.statistic, student.pvalue))
    assert published["test"]["shift"]["p"] == pytest.approx(ranks.pvalue)
    assert sentence_on(sections, "creative").startswith("mil is ahead")


# --- Zhang et al. 2020, Figures 2b and 5 ---


def test_quality_by_system_family_pool_entropy_and_likelihood(tmp_path: Path) -> None:
    data = quality_study(contexts=12, tasks=240)
    page, sections = built(data, tmp_path)
    section, frame = sections["systems"], frame_of(data)
    frame = frame[frame["question"] == "quality"]
    outcomes: dict[tuple[str, str], list[float]] = {}
    families: dict[str, list[float]] = {}
    for (_, arm), rows in frame.groupby(["submission", "arm_name"] if "arm_name" in frame else ["submission", "arm"]):
        for (a, x), (b, y) in combinations(zip(rows["system"], rows["value"], strict=True), 2):
            if a == b:
                continue
            for one, other, sign in ((a, b, 1), (b, a, -1)):
                outcome = float(sign * np.sign(x - y))
                outcomes.setdefault((one, ""), []).append(outcome)
                outcomes.setdefault((one, str(arm)), []).append(outcome)
                of, against = one.partition("=")[0], other.partition("=")[0]
                if of != against:
                    families.setdefault(of, []).append(outcome)
    for name in SYSTEMS:
        assert section["scores"][name]["value"] == pytest.approx(np.mean(outcomes[name, ""]))
    pools = {row["system"]: row for row in section["pools"]}
    for name in SYSTEMS:
        assert pools[name]["first"]["value"] == pytest.approx(np.mean(outcomes[name, "pool 1"]))
        assert pools[name]["second"]["value"] == pytest.approx(np.mean(outcomes[name, "pool 2"]))
    sides = [[pools[name][side]["value"] for name in SYSTEMS] for side in ("first", "second")]
    assert section["pool_correlation"] == pytest.approx(stats.pearsonr(*sides).statistic)
    assert {row["family"]: row["score"]["value"] for row in section["families"]} == pytest.approx(
        {family: np.mean(values) for family, values in families.items()}
    )

    # Figure 2b: score and mean rating against entropy, families as lines.
    texts = frame.drop_duplicates("item").assign(log_q=lambda rows: rows["log_q"].astype(float))
    points = {point["system"]: point for point in section["tradeoff"]["points"]}
    all_texts = pd.DataFrame(list(data.items["cells"])).assign(context=data.items["context"].to_numpy())
    entropy = -all_texts.assign(log_q=all_texts["log_q"].astype(float)).groupby(["system", "context"])["log_q"].mean()
    for name in SYSTEMS:
        assert points[name]["entropy"]["value"] == pytest.approx(entropy[name].mean())
        assert points[name]["mean_rating"]["value"] == pytest.approx(frame.loc[frame["system"] == name, "value"].mean())
    rho = stats.spearmanr(
        [points[n]["entropy"]["value"] for n in SYSTEMS], [points[n]["score"]["value"] for n in SYSTEMS]
    )
    assert section["tradeoff"]["spearman"]["value"] == pytest.approx(rho.statistic)
    assert len(texts) > 100

    # The likelihood trap: ten bins of equally many texts, with the mean over texts.
    means = frame.assign(log_prob=frame["log_prob"].astype(float)).groupby("item")[["log_prob", "value"]].mean()
    bins = section["likelihood"]["bins"]
    for of_bin in bins:
        inside = means[means["log_prob"].between(of_bin["low"], of_bin["high"])]
        assert of_bin["mean"]["value"] == pytest.approx(inside["value"].mean(), abs=0.05)
    assert max(range(len(bins)), key=lambda at: bins[at]["mean"]["value"]) not in (0, len(bins) - 1)
    assert unknown_numbers(is_sound(page), sections) == []


# --- Giulianelli et al. 2023, Figures 2 to 5 and Table 1 ---


def apart(one: str, other: str) -> float:
    """The lexical distance on single words, by its definition."""
    first, second = one.split(), other.split()
    alone = [word for word in first if word not in second] + [word for word in second if word not in first]
    return len(alone) / (len(first) + len(second))


def test_production_variability_of_people_and_decoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_tagger() -> None:
        raise NoTagger("not here")

    def no_embedder() -> None:
        raise NoEmbedder("not here")

    monkeypatch.setattr("analysis.report.sections.variability.load_tagger", no_tagger)
    monkeypatch.setattr("analysis.report.sections.variability.load_embedder", no_embedder)
    data = production_study(contexts=15)
    page, sections = built(data, tmp_path)
    section, decoders = sections["variability"], (*PEAKED, "off topic")

    human = data.ratings.groupby("item")["text"].agg(list)
    expected: dict[str, dict[str, list[float]]] = {name: {"mu": [], "cross": [], "w1": []} for name in decoders}
    people = []
    for _, item in data.items.iterrows():
        by_people = human[item["item"]]
        h = [apart(one, other) for one, other in combinations(by_people, 2)]
        people.append(float(np.mean(h)))
        for name in decoders:
            by_model = [text for column, text in item["cells"].items() if column.startswith(f"text:{name}:")]
            m = [apart(one, other) for one, other in combinations(by_model, 2)]
            c = [apart(one, other) for one in by_people for other in by_model]
            expected[name]["mu"].append(float(np.mean(m) - np.mean(h)))
            expected[name]["cross"].append(float(np.mean(c) - np.mean(h)))
            expected[name]["w1"].append(float(stats.wasserstein_distance(h, c)))
    corpus = by([row for row in section["corpus"] if row["kind"] == "lexical-1"], "decoder")
    assert corpus["people",]["mu_human"]["value"] == pytest.approx(np.mean(people))  # Figure 2
    for name, figures in expected.items():  # Figures 3 and 4
        assert corpus[name,]["model_minus_human"]["value"] == pytest.approx(np.mean(figures["mu"]))
        assert corpus[name,]["cross_minus_human"]["value"] == pytest.approx(np.mean(figures["cross"]))
        assert corpus[name,]["w1_cross"]["value"] == pytest.approx(np.mean(figures["w1"]))
    assert corpus["narrow",]["model_minus_human"]["high"] < 0 < corpus["off topic",]["cross_minus_human"]["low"]
    assert abs(corpus["like people",]["model_minus_human"]["value"]) < 0.06

    pairs = {(row["first"], row["second"]): row for row in section["differences"]["lexical-1"]}
    for first, second in combinations(decoders, 2):
        test = stats.ttest_rel(expected[first]["w1"], expected[second]["w1"])
        difference = np.mean(expected[first]["w1"]) - np.mean(expected[second]["w1"])
        assert pairs[first, second]["difference"]["value"] == pytest.approx(difference)
        assert (pairs[first, second]["p"] < 0.01) == (test.pvalue < 0.01)
    assert (("like people", "human control") in pairs) and (("off topic", "human control") in pairs)

    contexts = [row for row in section["contexts"] if row["decoder"] == "off topic" and row["kind"] == "lexical-1"]
    worst = max(contexts, key=lambda row: row["w1_cross"])
    (table,) = [table for table in section["tables"] if table["caption"] == "Contexts where off topic fits worst"]
    assert table["rows"][0][0] == worst["context"]  # Figure 5 and Table 1
    assert table["rows"][0][1] == f"What about {worst['context'][1:]}?"
    assert table["rows"][0][-2] in human[worst["context"]] and "other" in table["rows"][0][-1]
    assert "1 of 3 decoders fit worse than people fit themselves" in sentence_on(sections, "fit of models")
    assert "Syntactic distances are left out: not here." in page
    assert unknown_numbers(is_sound(page), sections) == []


# --- Tevet & Berant 2021, Table 5 ---

#: Task: ρ and OCA of absHDS, distinct-n and cos-sim on conTest, as published (two decimals).
TABLE_5 = {
    "story": {"absHDS": (0.85, 0.95), "distinct-n": (0.57, 0.77), "cos-sim": (0.56, 0.77)},
    "resp": {"absHDS": (0.63, 0.81), "distinct-n": (0.345, 0.675), "cos-sim": (0.33, 0.66)},
    "prompt": {"absHDS": (0.78, 0.89), "distinct-n": (0.33, 0.68), "cos-sim": (0.36, 0.67)},
}


def ratings_with_mean(mean: float) -> list[float]:
    """Half steps with this mean: those of ten workers, or of a few more or less where ten cannot have it."""
    sizes = [size for size in range(5, 40) if abs(round(mean * 2 * size) / 2 / size - mean) < 6e-4]
    sizes.sort(key=lambda size: abs(size - 10))
    steps = round(mean * 2 * sizes[0])
    low, more = divmod(steps, sizes[0])
    return [(low + (at < more)) / 2 for at in range(sizes[0])]


def best_accuracy(scores: pd.Series, labels: pd.Series) -> float:
    """OCA by trying all thresholds; sets at or above one are called diverse."""
    best: float = max(((scores >= cut) == (labels == 1)).mean() for cut in [*scores.unique(), np.inf])
    return best


@pytest.mark.slow
@pytest.mark.released
@pytest.mark.parametrize("task", list(TABLE_5))
def test_scores_and_metrics_of_the_released_sets(task: str, released: Path, tmp_path: Path) -> None:
    """A study whose workers gave the released mean scores reports the published figures, and those of all metrics."""
    file = pd.read_csv(released / "diversity-eval" / "conTest" / f"con_test_200_with_hds_{task}_gen.csv",
                       keep_default_na=False)  # fmt: skip
    columns = [str(name) for name in file if str(name).startswith("metric_") and "abs_hds" not in str(name)]
    items = [
        a_set(f"set {at}", label=float(row["label_value"]), label_name="content_diversity",
              context=row["context"], responses=[str(row[f"resp_{number}"]) for number in range(5)],
              metrics={name: float(row[name]) for name in columns})
        for at, row in enumerate(file.to_dict("records"))
    ]  # fmt: skip
    values = {
        (f"set {at}", f"w{number}"): rating
        for at, mean in enumerate(file["metric_abs_hds_mean"].astype(float))
        for number, rating in enumerate(ratings_with_mean(mean))
    }
    _, sections = built(study_data(items, values), tmp_path, draws=20)
    tests = sections["diversity"]["diversity"]["tests"]
    for measure, (rho, oca) in TABLE_5[task].items():
        assert tests[measure]["spearman"]["value"] == pytest.approx(rho, abs=0.0065), measure
        assert tests[measure]["second"]["value"] == pytest.approx(oca, abs=0.0065), measure
    labels = file["label_value"].astype(float)
    for name in columns:
        scores = file[name].astype(float)
        assert tests[name]["spearman"]["value"] == pytest.approx(stats.spearmanr(scores, labels).statistic)
        assert tests[name]["second"]["value"] == pytest.approx(best_accuracy(scores, labels))
    (table,) = [t for t in sections["diversity"]["tables"] if t["caption"] == "Scores against content_diversity"]
    assert [row[0] for row in table["rows"]] == ["absHDS", "distinct-n", "cos-sim", *columns]
    assert {row[1] for row in table["rows"]} == {len(file)}  # sets, not the answers about them
    assert sentence_on(sections, "absHDS").startswith("It follows content_diversity with Spearman’s ρ")


def test_columns_name_their_decoder() -> None:
    cells = {"sample_id": "c", "text:top_p=0.9:2": "b", "text:top_p=0.9:1": "a", "text:gpt:large": "c", "text:x": " "}
    assert texts_by_decoder(cells) == {"top_p=0.9": ["b", "a"], "gpt:large": ["c"]}
