"""The long export: a row for every answer, with what was judged and how it was shown."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pandas as pd
import pytest

from analysis.answer_files.columns import named_apart
from annotation.models import Arm, Assignment, HitItem, Rating, Review, Study, Submission
from annotation.results.exports.long_columns import LongColumns
from annotation.task_types.items import ItemData
from tests.annotation.results.exports.helpers import exclude, exported, one_set, read_csv, read_jsonl, study_of
from tests.factories import make_participant, make_study, make_submission


def pairs(*names: str) -> list[ItemData]:
    columns = ["sample_id", "context", "text_1", "text_2", "system_1", "system_2"]
    return [
        ItemData(
            name,
            {
                **dict(
                    zip(columns, [name, "It rained.", "She fell ill.", "She laughed.", "top_p", "human"], strict=True)
                ),
                "columns": columns,
                "extra": [["label", "wet"], ["place", "Kent"]],
            },
        )
        for name in names
    ]


@pytest.mark.django_db
def test_long_has_a_row_for_every_answer_with_what_was_shown_and_who_answered() -> None:
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study, seconds=12.5)
    rows = read_csv(exported(study, "long"))
    assert [row["criterion"] for row in rows] == ["own_response", "quality", "diversity"]
    ratings = list(Rating.objects.order_by("pk"))
    for row, rating in zip(rows, ratings, strict=True):
        assert row["study"] == study.slug
        assert row["item"] == "s0"
        assert (row["part"], row["scale"], row["answer_text"]) == (rating.target, rating.scale, rating.text)
        assert row["value"] == ("" if rating.value is None else str(rating.value))
        assert row["seconds"] == "12.5"
        assert (row["submission"], row["worker"]) == (str(submission.pk), submission.participant.pseudonym)
        assert (row["synthetic"], row["included"], row["why_not"]) == ("false", "true", "")
        assert (row["hit"], row["place"], row["slot"], row["ordinal"], row["attempt"]) == ("0", "0", "0", "1", "1")
        assert json.loads(row["order"]) == submission.assignment.order
        assert row["submitted_at"] == submission.received_at.isoformat(timespec="milliseconds")[:-6] + "Z"
        assert float(row["submission_seconds"]) == submission.seconds


@pytest.mark.django_db
def test_a_row_has_all_columns_of_its_item_the_part_and_the_words_of_the_answer() -> None:
    """Words and ends are those of the type's scales: quality 1 … 5, diversity 1 … 5 with names at whole numbers."""
    study = study_of([one_set(label_name="temp", label_value="0.7", note="from a pilot")], ratings=1)
    make_submission(study=study)
    Rating.objects.filter(question="diversity")
    own, quality, diversity = read_csv(exported(study, "long"))
    for row in (own, quality, diversity):
        assert (row["sample_id"], row["context"], row["label_value"], row["note"]) == (
            "a",
            "Hi.",
            "0.7",
            "from a pilot",
        )
        assert (row["resp_0"], row["resp_1"], row["item_position"]) == ("Hello.", "Bye.", "1")
    assert (own["scale_level"], own["scale_low"], own["scale_high"], own["label"]) == ("text", "", "", "")
    assert (quality["part"], quality["part_text"]) == ("0", "Hello.")
    assert (diversity["part"], diversity["part_text"], diversity["side"]) == ("", "", "")
    assert (diversity["scale_level"], diversity["scale_low"], diversity["scale_high"]) == ("ordinal", "1.0", "5.0")
    scale = {str(point.value): point.label for point in study_scale(study, "diversity")}
    assert diversity["label"] == scale[diversity["value"]]


def study_scale(study: Study, topic: str) -> Any:
    from annotation.results.description import describe_study

    return next(question for question in describe_study(study).questions if question.topic == topic).scale.points


@pytest.mark.django_db
def test_a_choice_is_named_by_text_and_says_where_text_1_stood() -> None:
    study = make_study(task_type="pairwise", payloads=pairs("p1", "p2"), items_per_hit=2, ratings_per_item=1)
    submission = make_submission(study=study)
    order = submission.assignment.order
    rows = [row for row in read_csv(exported(study, "long")) if row["criterion"] == "better"]
    assert len(rows) == 2
    for row in rows:
        assert (row["text_1"], row["system_1"], row["system_2"]) == ("She fell ill.", "top_p", "human")
        assert row["label"] == {"1.0": "Text 1", "-1.0": "Text 2"}[row["value"]]
        assert row["scale_level"] == "pairwise"
        index = int(row["place"])
        assert row["side"] == "AB"[order["on_a"][index] - 1]
        assert int(row["item_position"]) == order["items"].index(index) + 1


@pytest.mark.django_db
def test_an_items_column_with_a_name_of_ours_gets_a_prefix_and_keeps_its_cells() -> None:
    study = make_study(task_type="pairwise", payloads=pairs("p1"), ratings_per_item=1)
    make_submission(study=study)
    row = read_csv(exported(study, "long"))[0]
    assert (row["item:label"], row["item:place"], row["place"]) == ("wet", "Kent", "0")


def test_two_columns_never_get_one_name() -> None:
    assert named_apart(["label", "item:label", "text"], {"label"}) == ["item:label", "item:item:label", "text"]


@pytest.mark.django_db
def test_an_option_of_several_choices_has_its_words() -> None:
    study = make_study(
        task_type="comment_coding",
        payloads=[
            ItemData(
                "c1",
                {
                    **dict.fromkeys(("comment_id", "domain", "answer", "text"), ""),
                    "comment": "It repeats itself.",
                    "columns": ["comment_id", "comment"],
                    "extra": [],
                },
            )
        ],
        ratings_per_item=1,
    )
    make_submission(study=study)
    rows = read_csv(exported(study, "long"))
    options = {row["label"]: row["name"] for row in study.config["labels"]}
    assert {row["part"]: row["part_text"] for row in rows} == options
    assert {row["label"] for row in rows} == {"chosen", "not chosen"}


@pytest.mark.django_db
def test_long_as_json_lines_has_numbers_truths_and_nothing_as_they_are() -> None:
    study = make_study(items=1, ratings_per_item=1)
    make_submission(study=study)
    own, _, diversity = read_jsonl(exported(study, "long", "jsonl"))
    assert own["value"] is None
    assert own["answer_text"] == Rating.objects.get(question="own_response").text
    assert diversity["value"] == Rating.objects.get(question="diversity").value
    assert diversity["synthetic"] is False
    assert diversity["included"] is True
    assert isinstance(diversity["hit"], int)
    assert isinstance(diversity["item_position"], int)


@pytest.mark.django_db
def test_long_marks_simulated_workers_flags_and_what_a_review_left_out() -> None:
    study = make_study(items=1, ratings_per_item=3)
    kept, dropped = make_submission(study=study), make_submission(study=study, profile="careless", pastes=2, seed=2)
    bot = make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    exclude(dropped)
    exclude(kept)
    Review.objects.create(submission=kept, decision="include")
    marks = {
        row["worker"]: (row["synthetic"], row["included"], row["why_not"], row["flags"])
        for row in read_csv(exported(study, "long"))
    }
    assert marks == {
        kept.participant.pseudonym: ("false", "true", "", ""),
        dropped.participant.pseudonym: ("false", "false", "excluded", "pasted too_short"),
        bot.participant.pseudonym: ("true", "true", "", ""),
    }
    assert {row["synthetic"] for row in read_csv(exported(study, "long", simulated=True))} == {"true"}
    assert {row["synthetic"] for row in read_csv(exported(study, "long", simulated=False))} == {"false"}


@pytest.mark.django_db
def test_the_reason_names_the_rule_and_work_that_came_late() -> None:
    study = make_study(items=1, ratings_per_item=3, exclusion={"flags": ["pasted"]})
    pasted, extra = make_submission(study=study, pastes=2), make_submission(study=study, seed=2)
    Assignment.objects.filter(submission=extra).update(extra=True, state="released")
    reasons = {row["worker"]: (row["included"], row["why_not"]) for row in read_csv(exported(study, "long"))}
    assert reasons == {
        pasted.participant.pseudonym: ("false", "rule: flags.pasted"),
        extra.participant.pseudonym: ("false", "extra"),
    }


@pytest.mark.django_db
def test_place_is_the_items_index_and_position_that_in_the_order_that_was_shown() -> None:
    study = make_study(items=4, items_per_hit=4, ratings_per_item=1)
    make_submission(study=study)
    assignment = Assignment.objects.get()
    names = {place.position: place.item.external_id for place in assignment.hit.places.select_related("item")}
    rows = read_csv(exported(study, "long"))
    assert len(rows) == 12
    assert all(names[int(row["place"])] == row["item"] for row in rows)
    assert [int(row["place"]) for row in rows[::3]] == assignment.order["items"]
    assert [int(row["item_position"]) for row in rows[::3]] == [1, 2, 3, 4]


@pytest.mark.django_db
def test_an_arm_has_its_factors_and_its_own_words() -> None:
    arms: list[dict[str, Any]] = [{"name": "a"}, {"name": "b", "texts": {"tie": "Both alike"}}]
    study = make_study(task_type="pairwise", payloads=pairs("p1"), ratings_per_item=1, config={"ties": True}, arms=arms)
    for name, training in (("a", "none"), ("b", "comparison")):
        Arm.objects.filter(study=study, name=name).update(factors={"training": training})
    make_submission(study=study)
    make_submission(study=study)
    rows = read_csv(exported(study, "long"))
    assert {(row["arm"], row["arm:training"]) for row in rows} == {("a", "none"), ("b", "comparison")}


@pytest.mark.django_db
def test_an_answer_about_no_item_has_no_item_and_no_place() -> None:
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study)
    Rating.objects.create(
        study=study, submission=submission, participant=submission.participant, question="age", scale="years",
        value=31.0, created_at=submission.received_at,
    )  # fmt: skip
    row = read_csv(exported(study, "long"))[-1]
    assert (row["criterion"], row["value"]) == ("age", "31.0")
    assert (row["item"], row["role"], row["resp_0"], row["place"], row["item_position"]) == ("", "", "", "", "")
    assert row["worker"] == submission.participant.pseudonym
    assert read_jsonl(exported(study, "long", "jsonl"))[-1]["place"] is None


@pytest.mark.django_db
def test_pandas_reads_every_column_with_one_type_and_no_options() -> None:
    study = make_study(task_type="sim_hds", items=3, items_per_hit=3, ratings_per_item=2)
    for seed in range(2):
        make_submission(study=study, seed=seed)
    frame = pd.read_csv(io.StringIO(exported(study, "long")))
    kinds = {name: frame[name].dtype.kind for name in frame.columns}
    assert kinds["included"] == kinds["synthetic"] == "b"
    assert all(kinds[name] in "if" for name in ("value", "seconds", "submission", "item_position", "part_position"))
    assert pd.to_datetime(frame["submitted_at"]).dt.tz is not None
    pairs_shown = frame[frame["criterion"] == "similarity"]
    assert pairs_shown[["part_text", "part_text_2", "label"]].notna().to_numpy().all()
    # Every text of a column that is no number is a text: nothing is a number in one row and a word in another.
    for name, kind in kinds.items():
        if kind == "O":
            assert frame[name].dropna().map(type).nunique() <= 1, name


@pytest.mark.django_db
def test_the_header_is_the_same_with_and_without_answers() -> None:
    study = make_study(items=2, ratings_per_item=1)
    header = next(csv.reader(io.StringIO(exported(study, "long"))))
    make_submission(study=study)
    assert next(csv.reader(io.StringIO(exported(study, "long")))) == header
    assert header == list(LongColumns(study, list(study.arms.all()), with_worker_ids=False).names)
    assert Submission.objects.count() == HitItem.objects.count() - 1


@pytest.mark.django_db
def test_answers_are_there_without_the_studys_type() -> None:
    """What the general reader made of a file keeps its columns; nothing is known of scales."""
    study = make_study(items=1, task_type="pairwise", ratings_per_item=1)
    make_submission(study=study)
    with_type = read_csv(exported(study, "long"))
    Study.objects.filter(pk=study.pk).update(task_type="gone")
    rows = read_csv(exported(Study.objects.get(pk=study.pk), "long"))
    kept = ("submission", "worker", "item", "text_1", "text_2", "criterion", "value", "included")
    assert [[row[name] for name in kept] for row in rows] == [[row[name] for name in kept] for row in with_type]
    assert {row["scale_level"] for row in rows} == {""}
