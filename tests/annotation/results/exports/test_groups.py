"""Exports of matrices, several texts, statements to confirm and rankings: values and labels."""

from __future__ import annotations

import pytest

from annotation.models import Rating
from tests.annotation.results.exports.helpers import exported, read_csv
from tests.annotation.task_types.form_helpers import make_form_study
from tests.factories import make_submission

CONFIG = {
    "questions": [
        {
            "kind": "matrix",
            "topic": "q",
            "question": "How good?",
            "rows": [
                {"key": "facts", "label": "Facts", "first": 0, "labels": ["Wrong", "Right"]},
                {"key": "fun", "label": "Fun", "points": 3},
            ],
        },
        {"kind": "fields", "topic": "notes", "question": "Why?", "texts": [{"key": "best", "label": "Best"}]},
        {"kind": "confirm", "topic": "sure", "question": "?", "statements": [{"key": "read", "label": "I read it."}]},
    ]
}


@pytest.mark.django_db
def test_the_long_export_has_each_row_field_and_statement() -> None:
    study = make_form_study([{"sample_id": "s1", "text": "One."}], CONFIG)
    make_submission(study=study)
    facts = Rating.objects.get(question="q_facts").value
    rows = {(row["criterion"], row["part"]): row for row in read_csv(exported(study, "long"))}
    assert set(rows) == {("q_facts", ""), ("q_fun", ""), ("notes_best", ""), ("sure", "read")}
    assert (rows["q_facts", ""]["value"], rows["q_facts", ""]["label"]) == (
        ("1.0", "Right") if facts else ("0.0", "Wrong")
    )
    assert (rows["q_fun", ""]["scale_low"], rows["q_fun", ""]["scale_high"]) == ("1.0", "3.0")
    ticked = rows["sure", "read"]
    assert (ticked["value"], ticked["label"], ticked["answer_text"]) == ("1.0", "chosen", "I read it.")
