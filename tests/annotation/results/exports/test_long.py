"""The long export: a row for every rating."""

from __future__ import annotations

import json

import pytest

from annotation.models import Assignment, Rating, Review
from tests.annotation.results.exports.helpers import exclude, exported, read_csv, read_jsonl
from tests.factories import make_participant, make_study, make_submission


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
    kept, dropped = make_submission(study=study), make_submission(study=study, profile="careless", pastes=2, seed=2)
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
def test_long_has_the_role_and_the_source_of_an_item_and_the_arm() -> None:
    study = make_study(items=1, ratings_per_item=1, arms=[{"name": "solo"}])
    source = {"file": "sets, größer.csv", "rows": [1, 2]}
    study.items.update(role="gold", source=source)
    make_submission(study=study)
    row = read_csv(exported(study, "long"))[0]
    assert (row["role"], row["arm"]) == ("gold", "solo")
    assert json.loads(row["source"]) == source
    assert "größer" in row["source"]


@pytest.mark.django_db
def test_an_answer_about_no_item_has_no_item_and_no_place() -> None:
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study)
    Rating.objects.create(
        study=study, submission=submission, participant=submission.participant, question="age", scale="years",
        value=31.0, created_at=submission.received_at,
    )  # fmt: skip
    row = read_csv(exported(study, "long"))[-1]
    assert (row["question"], row["value"]) == ("age", "31.0")
    assert (row["item"], row["role"], row["source"], row["place"]) == ("", "", "", "")
    assert row["worker"] == submission.participant.pseudonym
    assert read_jsonl(exported(study, "long", "jsonl"))[-1]["place"] is None
