"""Exports: what stands in each file, who may have it, and that it comes back unharmed."""

from __future__ import annotations

import csv
import io
import json
import math
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.http import Http404
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from hypothesis import example, given
from hypothesis import strategies as st

from analysis import exports
from analysis.export_views import export_view
from analysis.exports import items as item_exports
from analysis.exports import ratings as rating_exports
from analysis.exports.items import merged_columns, with_metrics
from annotation.models import Assignment, Item, Membership, Rating, Review, Study, Submission
from annotation.tables import read_table
from annotation.task_types.base import ItemData, Row
from annotation.task_types.registry import get_type
from tests.factories import default_config, make_participant, make_study, make_submission

Cells = Mapping[str, str]


def exported(study: Study, kind: str, format: str = "csv", **options: Any) -> str:
    out = io.BytesIO()
    count = exports.export(study, kind=kind, format=format, out=out, **options)
    data = out.getvalue()
    assert b"".join(exports.rows(study, kind=kind, format=format, **options)) == data
    text = data.decode("utf-8")
    assert count == (len(read_csv(text)) if format == "csv" else text.count("\n"))
    return text


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def read_jsonl(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def study_of(rows: Sequence[Cells], *, task_type: str = "abs_hds", ratings: int = 2, **config: Any) -> Study:
    task = get_type(task_type)
    whole = default_config(task) | config
    items, problems = task.read_items([Row(number, cells) for number, cells in enumerate(rows, start=1)], whole)
    assert problems == []
    return make_study(task_type=task_type, payloads=items, config=whole, ratings_per_item=ratings, hits_per_worker=None)


def one_set(**cells: str) -> dict[str, str]:
    return {"sample_id": "a", "context": "Hi.", "resp_0": "Hello.", "resp_1": "Bye."} | cells


def rated(study: Study, values: Mapping[str, Sequence[tuple[str, str, str, float]]]) -> dict[str, Submission]:
    """Ratings written by hand: by worker, (item, question, target, value)."""
    items = {item.external_id: item for item in study.items.all()}
    made = {}
    for worker, given_ in values.items():
        submission = make_submission(study=study, participant=make_participant(study=study, name=worker))
        submission.ratings.all().delete()
        for item, question, target, value in given_:
            Rating.objects.create(
                study=study,
                submission=submission,
                participant=submission.participant,
                item=items[item],
                question=question,
                target=target,
                scale=question,
                value=value,
                created_at=submission.received_at,
            )
        made[worker] = submission
    return made


def exclude(submission: Submission) -> None:
    Review.objects.create(submission=submission, decision="exclude")


# --- long ---


@pytest.mark.django_db
def test_long_has_a_row_for_every_rating_with_what_was_shown_and_who_answered() -> None:
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study, seconds=12.5)
    found = read_csv(exported(study, "long"))
    assert [row["question"] for row in found] == ["own_response", "quality", "diversity"]
    ratings = list(Rating.objects.order_by("pk"))
    for row, rating in zip(found, ratings, strict=True):
        assert row["study"] == study.slug
        assert row["item"] == "s0"
        assert (row["target"], row["scale"], row["text"]) == (rating.target, rating.scale, rating.text)
        assert row["value"] == ("" if rating.value is None else str(rating.value))
        assert row["seconds"] == "12.5"
        assert row["worker"] == submission.participant.pseudonym
        assert (row["synthetic"], row["included"]) == ("false", "true")
        assert (row["hit"], row["place"], row["slot"], row["ordinal"], row["attempt"]) == ("0", "0", "0", "1", "1")
        assert json.loads(row["order"]) == submission.assignment.order
        assert row["submitted_at"] == submission.received_at.isoformat(timespec="milliseconds")[:-6] + "Z"
        assert float(row["submission_seconds"]) == submission.seconds


@pytest.mark.django_db
def test_long_as_json_lines_has_numbers_truths_and_nothing_as_they_are() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study)
    own, _, diversity = read_jsonl(exported(study, "long", "jsonl"))
    assert own["value"] is None
    assert own["text"] == Rating.objects.get(question="own_response").text
    assert diversity["value"] == Rating.objects.get(question="diversity").value
    assert diversity["synthetic"] is False
    assert diversity["included"] is True
    assert isinstance(diversity["hit"], int)


@pytest.mark.django_db
def test_long_marks_simulated_workers_flags_and_what_a_review_left_out() -> None:
    study = make_study(items=1, ratings_per_item=3)
    kept, dropped = make_submission(study=study), make_submission(study=study, profile="careless", pastes=2)
    bot = make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    exclude(dropped)
    exclude(kept)
    Review.objects.create(submission=kept, decision="include")
    told = {
        row["worker"]: (row["synthetic"], row["included"], row["flags"]) for row in read_csv(exported(study, "long"))
    }
    assert told == {
        kept.participant.pseudonym: ("false", "true", ""),
        dropped.participant.pseudonym: ("false", "false", "pasted too_short"),
        bot.participant.pseudonym: ("true", "true", ""),
    }
    assert {row["synthetic"] for row in read_csv(exported(study, "long", simulated=True))} == {"true"}
    assert {row["synthetic"] for row in read_csv(exported(study, "long", simulated=False))} == {"false"}


@pytest.mark.django_db
def test_place_is_the_items_index_in_the_order_that_was_shown() -> None:
    study = make_study(items=4, items_per_hit=4, ratings_per_item=1)
    make_submission(study=study)
    assignment = Assignment.objects.get()
    names = {place.position: place.item.external_id for place in assignment.hit.places.select_related("item")}
    found = read_csv(exported(study, "long"))
    assert len(found) == 12
    assert all(names[int(row["place"])] == row["item"] for row in found)
    assert [int(row["place"]) for row in found[::3]] == assignment.order["items"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", exports.KINDS)
@pytest.mark.parametrize("format", exports.FORMATS)
def test_no_export_says_who_a_worker_is_unless_told_to(kind: str, format: str) -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study, participant=make_participant(study=study, platform="mturk", name="A2SECRET"))
    text = exported(study, kind, format)
    assert "A2SECRET" not in text
    assert "mturk" not in text
    if kind == "long":
        assert "A2SECRET" in exported(study, kind, format, with_worker_ids=True)
    else:
        with pytest.raises(exports.ExportError, match="one row per item"):
            exported(study, kind, format, with_worker_ids=True)


@pytest.mark.django_db
def test_one_study_never_shows_ratings_of_another() -> None:
    mine, other = make_study(items=1, ratings_per_item=1), make_study(items=1, ratings_per_item=1)
    make_submission(study=other)
    make_submission(study=mine)
    assert {row["study"] for row in read_csv(exported(mine, "long"))} == {mine.slug}
    assert [row["submissions"] for row in read_csv(exported(mine, "wide"))] == ["1"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", exports.KINDS)
def test_pages_join_without_gap_or_repeat(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(items=5, ratings_per_item=2, hits_per_worker=None)
    worker, another = make_participant(study=study), make_participant(study=study)
    for _ in range(5):
        make_submission(study=study, participant=worker)
        make_submission(study=study, participant=another)
    whole = exported(study, kind)
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(rating_exports, "BATCH", size)
        monkeypatch.setattr(item_exports, "BATCH", size)
        assert exported(study, kind) == whole


# --- wide ---


@pytest.mark.django_db
def test_wide_gives_mean_sd_and_n_of_every_question_and_the_score() -> None:
    study = study_of([one_set(), one_set(sample_id="b", context="Unrated.")], ratings=3)
    rated(
        study,
        {
            "x": [("a", "diversity", "", 4.5), ("a", "quality", "0", 2.0)],
            "y": [("a", "diversity", "", 3.0), ("a", "quality", "0", 4.0)],
            "z": [("a", "diversity", "", 1.5)],
        },
    )
    found = read_csv(exported(study, "wide"))
    # mean (4.5 + 3 + 1.5) / 3 = 3; s.d. with ddof 0 = sqrt((2.25 + 0 + 2.25) / 3) = sqrt(1.5)
    assert float(found[0]["diversity_mean"]) == 3.0
    assert float(found[0]["diversity_sd"]) == pytest.approx(math.sqrt(1.5))
    assert (found[0]["diversity_n"], found[0]["quality_n"], found[0]["own_response_n"]) == ("3", "2", "0")
    assert (float(found[0]["quality_mean"]), float(found[0]["quality_sd"])) == (3.0, 1.0)
    assert float(found[0]["score"]) == 3.0
    assert (found[0]["submissions"], found[0]["synthetic"]) == ("3", "0")
    assert [found[1][name] for name in ("diversity_mean", "diversity_sd", "diversity_n", "score")] == ["", "", "0", ""]
    assert [row["item"] for row in found] == ["a", "b"]
    assert found[1]["context"] == "Unrated."


@pytest.mark.django_db
def test_similarity_scores_are_minus_the_mean_over_pairs_each_pair_the_same() -> None:
    study = study_of([one_set(resp_2="Well.")], task_type="sim_hds", ratings=2)
    rated(
        study,
        {
            "x": [("a", "similarity", "0-1", 5.0), ("a", "similarity", "0-2", 1.0), ("a", "similarity", "1-2", 3.0)],
            "y": [("a", "similarity", "0-1", 3.0)],
        },
    )
    (row,) = read_csv(exported(study, "wide"))
    # pairs' means 4, 1, 3: mean 8/3; the workers' own means 3 and 3: s.d. 0
    assert float(row["score"]) == pytest.approx(-8 / 3)
    assert float(row["similarity_mean"]) == pytest.approx(8 / 3)
    assert (float(row["similarity_sd"]), row["similarity_n"]) == (0.0, "4")
    (row,) = read_csv(exported(study, "diversity-eval"))
    assert (row["metric_sim_hds_mean"], row["metric_sim_hds_std"]) == ("-2.667", "0.000")


@pytest.mark.django_db
def test_figures_are_those_of_the_analysis() -> None:
    from analysis.diversity.set_scores import set_scores, sim_scores
    from analysis.frames import study_frames

    for task_type, topic in (("abs_hds", "diversity"), ("rnk_hds", "ranking"), ("sim_hds", "similarity")):
        study = make_study(task_type=task_type, items=4, ratings_per_item=5, hits_per_worker=None, responses=4)
        for number in range(5):
            worker = make_participant(study=study)
            for _ in range(4):
                make_submission(study=study, participant=worker, profile="noisy", seed=number)
        frame = study_frames(study).ratings.query("question == @topic")
        if task_type == "sim_hds":
            frame[["first", "second"]] = frame["target"].str.split("-", expand=True)
            scores = sim_scores(frame)
        else:
            scores = set_scores(frame)
        found = read_csv(exported(study, "wide"))
        assert len(found) == 4
        for row in found:
            expected = scores.loc[row["item"]]
            assert float(row["score"]) == pytest.approx(expected["score"], abs=1e-12)
            assert float(row[f"{topic}_sd"]) == pytest.approx(expected["sd"], abs=1e-12)
            assert int(row[f"{topic}_n"]) == expected["n"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["wide", "diversity-eval"])
def test_what_a_review_left_out_counts_nowhere(kind: str) -> None:
    study = study_of([one_set()], ratings=3)
    made = rated(
        study,
        {"x": [("a", "diversity", "", 5.0)], "y": [("a", "diversity", "", 1.0)], "z": [("a", "diversity", "", 4.0)]},
    )
    exclude(made["y"])
    (row,) = read_csv(exported(study, kind))
    name = "score" if kind == "wide" else "metric_abs_hds_mean"
    assert float(row[name]) == 4.5


@pytest.mark.django_db
def test_simulated_workers_are_counted_apart_and_named_in_the_file_name() -> None:
    study = study_of([one_set()], ratings=2)
    person = rated(study, {"x": [("a", "diversity", "", 5.0)]})["x"]
    assert exports.file_name(study, kind="wide", format="csv") == f"{study.slug}-wide.csv"
    bot = rated(study, {"bot": [("a", "diversity", "", 2.0)]})["bot"]
    type(bot.participant).objects.filter(pk=bot.participant_id).update(synthetic=True)
    by_choice = {choice: read_csv(exported(study, "wide", simulated=choice))[0] for choice in (None, False, True)}
    assert {choice: float(row["score"]) for choice, row in by_choice.items()} == {None: 3.5, False: 5.0, True: 2.0}
    assert (by_choice[None]["submissions"], by_choice[None]["synthetic"]) == ("2", "1")
    for kind in exports.KINDS:
        assert exports.file_name(study, kind=kind, format="csv") == f"{study.slug}-{kind}-simulated.csv"
        assert exports.file_name(study, kind=kind, format="csv", simulated=False) == f"{study.slug}-{kind}.csv"
    exclude(bot)
    assert exports.file_name(study, kind="diversity-eval", format="csv") == f"{study.slug}-diversity-eval.csv"
    assert exports.file_name(study, kind="long", format="csv") == f"{study.slug}-long-simulated.csv"
    assert person.participant.synthetic is False


@pytest.mark.django_db
def test_a_column_of_the_file_with_the_name_of_one_of_ours_is_kept_under_another() -> None:
    study = study_of([one_set(score="theirs", item="their item", source_item="and this")])
    (row,) = read_csv(exported(study, "wide"))
    assert (row["item"], row["score"]) == ("a", "")
    assert (row["source_score"], row["source_item"], row["source_source_item"]) == ("theirs", "their item", "and this")


def test_columns_of_later_items_stand_beside_their_neighbours() -> None:
    assert merged_columns([["id", "r0", "r1", "x"], ["id", "r0", "r1", "r2", "x", "y"], ["z", "id"]]) == [
        "z", "id", "r0", "r1", "r2", "x", "y",
    ]  # fmt: skip


def test_metrics_stand_where_the_released_files_have_them() -> None:
    ours = ["metric_m_mean", "metric_m_std"]
    assert with_metrics(["id", "r0", "metric_x"], ours) == ["id", "r0", *ours, "metric_x"]
    assert with_metrics(["id", "r0"], ours) == ["id", "r0", *ours]
    assert with_metrics(["id", *ours, "metric_x"], ours) == ["id", *ours, "metric_x"]
    assert with_metrics(["id", "metric_x", "metric_m_std"], ours) == ["id", *ours, "metric_x"]


# --- diversity-eval ---

RELEASED = (
    "conTest/con_test_200_with_hds_resp_gen.csv",
    "conTest/con_test_200_with_hds_prompt_gen.csv",
    "decTest/dec_test_200_with_hds_prompt_gen.csv",
    "McDiv/mcdiv_all_no_hds_story_gen.csv",
)


@pytest.mark.django_db
@pytest.mark.released
@pytest.mark.parametrize("file", RELEASED)
@pytest.mark.parametrize("format", exports.FORMATS)
def test_export_of_a_released_file_is_that_file_with_our_figures(released: Path, file: str, format: str) -> None:
    with (released / "diversity-eval" / file).open("rb") as source:
        table = read_table(source, name=file)
    study = study_of([row.cells for row in table.rows])
    ours = ("metric_abs_hds_mean", "metric_abs_hds_std")
    text = exported(study, "diversity-eval", format)
    again = read_table(io.BytesIO(text.encode()), name=f"export.{format}")
    if file.startswith("McDiv"):
        place = table.columns.index("metric_AveragedCosineSimilarity")
        assert again.columns == [*table.columns[:place], *ours, *table.columns[place:]]
    else:
        assert again.columns == table.columns
    restore = exports.restore_cell if format == "csv" else str
    for before, after in zip(table.rows, again.rows, strict=True):
        rest = {name: restore(cell) for name, cell in after.cells.items() if name not in ours}
        assert rest == {name: cell for name, cell in before.cells.items() if name not in ours}
        assert [after.cells[name] for name in ours] == ["", ""], "nobody has rated: figures of others are not ours"


@pytest.mark.django_db
def test_figures_have_three_decimals_as_released() -> None:
    study = study_of([one_set(metric_abs_hds_mean="1.111", metric_other="0.5")], ratings=3)
    rated(study, {name: [("a", "diversity", "", value)] for name, value in (("x", 4.0), ("y", 4.5), ("z", 5.0))})
    text = exported(study, "diversity-eval")
    # s.d. with ddof 0 of 4, 4.5, 5 is sqrt(1/6) = 0.408…
    assert text == (
        "sample_id,context,label_value,label_name,resp_0,resp_1,metric_abs_hds_mean,metric_abs_hds_std,metric_other\n"
        "a,Hi.,,,Hello.,Bye.,4.500,0.408,0.5\n"
    )


@pytest.mark.released
def test_released_standard_deviations_divide_by_n(released: Path) -> None:
    """Ten ratings in half steps: the sum of their squares is a quarter of a whole number, which tells the divisor."""
    with (released / "diversity-eval/conTest/con_test_200_with_hds_prompt_gen.csv").open(newline="") as file:
        figures = [(float(r["metric_abs_hds_mean"]), float(r["metric_abs_hds_std"])) for r in csv.DictReader(file)]
    of_ten = [(mean, sd) for mean, sd in figures if (mean * 20).is_integer()]
    assert len(of_ten) > 100

    def fits(ddof: int) -> int:
        quarters = [4 * (sd**2 * (10 - ddof) + 10 * mean**2) for mean, sd in of_ten]
        return sum(1 for number in quarters if abs(number - round(number)) < 0.05)

    assert fits(0) > 0.95 * len(of_ten)
    assert fits(1) < 0.3 * len(of_ten)


@pytest.mark.django_db
@pytest.mark.parametrize("task_type", ["abs_hds", "asp_hds", "rnk_hds", "sim_hds"])
@pytest.mark.parametrize("format", exports.FORMATS)
def test_import_of_our_own_export_gives_the_same_items(task_type: str, format: str) -> None:
    twice = 2 if task_type == "rnk_hds" else 1
    rows = [
        one_set(sample_id=f"=id{n}", context="-- What the\r\n'=1+1'\rcell; \"quoted\"", label_value="-1.5",
                label_name="@shift", resp_0=f"'tis {n}{half}", resp_1="＝cmd|' /C calc'!A0", resp_2="\t tab", note="+1")
        for n in range(3) for half in range(twice)
    ]  # fmt: skip
    study = study_of(rows, task_type=task_type)
    make_submission(study=study)
    text = exported(study, "diversity-eval", format)
    table = read_table(io.BytesIO(text.encode()), name=f"export.{format}")
    restore = exports.restore_cell if format == "csv" else str
    ours = (f"metric_{task_type}_mean", f"metric_{task_type}_std")
    back = [
        Row(row.number, {name: restore(cell) for name, cell in row.cells.items() if name not in ours})
        for row in table.rows
    ]
    items, problems = get_type(task_type).read_items(back, study.config)
    assert problems == []
    assert items == [ItemData(item.external_id, item.payload) for item in study.items.order_by("position")]


# --- cells that a spreadsheet would run ---


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\ufeff=1", "\u200b=1", "＝1",
     "＋1", "－1a", "＠x", "﹦1", "'=1", "''=1", "-", "-- What", "-ever", "=", "-1.5.2", "+49 30 1", "--1", "-1e",
     "-0x1", "=-1.5"],
)  # fmt: skip
def test_what_may_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert exports.protect_cell(text) == f"'{text}"
    assert exports.restore_cell(f"'{text}") == text


@pytest.mark.parametrize(
    "text",
    ["", "a", "'tis", "''", "'", "1=1", "a=b", "-1.5", "+2", "-.5", "-3.", "1e-7", "-1e+7", "  text", "“=1”", "(=1)",
     "''tis", "0"],
)  # fmt: skip
def test_other_texts_and_numbers_stay_as_they_are(text: str) -> None:
    assert exports.protect_cell(text) == text
    assert exports.restore_cell(text) == text


@given(st.one_of(st.text(max_size=20), st.text(alphabet="'=+-@ \t\r\n\0＝1.e", max_size=8)))
@example("'=")
@example("''-1")
@example("'-1.5")
@example("-1.5")
def test_a_protected_cell_comes_back_and_begins_with_nothing_that_is_run(text: str) -> None:
    cell = exports.protect_cell(text)
    assert exports.restore_cell(cell) == text
    if cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"):
        float(cell)
    if cell.lstrip(" ")[:1] in ("=", "@"):
        pytest.fail(repr(cell))


@pytest.mark.django_db
@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30))
@example(text='=HYPERLINK("http://x","y")')
@example(text="line\rbreak")
@example(text="a,b;\"c\"\r\n'd'")
@example(text="\u2028\u0085")
def test_any_text_comes_back_from_every_cell_of_a_file(text: str) -> None:
    from analysis.exports.writers import Sheet, csv_bytes, jsonl_bytes

    def sheet() -> Sheet:
        return Sheet([f"={text}", "n"], [0], iter([[[text, -1.5]], [[text, None]]]))

    written = b"".join(data for data, _ in csv_bytes(sheet())).decode()
    header, first, second = csv.reader(io.StringIO(written, newline=""), strict=True)
    assert [exports.restore_cell(header[0]), header[1]] == [f"={text}", "n"]
    assert [exports.restore_cell(first[0]), first[1]] == [text, "-1.5"]
    assert [exports.restore_cell(second[0]), second[1]] == [text, ""]
    lines = b"".join(data for data, _ in jsonl_bytes(sheet())).decode().split("\n")
    assert [json.loads(line) for line in lines[:2]] == [{f"={text}": text, "n": -1.5}, {f"={text}": text, "n": None}]


@pytest.mark.django_db
def test_a_workers_formula_is_made_safe_in_csv_and_untouched_in_json_lines() -> None:
    study = study_of([one_set(sample_id="=cmd|' /C calc'!A0")])
    submission = make_submission(study=study)
    own = submission.ratings.get(question="own_response")
    own.delete()
    own.pk, own.text = None, "=IMPORTXML(1)"
    own.save(force_insert=True)
    csv_row = next(row for row in read_csv(exported(study, "long")) if row["question"] == "own_response")
    assert (csv_row["text"], csv_row["item"]) == ("'=IMPORTXML(1)", "'=cmd|' /C calc'!A0")
    json_row = next(r for r in read_jsonl(exported(study, "long", "jsonl")) if r["question"] == "own_response")
    assert (json_row["text"], json_row["item"]) == ("=IMPORTXML(1)", "=cmd|' /C calc'!A0")
    assert not exported(study, "long").startswith("\ufeff")


# --- empty, unknown, size ---


@pytest.mark.django_db
@pytest.mark.parametrize("kind", exports.KINDS)
def test_a_study_without_ratings_or_without_items_gives_the_header(kind: str) -> None:
    assert len(read_csv(exported(make_study(items=2), kind))) == (0 if kind == "long" else 2)
    text = exported(make_study(items=0, live=False), kind)
    assert text.count("\n") == 1
    assert exported(make_study(items=0, live=False), kind, "jsonl") == ""


@pytest.mark.django_db
def test_unknown_kind_and_format_are_refused_with_those_there_are() -> None:
    study = make_study(items=1)
    with pytest.raises(exports.ExportError, match=r"“broad”.*long, wide, diversity-eval"):
        exports.rows(study, kind="broad", format="csv")
    with pytest.raises(exports.ExportError, match=r"“xlsx”.*csv, jsonl"):
        exports.rows(study, kind="long", format="xlsx")


@pytest.mark.django_db
def test_a_type_without_scores_has_no_diversity_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(get_type("abs_hds")), "scores", lambda self: ())
    with pytest.raises(exports.ExportError, match="no scores of items"):
        exports.rows(make_study(items=1), kind="diversity-eval", format="csv")


@pytest.mark.django_db
@pytest.mark.parametrize("kind", exports.KINDS)
def test_queries_do_not_grow_with_rows(kind: str) -> None:
    def queries(items: int) -> int:
        study = make_study(items=items, ratings_per_item=1, hits_per_worker=None)
        worker = make_participant(study=study)
        for _ in range(items):
            make_submission(study=study, participant=worker)
        with CaptureQueriesContext(
            connection,
        ) as caught:
            exports.export(study, kind=kind, format="csv", out=io.BytesIO())
        return len(caught)

    assert queries(2) == queries(9)


@pytest.mark.django_db
def test_memory_does_not_grow_with_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rating_exports, "BATCH", 50)
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study)
    rating = submission.ratings.get(question="diversity")

    def add(count: int, first: int) -> None:
        copies = [
            Rating(**{**fields, "target": str(first + number)})
            for number in range(count)
            for fields in [{f.attname: getattr(rating, f.attname) for f in Rating._meta.fields if f.name != "id"}]
        ]
        Rating.objects.bulk_create(copies)

    def peak() -> int:
        tracemalloc.start()
        for _ in exports.rows(study, kind="long", format="csv"):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    add(200, 0)
    peak()
    small = peak()
    add(4000, 200)
    assert peak() < small * 1.5


# --- who may have them ---


def get(study: Study | str, user: Any, kind: str = "long", format: str = "csv", **query: str) -> Any:
    request = RequestFactory().get("/", query)
    request.user = user
    return export_view(request, study if isinstance(study, str) else study.slug, kind, format)


def member(study: Study, role: str) -> User:
    user = User.objects.create(username=role)
    Membership.objects.create(study=study, user=user, role=role)
    return user


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_members_download_and_outsiders_find_nothing(role: str) -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study)
    answer = get(study, member(study, role))
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content).decode() == exported(study, "long")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="{study.slug}-long.csv"'
    assert "no-store" in answer["Cache-Control"]
    for stranger in (User.objects.create(username="outsider"), AnonymousUser()):
        with pytest.raises(Http404):
            get(study, stranger)
    with pytest.raises(Http404):
        get("no-such-study", stranger)


@pytest.mark.django_db
def test_only_owners_may_have_worker_ids() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study, participant=make_participant(study=study, name="A2SECRET"))
    for role in ("viewer", "editor"):
        with pytest.raises(Http404):
            get(study, member(study, role), worker_ids="1")
    owner = member(study, "owner")
    assert b"A2SECRET" in b"".join(get(study, owner, worker_ids="1").streaming_content)
    assert b"A2SECRET" not in b"".join(get(study, owner).streaming_content)


@pytest.mark.django_db
def test_unknown_exports_are_not_found_and_impossible_ones_say_why() -> None:
    study = make_study(items=1)
    owner = member(study, "owner")
    for kind, format in (("broad", "csv"), ("long", "xlsx")):
        with pytest.raises(Http404):
            get(study, owner, kind, format)
    refused = get(study, owner, "wide", worker_ids="1")
    assert (refused.status_code, b"one row per item" in refused.content) == (400, True)
    assert get(study, owner, simulated="maybe").status_code == 400
    request = RequestFactory().post("/")
    request.user = owner
    assert export_view(request, study.slug, "long", "csv").status_code == 405
    assert Item.objects.count() == 1
