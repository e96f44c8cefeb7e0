"""What a report says is right, whole, safe to open, and never made up."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.reports import build_report
from annotation.models import Flag, Study, Submission
from annotation.services.reviews import review_submission
from annotation.task_types.base import Score
from annotation.task_types.registry import all_types
from tests.factories import make_participant, make_study, make_submission
from tests.report_data import Values, a_pair, a_set, rated_study

pytestmark = pytest.mark.django_db

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units.
OBSERVERS = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
TEXTBOOK: Values = {
    (f"u{unit}", worker): float(value)
    for worker, row in OBSERVERS.items()
    for unit, value in enumerate(row.split())
    if value != "."
}
UNITS = [a_set(f"u{unit}") for unit in range(12)]

# Two classes of four sets. The best cut lies between 3 and 3.5: all of the high and three of the low class right.
LOW, HIGH = (1.0, 2.0, 3.0, 4.5), (3.5, 4.0, 5.0, 5.0)
CLASSES = [a_set(f"low{at}", label=0) for at in range(4)] + [a_set(f"high{at}", label=1) for at in range(4)]
CLASS_VALUES: Values = {
    (f"{name}{at}", worker): value
    for name, values in (("low", LOW), ("high", HIGH))
    for at, value in enumerate(values)
    for worker in ("anna", "ben")
}


def built(study: Study, folder: Path, *, draws: int = 50, seed: int = 1) -> tuple[str, dict[str, Any]]:
    """The page, and the sections of the numbers."""
    page = build_report(study, out_dir=folder, draws=draws, seed=seed)
    numbers = json.loads((folder / "report.json").read_text())
    return page.read_text(), numbers["sections"]


class Page(HTMLParser):
    """Checks nesting and ids while it reads; collects cells of numbers."""

    VOID = ("meta", "br", "hr", "img", "input", "link", "circle", "line", "rect", "path")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.numbers: list[str] = []
        self.in_number = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "srcset", "action") for name in told), (tag, told)
        self.ids += [told["id"]] if "id" in told else []
        self.links += [told["href"]] if "href" in told else []
        self.in_number = tag == "td" and told.get("class") == "number"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.in_number and data.strip():
            self.numbers += re.findall(r"−?\d[\d,]*(?:\.\d+)?", data)
            self.in_number = False


# --- numbers -------------------------------------------------------------------------------------------------------


def test_alpha_of_the_textbook_example(tmp_path: Path) -> None:
    study = rated_study(UNITS, TEXTBOOK)

    page, sections = built(study, tmp_path)

    alpha = sections["answers"]["diversity"]["agreement"]["Krippendorff’s α, ordinal"]
    assert alpha["value"] == pytest.approx(0.815, abs=5e-4)  # as printed there
    assert alpha["n"] == 11
    assert "fewer than 2 ratings" in alpha["note"]  # the twelfth unit
    assert alpha["low"] < alpha["value"] < alpha["high"]
    assert "0.815" in page


def test_level_and_distribution(tmp_path: Path) -> None:
    study = rated_study(CLASSES, CLASS_VALUES)

    _, sections = built(study, tmp_path)

    diversity = sections["answers"]["diversity"]
    assert diversity["n"] == 16
    assert diversity["location"]["Mean"]["value"] == pytest.approx(28 / 8)
    # Squares of 1 2 3 4.5 3.5 4 5 5, each twice, sum to 225; less 16 · 3.5² leaves 29 over 15.
    assert diversity["location"]["Standard deviation"]["value"] == pytest.approx(math.sqrt(29 / 15))
    assert diversity["location"]["Mean"]["n_of"] == "items"
    counts = {row["value"]: row["n"] for row in diversity["distribution"]}
    assert counts == {1: 2, 1.5: 0, 2: 2, 2.5: 0, 3: 2, 3.5: 2, 4: 2, 4.5: 2, 5: 4}
    assert diversity["agreement"]["Percent agreement"]["value"] == 1


def test_two_classes_give_rho_oca_and_the_threshold(tmp_path: Path) -> None:
    study = rated_study(CLASSES, CLASS_VALUES)

    page, sections = built(study, tmp_path)

    found = sections["diversity"]["diversity"]
    assert found["test"] == "contest"
    human = found["tests"]["absHDS"]
    # Ranks of the low class 1 2 3 6, of the high class 4 5 7.5 7.5: covariance 6, sums of squares 2 and 41.5.
    assert human["spearman"]["value"] == pytest.approx(6 / math.sqrt(2 * 41.5))
    assert human["second"]["value"] == pytest.approx(7 / 8)
    assert human["threshold"]["value"] == pytest.approx(3.25)
    assert "best threshold 3.25: 0.88 right" in page
    assert set(found["tests"]) == {"absHDS", "distinct-n", "cos-sim"}


def test_a_set_s_score_its_spread_and_its_size(tmp_path: Path) -> None:
    study = rated_study([a_set("one"), a_set("two")], {("one", "anna"): 2.0, ("one", "ben"): 4.0, ("two", "ben"): 5.0})

    _, sections = built(study, tmp_path)

    one, two = sections["diversity"]["diversity"]["sets"]
    assert (one["item"], one["score"], one["sd"], one["n"]) == ("one", 3.0, 1.0, 2)  # n in the denominator
    assert (two["item"], two["score"], two["sd"], two["n"]) == ("two", 5.0, 0.0, 1)
    assert two["low"] is None


def test_similarity_scores_are_minus_the_mean_over_pairs(tmp_path: Path) -> None:
    values: Values = {
        ("one", "anna"): {"0-1": 1.0, "0-2": 3.0, "1-2": 5.0},
        ("one", "ben"): {"0-1": 2.0, "0-2": 2.0, "1-2": 5.0},
    }
    study = rated_study([a_set("one")], values, task_type="sim_hds", question="similarity", scale="similarity")

    _, sections = built(study, tmp_path)

    (one,) = sections["diversity"]["similarity"]["sets"]
    assert one["score"] == pytest.approx(-(1.5 + 2.5 + 5) / 3)
    assert one["n"] == 6
    assert sections["answers"]["similarity"]["agreement"]["Percent agreement"]["n"] == 3  # pairs


def test_a_score_may_turn_a_question_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(all_types()["abs_hds"]), "scores", lambda self: (Score("diversity", "sameness", -1),))
    study = rated_study([a_set("one")], {("one", "anna"): 2.0, ("one", "ben"): 4.0})

    _, sections = built(study, tmp_path)

    (one,) = sections["diversity"]["diversity"]["sets"]
    assert one["score"] == -3.0
    assert one["low"] + one["high"] == pytest.approx(-6.0)
    assert one["low"] < -3.0 < one["high"]


def test_a_numeric_parameter_gives_correlations(tmp_path: Path) -> None:
    items = [a_set(f"t{at}", label=at / 10) for at in range(1, 9)]
    scores = [1.0, 2.0, 1.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    study = rated_study(items, {(f"t{at}", "anna"): score for at, score in enumerate(scores, start=1)})

    page, sections = built(study, tmp_path)

    found = sections["diversity"]["diversity"]
    assert found["test"] == "dectest"
    # One swap of neighbours among eight: 1 − 6 · 2 / (8 · 63).
    assert found["tests"]["absHDS"]["spearman"]["value"] == pytest.approx(1 - 12 / 504)
    assert "absHDS against temp" in page


def test_comparisons_are_tested_by_the_sign_of_their_difference(tmp_path: Path) -> None:
    items = [a_pair(f"p{at}", labels) for at, labels in enumerate([(1, 0), (0, 1), (0, 1), (1, 0)])]
    ratings = [5.0, 1.5, 2.0, 3.0]  # right thrice, then a tie, which is a miss
    values = {(f"p{at}", "anna"): value for at, value in enumerate(ratings)}
    study = rated_study(items, values, task_type="rnk_hds", question="ranking", scale="ranking")

    page, sections = built(study, tmp_path)

    found = sections["diversity"]["ranking"]
    assert found["test"] == "ranking"
    assert found["tests"]["rnkHDS"]["second"]["value"] == pytest.approx(3 / 4)
    assert "no difference" in page
    # Ratings are kept about set 1 and set 2, whatever side of the page these stood on; workers read A and B.
    answered = {row["value"]: row for row in sections["answers"]["ranking"]["distribution"]}
    assert (answered[5]["answer"], answered[5]["n"]) == ("5 Set 1 is much more diverse", 1)
    assert "5 Set A is much more diverse" in page
    # All pairs share the one context, so that there is nothing to resample together.
    assert "are resampled together" not in page
    assert found["tests"]["rnkHDS"]["spearman"]["method"].startswith("percentile bootstrap over pairs")


def test_differences_that_are_equal_but_for_rounding_tie(tmp_path: Path) -> None:
    labels = [(0.3, 0.6), (0.6, 0.9), (0.9, 1.2), (0.6, 0.3), (0.9, 0.6), (1.2, 0.9)]
    items = [a_pair(f"p{at}", pair) for at, pair in enumerate(labels)]
    values = {(f"p{at}", "anna"): value for at, value in enumerate([1.0, 2.0, 1.5, 4.0, 5.0, 4.5])}
    study = rated_study(items, values, task_type="rnk_hds", question="ranking", scale="ranking")

    page, sections = built(study, tmp_path)

    # Two values of the parameter, −0.3 and 0.3; Spearman's rho with ranks 2, 2, 2, 5, 5, 5.
    found = sections["diversity"]["ranking"]["tests"]["rnkHDS"]["spearman"]["value"]
    assert found == pytest.approx(27 / math.sqrt(17.5 * 13.5) / 2)
    assert "made with 2 values of temp" in page


@pytest.mark.released
@pytest.mark.parametrize(
    ("task", "human", "distinct", "cosine"),
    [
        ("story", (0.85, 0.95), (0.57, 0.77), (0.56, 0.77)),
        ("resp", (0.63, 0.81), (0.345, 0.675), (0.33, 0.66)),
        ("prompt", (0.78, 0.89), (0.33, 0.68), (0.36, 0.67)),
    ],
)
def test_the_published_figures_come_out_of_the_released_sets(
    task: str,
    human: tuple[float, float],
    distinct: tuple[float, float],
    cosine: tuple[float, float],
    released: Path,
    tmp_path: Path,
) -> None:
    """Tevet & Berant 2021, table 4 (conTest); the released mean of each set stands in for its ratings."""
    path = released / "diversity-eval" / "conTest" / f"con_test_200_with_hds_{task}_gen.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    items, values = [], {}
    for number, row in enumerate(rows):
        responses = [row[name] for name in sorted(row) if name.startswith("resp_")]
        items.append(a_set(str(number), label=float(row["label_value"]), responses=responses, context=row["context"]))
        values[str(number), "all of them"] = float(row["metric_abs_hds_mean"])
    study = rated_study(items, values)

    _, sections = built(study, tmp_path)

    tests = sections["diversity"]["diversity"]["tests"]
    for name, (rho, oca) in {"absHDS": human, "distinct-n": distinct, "cos-sim": cosine}.items():
        assert tests[name]["spearman"]["value"] == pytest.approx(rho, abs=0.0061), name
        assert tests[name]["second"]["value"] == pytest.approx(oca, abs=0.0061), name
        assert tests[name]["spearman"]["method"].startswith("percentile bootstrap over groups of sets")


def test_what_a_person_left_out_does_not_count(tmp_path: Path) -> None:
    values: Values = {("one", "anna"): 2.0, ("one", "ben"): 4.0, ("one", "carl"): 5.0, ("one", "dora"): 4.5}
    study = rated_study([a_set("one")], values)
    user = User.objects.create_user("reviewer")
    for value in (4.5, 5.0):
        left_out = Submission.objects.get(ratings__value=value)
        review_submission(submission=left_out, decision="exclude", note="", user=user)
    for value in (2.0, 5.0):
        Flag.objects.create(submission=Submission.objects.get(ratings__value=value), reason="copied")

    page, sections = built(study, tmp_path)

    assert sections["diversity"]["diversity"]["sets"][0]["score"] == 3.0
    assert sections["data"]["submissions_left_out"] == 2
    assert sections["workers"]["flags"] == [{"reason": "copied", "submissions": 2, "share": 2 / 4, "left_out": 1}]
    assert "2 left out after review" in page


def test_workers_are_compared_with_the_rest(tmp_path: Path) -> None:
    values: Values = {}
    for at, value in enumerate([1.0, 2.0, 3.0, 4.0]):
        values |= {(f"i{at}", "anna"): value, (f"i{at}", "ben"): value, (f"i{at}", "high"): value + 1}
    study = rated_study([a_set(f"i{at}") for at in range(4)], values)

    _, sections = built(study, tmp_path)

    names = {each.worker.platform_id: each.pseudonym for each in study.participants.select_related("worker")}
    workers = {row["worker"]: row for row in sections["workers"]["diversity"]}
    assert workers[names["high"]]["bias"] == pytest.approx(1)
    assert workers[names["anna"]]["bias"] == pytest.approx(-0.5)
    assert workers[names["anna"]]["agreement"] == pytest.approx(1)
    assert workers[names["anna"]]["ratings"] == 4


def test_the_same_data_and_seed_give_the_same_numbers(tmp_path: Path) -> None:
    study = rated_study(CLASSES, CLASS_VALUES)

    first, second, other = (
        built(study, tmp_path / name, seed=seed)[1] for name, seed in (("a", 5), ("b", 5), ("c", 6))
    )

    assert first == second
    assert first != other


def test_every_number_in_a_table_is_in_the_json(tmp_path: Path) -> None:
    page, sections = built(rated_study(CLASSES, CLASS_VALUES), tmp_path)

    known = set()
    for number in all_numbers(sections):
        known |= {f"{abs(number):,.{digits}f}" for digits in range(4)}
    shown = Page(page).numbers
    assert len(shown) > 200
    assert [token for token in shown if token.lstrip("−") not in known] == []


def all_numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from all_numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from all_numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, str):
        yield from (float(token.replace(",", "")) for token in re.findall(r"\d[\d,]*(?:\.\d+)?", value))


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    text, _ = built(rated_study(CLASSES, CLASS_VALUES), tmp_path)

    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not page.tags & {"script", "link", "iframe", "object", "embed", "img", "form", "base"}
    assert not re.search(r"https?://|//[a-z]|url\(|@import|javascript:", text)


def test_simulated_data_are_announced_before_any_figure(tmp_path: Path) -> None:
    values: Values = {("one", "anna"): 2.0, ("one", "bot"): 4.0, ("two", "bot"): 5.0, ("two", "anna"): 1.0}
    study = rated_study([a_set("one"), a_set("two")], values, synthetic=["bot"])

    page, sections = built(study, tmp_path)

    assert page.index("Simulated data.</strong> 50.0% of the ratings") < page.index('class="highlights"')
    assert sections["data"]["ratings_simulated"] == 2
    assert "Simulated data" not in built(rated_study([a_set("one")], {("one", "anna"): 2.0}), tmp_path / "real")[0]


NASTY = '<script>alert("1")</script><img src=x onerror=alert(2)>'


def test_texts_are_shown_not_run(tmp_path: Path) -> None:
    items = [a_set(f"<b>{at}</b>", label=at % 2, label_name=NASTY, responses=[NASTY, "{{ 7 }}"]) for at in range(4)]
    values = {(f"<b>{at}</b>", "anna"): 1.0 + at for at in range(4)}
    study = rated_study(items, values, title=NASTY, consent=NASTY, texts={"instructions": NASTY})

    text, _ = built(study, tmp_path)

    page = Page(text)
    assert page.open == []
    assert not page.tags & {"script", "img", "b"}
    assert "&lt;script&gt;" in text
    assert "{{ 7 }}" in text


def test_right_to_left_texts_keep_their_direction(tmp_path: Path) -> None:
    arabic = "لا أعرف ماذا أقول"
    study = rated_study([a_set("one", responses=[arabic, "שלום"])], {("one", "anna"): 2.0}, title=arabic)

    page, _ = built(study, tmp_path)

    assert f'<li dir="auto">1. {arabic}</li>' in page
    assert f'<h1 dir="auto">{arabic}</h1>' in page


def test_the_wording_is_there_word_by_word(tmp_path: Path) -> None:
    study = rated_study(
        [a_set("one")],
        {("one", "anna"): 2.0},
        consent="You may stop\n\nat any time.",
        texts={"instructions": "Read slowly."},
    )

    page, sections = built(study, tmp_path)

    assert "You may stop\n\nat any time." in page
    assert "Read slowly." in page
    (question,) = sections["wording"]["questions"]
    assert question["label"] in page
    assert [point["value"] for point in question["answers"]] == [5, 4.5, 4, 3.5, 3, 2.5, 2, 1.5, 1]
    assert all(point["label"] in page for point in question["answers"])


def test_queries_do_not_grow_with_rows(tmp_path: Path) -> None:
    study = make_study(items=6, ratings_per_item=4)
    counts = []
    for _ in range(2):
        for _ in range(4):
            make_submission(study=study, participant=make_participant(study=study))
        with CaptureQueriesContext(connection) as queries:
            build_report(study, out_dir=tmp_path, draws=10)
        counts.append(len(queries))

    assert counts == [5, 5]


def test_a_report_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = rated_study([a_set("one")], {("one", "anna"): 2.0})
    built(study, tmp_path)
    before = (tmp_path / "report.html").read_text()

    def full(*_: object, **__: object) -> int:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        build_report(study, out_dir=tmp_path, draws=10)

    assert (tmp_path / "report.html").read_text() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.html", "report.json"]


def test_a_report_without_draws_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one draw"):
        build_report(make_study(items=1), out_dir=tmp_path, draws=0)


# --- studies of which little can be said ---------------------------------------------------------------------------


@pytest.mark.parametrize("task_type", sorted(all_types()))
@pytest.mark.parametrize(("items", "submissions"), [(0, 0), (1, 0), (1, 1), (3, 1), (1, 3), (4, 9)])
def test_every_type_gives_a_sound_page_however_little_there_is(
    task_type: str, items: int, submissions: int, tmp_path: Path
) -> None:
    study = make_study(task_type=task_type, items=items, ratings_per_item=5)
    for number in range(submissions):
        make_submission(study=study, seed=number, profile="noisy")

    text, sections = built(study, tmp_path)

    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert sections["data"]["submissions_used"] == submissions
    assert not re.search(r"\b(nan|NaN|None|inf)\b", text)


def test_no_ratings_says_so(tmp_path: Path) -> None:
    page, sections = built(make_study(items=2), tmp_path)

    assert "Nothing was rated yet" in page
    assert "No item has a rating" in page
    assert sections["answers"]["diversity"] == {"level": "ordinal", "n": 0}


def test_one_worker_cannot_agree(tmp_path: Path) -> None:
    study = rated_study(CLASSES, {key: value for key, value in CLASS_VALUES.items() if key[1] == "anna"})

    page, sections = built(study, tmp_path)

    agreement = sections["answers"]["diversity"]["agreement"]
    assert {each["value"] for each in agreement.values()} == {None}
    assert all("one rater" in each["note"] for each in agreement.values())
    assert "Not defined. There is one rater only" in page
    assert sections["diversity"]["diversity"]["tests"]["absHDS"]["second"]["value"] == pytest.approx(7 / 8)


def test_one_item_gives_a_mean_without_an_interval(tmp_path: Path) -> None:
    study = rated_study([a_set("one", label=1)], {("one", "anna"): 2.0, ("one", "ben"): 4.0})

    page, sections = built(study, tmp_path)

    mean = sections["answers"]["diversity"]["location"]["Mean"]
    assert (mean["value"], mean["low"], mean["n"]) == (3.0, None, 1)
    assert "no interval from one of the items" in mean["note"]
    assert "All of them have the same temp" in page


def test_one_value_throughout_leaves_alpha_undefined(tmp_path: Path) -> None:
    study = rated_study(CLASSES, dict.fromkeys(CLASS_VALUES, 3.0))

    page, sections = built(study, tmp_path)

    alpha = sections["answers"]["diversity"]["agreement"]["Krippendorff’s α, ordinal"]
    assert alpha["value"] is None
    assert "same value" in alpha["note"]
    human = sections["diversity"]["diversity"]["tests"]["absHDS"]
    assert human["spearman"]["value"] is None
    assert human["second"]["value"] == pytest.approx(0.5)
    assert "all scores are the same" in page.lower()


def test_sets_without_labels_are_scored_and_not_tested(tmp_path: Path) -> None:
    study = rated_study(UNITS, TEXTBOOK)

    page, sections = built(study, tmp_path)

    found = sections["diversity"]["diversity"]
    assert (found["test"], found["rated"], found["with_parameter"]) == ("none", 12, 0)
    assert "tests" not in found
    assert "carry no parameter" in page
    assert set(found["metrics_with_human"]) == {"distinct-n", "cos-sim"}


def test_sets_whose_label_is_missing_are_counted(tmp_path: Path) -> None:
    values = dict(CLASS_VALUES) | {("bare", "anna"): 5.0}

    page, sections = built(rated_study([*CLASSES, a_set("bare")], values), tmp_path)

    assert sections["diversity"]["diversity"]["tests"]["absHDS"]["spearman"]["n"] == 8
    assert "1 scored items have no temp and enter no test" in page


def test_too_few_sets_have_no_stability(tmp_path: Path) -> None:
    page, sections = built(rated_study(CLASSES, CLASS_VALUES), tmp_path)

    assert "stability" not in sections["diversity"]["diversity"]
    assert "needs at least 10 sets with a score and a parameter, not 8" in page


def test_stability_and_what_a_wanted_interval_costs(tmp_path: Path) -> None:
    items = [a_set(f"s{at}", label=at % 2) for at in range(40)]
    values = {
        (f"s{at}", f"w{rater}"): 1.0 + 2.5 * (at % 2) + ((at * 7 + rater * 3) % 4) / 2
        for at in range(40)
        for rater in range(3)
    }
    study = rated_study(items, values, reward=Decimal("0.25"))

    page, sections = built(study, tmp_path)

    found = sections["diversity"]["diversity"]
    whole = [point for point in found["stability"] if (point["sets"], point["ratings"]) == (40, 3)]
    assert whole[0]["rho"]["value"] == pytest.approx(found["tests"]["absHDS"]["spearman"]["value"])
    assert whole[0]["oca"]["value"] == pytest.approx(found["tests"]["absHDS"]["second"]["value"])
    for design in found["recommendation"]:
        if design["sets"] is not None:
            assert float(design["cost"]) == pytest.approx(design["sets"] * design["ratings"] * 0.25)
            assert design["found"] <= design["width"]
    assert any(design["sets"] for design in found["recommendation"])
    assert "The smallest design for a wanted interval" in page
