"""The HDS family beyond its examples: the released files, balance, simulated workers, what a page may not show."""

from __future__ import annotations

import csv
import random
import statistics
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest

from analysis.description import Scale
from annotation.task_types.base import Page, Shown
from annotation.task_types.hds.hds_scales import DIVERSITY, QUALITY, RANKING, SIMILARITY
from annotation.task_types.hds.hds_type import HdsType
from annotation.task_types.items import ItemData, Row
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import PROFILES, Profile, SimulatedWorker
from tests.annotation.task_types.walking import drawn, initial_config, texts_of

NAMES = ("abs_hds", "asp_hds", "rnk_hds", "sim_hds")
each_hds = pytest.mark.parametrize("name", NAMES)
FILES = (
    *(
        (f"conTest/con_test_200_with_hds_{task}_gen.csv", n)
        for task, n in (("prompt", 200), ("resp", 220), ("story", 250))
    ),
    *((f"decTest/dec_test_200_with_hds_{task}_gen.csv", 203) for task in ("prompt", "resp", "story")),
    *((f"McDiv/mcdiv_all_no_hds_{task}_gen.csv", n) for task, n in (("prompt", 2000), ("resp", 2002), ("story", 2000))),
)
WORDS = (Path(__file__).parent / "words.txt").read_text("utf-8").split()


def hds(name: str) -> HdsType:
    found = get_type(name)
    assert isinstance(found, HdsType)
    return found


def rows_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(number, cells) for number, cells in enumerate(csv.DictReader(file), start=1)]


def make_rows(*, items: int, sets: int = 1, responses: int = 5, seed: int = 1) -> list[Row]:
    """Sets that range from one response repeated to responses that share no word."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for item in range(items):
        for _ in range(sets):
            same = " ".join(rng.sample(WORDS, 5))
            varied = rng.randint(0, responses)
            texts = [" ".join(rng.sample(WORDS, 5)) if at < varied else same for at in range(responses)]
            cells = {
                "sample_id": f"s{item}",
                "context": f"Context {item}.",
                "label_value": str(varied),
                "label_name": "varied",
            }
            rows.append(Row(len(rows) + 1, cells | {f"resp_{at}": text for at, text in enumerate(texts)}))
    return rows


def make_items(task: HdsType, *, items: int, responses: int = 5) -> list[ItemData]:
    rows = make_rows(items=items, sets=2 if task.name == "rnk_hds" else 1, responses=responses)
    found, problems = task.read_items(rows, initial_config(task))
    assert problems == []
    return found


def shown(task: HdsType, items: list[ItemData], *, slot: int = 0, seed: int = 1) -> Shown:
    config = initial_config(task)
    order = task.arrange(items, config, slot=slot, rng=random.Random(seed))
    return Shown(items, config, texts_of(task, config), order)


def judging(task: HdsType, arranged: Shown) -> Page:
    return list(task.pages(arranged))[-1]


def parameter(task: HdsType, item: ItemData) -> tuple[str, float] | None:
    return task.describe_item(item.payload).parameter


# --- scales, as published (Tevet & Berant 2021, §4 and appendix A) ---


@pytest.mark.parametrize("scale", [QUALITY, DIVERSITY, RANKING])
def test_nine_points_from_five_to_one_in_half_steps(scale: Scale) -> None:
    assert [point.key for point in scale.points] == ["5", "4.5", "4", "3.5", "3", "2.5", "2", "1.5", "1"]


def test_similarity_has_five_points() -> None:
    assert [point.key for point in SIMILARITY.points] == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize(
    ("scale", "labels"),
    [
        (QUALITY, "Excellent|Good|Somewhat|Poor|Invalid"),
        (DIVERSITY, "Very diverse|Diverse|Slightly diverse|Almost not diverse|Not diverse at all"),
        (SIMILARITY, "Very similar|Similar|Slightly similar|Almost not similar|Not similar at all"),
        (
            RANKING,
            "Set A is much more diverse|Set A is somewhat more diverse|The diversity of both sets is similar|"
            "Set B is somewhat more diverse|Set B is much more diverse",
        ),
    ],
)
def test_published_names_of_the_points(scale: Scale, labels: str) -> None:
    named = {point.value: point.label for point in scale.points if point.label}
    assert named == dict(zip([5.0, 4.0, 3.0, 2.0, 1.0], labels.split("|"), strict=True))


# --- the released files ---


@pytest.mark.released
@pytest.mark.parametrize(("file", "sets"), FILES)
def test_released_file_loads_whole_and_gives_its_columns_back(released: Path, file: str, sets: int) -> None:
    task, rows = hds("abs_hds"), rows_of(released / "diversity-eval" / file)
    items, problems = task.read_items(rows, initial_config(task))
    assert problems == []
    assert len(items) == sets
    assert len({item.external_id for item in items}) == sets
    for row, item in zip(rows, items, strict=True):
        assert list(task.export_columns(item.payload).items()) == list(row.cells.items())
        assert parameter(task, item) == (row.cells["label_name"], float(row.cells["label_value"]))


@pytest.mark.released
def test_released_pairs_load_as_comparisons(released: Path) -> None:
    task = hds("rnk_hds")
    rows = rows_of(released / "diversity-eval/conTest/con_test_200_with_hds_prompt_gen.csv")
    items, problems = task.read_items(rows, initial_config(task))
    assert problems == []
    assert len(items) == 100
    assert {parameter(task, item) for item in items} == {("content_diversity (set 1 − set 2)", 1.0)}


@pytest.mark.released
def test_released_file_without_pairs_says_which_rows_have_no_partner(released: Path) -> None:
    rows = rows_of(released / "diversity-eval/decTest/dec_test_200_with_hds_resp_gen.csv")
    items, problems = hds("rnk_hds").read_items(rows, initial_config(hds("rnk_hds")))
    assert items == []
    assert [problem.row for problem in problems] == list(range(1, 204))
    assert {problem.column for problem in problems} == {"sample_id"}


@each_hds
def test_twenty_thousand_rows_are_read_in_seconds(name: str) -> None:
    task = hds(name)
    rows = make_rows(items=10_000, sets=2)
    start = time.process_time()  # whatever else the machine does
    items, problems = task.read_items(rows, initial_config(task))
    seconds = time.process_time() - start
    assert problems == []
    assert len(items) == (10_000 if name == "rnk_hds" else 20_000)
    assert seconds < 10, f"{seconds:.1f} s"


def test_an_id_that_is_too_long_is_refused_with_its_row() -> None:
    task, rows = hds("abs_hds"), make_rows(items=2, sets=2)
    _, problems = task.read_items([Row(1, {**rows[0].cells, "sample_id": "x" * 161})], initial_config(task))
    assert [(problem.row, problem.column) for problem in problems] == [(1, "sample_id")]
    cells = {**rows[0].cells, "sample_id": "x" * 160, "label_value": "0." + "3" * 400}
    items, problems = task.read_items([Row(n, cells) for n in (1, 2, 3)], initial_config(task))
    assert problems == []
    assert len({item.external_id for item in items}) == 3
    assert all(len(item.external_id) <= 200 for item in items)


@each_hds
def test_empty_cells_are_responses_or_none_as_the_study_says(name: str) -> None:
    task = hds(name)
    cells = {"sample_id": "a", "context": "Hi.", "resp_0": " ", "resp_1": "Hello.", "resp_2": "", "resp_3": "Bye."}
    rows = [Row(number, cells) for number in range(1, 3 if name == "rnk_hds" else 2)]
    found = {}
    for choice in ("keep", "drop"):
        config = initial_config(task) | {"empty_responses": choice}
        items, problems = task.read_items(rows, config)
        assert problems == []
        found[choice] = list(task.describe_item(items[0].payload).texts[0])
        assert task.first_response(items[0].payload) == found[choice][0]
    assert found == {"keep": [" ", "Hello.", "", "Bye."], "drop": ["Hello.", "Bye."]}


# --- order and balance ---


def test_each_set_is_on_side_a_in_exactly_half_of_the_slots() -> None:
    task = hds("rnk_hds")
    items = make_items(task, items=30)
    for wanted in (2, 10):
        sides = [shown(task, items, slot=slot, seed=slot).order["shown"] for slot in range(wanted)]
        for at in range(len(items)):
            assert Counter(order[at]["set_on_a"] for order in sides) == {1: wanted // 2, 2: wanted // 2}


def test_sides_of_the_first_slot_differ_between_items() -> None:
    task = hds("rnk_hds")
    first = Counter(order["set_on_a"] for order in shown(task, make_items(task, items=30)).order["shown"])
    assert first == {1: 15, 2: 15}


@pytest.mark.parametrize("side", [1, 2])
def test_side_a_shows_the_set_that_the_order_says(side: int) -> None:
    task = hds("rnk_hds")
    items = make_items(task, items=1)
    order = {"items": [0], "shown": [{"set_on_a": side, "responses": [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]}]}
    page = judging(task, Shown(items, initial_config(task), texts_of(task, initial_config(task)), order))
    one, two = (part["responses"] for part in items[0].payload["sets"])
    expected = {1: [("A", one), ("B", two[::-1])], 2: [("A", two[::-1]), ("B", one)]}
    assert page.context["sides"] == expected[side]


def test_every_unordered_pair_is_asked_exactly_once() -> None:
    task = hds("sim_hds")
    for responses in range(2, 11):
        items = make_items(task, items=2, responses=responses)
        arranged = shown(task, items)
        for index, page in zip(arranged.order["items"], task.pages(arranged)[2::3], strict=True):
            targets = [question.target for question in page.questions]
            assert sorted(targets) == sorted(f"{low}-{high}" for low, high in combinations(range(responses), 2))
            texts = items[index].payload["responses"]
            for pair in cast(list[dict[str, Any]], page.context["pairs"]):
                low, high = map(int, pair["question"].target.split("-"))
                assert sorted(pair["texts"]) == sorted([texts[low], texts[high]])


def test_each_response_of_a_pair_is_read_first_in_half_of_the_slots() -> None:
    task = hds("sim_hds")
    items = make_items(task, items=1)
    firsts = Counter(
        tuple(pair)
        for slot in range(10)
        for pair in shown(task, items, slot=slot, seed=slot).order["shown"][0]["pairs"]
    )
    assert set(firsts.values()) == {5}
    assert len(firsts) == 20


@each_hds
def test_the_order_of_items_and_of_what_they_hold_depends_on_the_seed(name: str) -> None:
    task = hds(name)
    items = make_items(task, items=8)
    orders = [shown(task, items, seed=seed).order for seed in range(6)]
    assert all(sorted(order["items"]) == list(range(8)) for order in orders)
    assert len({str(order["items"]) for order in orders}) == 6
    assert len({str(order["shown"]) for order in orders}) == 6


def test_the_warm_up_is_about_the_files_first_response_whatever_the_order() -> None:
    task = hds("abs_hds")
    items = make_items(task, items=1)
    for seed in range(6):
        write, quality, judge = task.pages(shown(task, items, seed=seed))
        assert (write.name, quality.context["first"]) == ("write-1", items[0].payload["responses"][0])
        assert sorted(judge.context["responses"]) == sorted(items[0].payload["responses"])  # type: ignore[call-overload]


# --- what the pages may not show ---


@each_hds
def test_pages_never_show_label_id_or_further_columns(name: str) -> None:
    task = hds(name)
    cells = {"context": "Hi.", "label_value": "0.4242", "label_name": "hidden-parameter", "metric_x": "0.7373"}
    rows = [
        Row(n, {"sample_id": "hidden-id", **cells, "resp_0": f"Hello {n}.", "resp_1": f"Bye {n}."})
        for n in range(1, 3 if name == "rnk_hds" else 2)
    ]
    items, problems = task.read_items(rows, initial_config(task))
    assert problems == []
    for each in task.pages(shown(task, items)):
        page = drawn(each)
        assert not [secret for secret in ("hidden-id", "0.4242", "hidden-parameter", "0.7373") if secret in page]


@each_hds
def test_markup_in_items_and_answers_is_shown_as_text(name: str) -> None:
    task = hds(name)
    cells = {"sample_id": "a", "context": "<b>bold</b>", "resp_0": "<script>alert(1)</script>", "resp_1": "{{ 7 }}"}
    rows = [Row(n, cells) for n in range(1, 3 if name == "rnk_hds" else 2)]
    items, _ = task.read_items(rows, initial_config(task))
    for each in task.pages(shown(task, items)):
        page = drawn(each, {"own": "</textarea><i>x</i>"})
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
        assert not [bad for bad in ("<b>bold", "<script>alert", "</textarea><i>") if bad in page]


@pytest.mark.parametrize(
    ("write_first", "rate_first", "start"),
    [(True, True, "From here on, ignore"), (False, True, "From here on, ignore"), (False, False, "Ignore quality:")],
)
def test_without_a_warm_up_the_notice_does_not_say_from_here_on(
    write_first: bool, rate_first: bool, start: str
) -> None:
    task = get_type("abs_hds")
    config = initial_config(task) | {"write_first": write_first, "rate_first": rate_first}
    assert {text.name: text.default for text in task.texts(config)}["ignore_quality"].startswith(start)


@each_hds
def test_notice_and_definition_are_on_the_page_where_the_set_is_judged(name: str) -> None:
    task = hds(name)
    arranged = shown(task, make_items(task, items=1))
    texts = dict(arranged.texts) | {
        "ignore_quality": "Quality is of no interest.",
        "definition": "Diverse is not alike.",
    }
    pages = [drawn(page) for page in task.pages(replace(arranged, texts=texts))]
    assert ["Quality is of no interest" in page for page in pages] == [False, False, True]
    assert ["Diverse is not alike" in page for page in pages] == [False, False, True]


@each_hds
def test_every_named_point_has_a_line_that_says_what_it_means(name: str) -> None:
    task = hds(name)
    for page in list(task.pages(shown(task, make_items(task, items=1))))[1:]:
        html = drawn(page)
        for point in page.questions[0].scale.points:
            assert bool(point.label) == bool(point.description)
            assert point.description in html
            assert "{" not in point.description


# --- simulated workers ---


def correlation(task: HdsType, items: list[ItemData], profile: Profile) -> float:
    truth, said = [], []
    for at, item in enumerate(items):
        arranged = shown(task, [item], slot=at, seed=at)
        page = judging(task, arranged)
        worker = SimulatedWorker.named(f"w{at}", profile)
        answers, errors = page.clean(task.simulate(worker, arranged, page, []))
        assert errors == {}
        for question in page.questions:
            answer = answers[question.key]
            assert isinstance(answer, float)
            truth.append(task.true_score(arranged, page, question))
            said.append(answer)
    return statistics.correlation(truth, said)


@each_hds
def test_careful_workers_follow_the_item_noisy_ones_less_careless_ones_not_at_all(name: str) -> None:
    task = hds(name)
    items = make_items(task, items=300)
    careful, noisy, careless = (correlation(task, items, profile) for profile in PROFILES)
    assert careful > noisy + 0.1
    assert noisy > careless + 0.1
    assert careful > 0.8
    assert abs(careless) < 0.2


# --- scores ---


def test_the_score_of_similarity_is_minus_the_mean() -> None:
    assert [(score.topic, score.sign) for score in hds("sim_hds").scores({})] == [("similarity", -1)]
    assert [(score.topic, score.sign) for score in hds("abs_hds").scores({})] == [("diversity", 1)]
    assert [(score.topic, score.sign, score.middle) for score in hds("rnk_hds").scores({})] == [("ranking", 1, 3.0)]


def test_a_comparison_of_two_different_labels_has_no_parameter() -> None:
    task = hds("rnk_hds")
    rows = make_rows(items=1, sets=2)
    rows[1] = Row(2, {**rows[1].cells, "label_name": "another"})
    items, _ = task.read_items(rows, initial_config(task))
    assert parameter(task, items[0]) is None


def test_comparisons_are_kept_about_the_sets_and_not_about_the_sides() -> None:
    task = hds("rnk_hds")
    config = initial_config(task)
    described = {each.topic: each for each in task.describe_questions(config, texts_of(task, config))}
    asked, stored = described["ranking"].scale, described["ranking"].ratings_scale
    assert [point.value for point in stored.points] == [point.value for point in asked.points]
    assert [stored.points[at].label for at in (0, -1)] == ["Set 1 is much more diverse", "Set 2 is much more diverse"]
    assert described["quality"].stored_scale is None


def test_sides_that_a_study_names_in_its_own_words_have_the_published_names_in_figures() -> None:
    task, config = hds("rnk_hds"), initial_config(hds("rnk_hds"))
    texts = texts_of(task, config) | {"ranking.5.label": "The left one, clearly", "ranking.3.label": "Both alike"}
    (described,) = (each for each in task.describe_questions(config, texts) if each.topic == "ranking")
    labels = {point.value: point.label for point in described.ratings_scale.points if point.label}
    assert (labels[5.0], labels[3.0]) == ("Set 1 is much more diverse", "Both alike")
