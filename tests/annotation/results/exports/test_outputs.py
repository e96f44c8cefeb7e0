"""The outputs export: a row for every text, or set of texts, that a submission made."""

from __future__ import annotations

import pytest

from annotation.models import Output, Study, Submission
from annotation.results import exports
from annotation.results.exports import outputs as output_exports
from tests.annotation.results.exports.helpers import exclude, exported, read_csv, read_jsonl
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def written() -> tuple[Study, Submission]:
    study = make_study(task_type="con_test", items=1, ratings_per_item=3)
    return study, make_submission(study=study)


def test_a_row_for_every_output_with_its_author_context_and_label() -> None:
    study, submission = written()
    found = read_csv(exported(study, "outputs"))
    outputs = list(submission.outputs.order_by("number"))
    assert len(found) == len(outputs) == 2
    for row, output in zip(found, outputs, strict=True):
        assert (row["study"], row["output"], row["kind"]) == (study.slug, str(output.pk), output.kind)
        assert (row["item"], row["context"]) == (study.items.get().external_id, output.context)
        assert (row["label_name"], float(row["label_value"])) == (output.label_name, output.label_value)
        assert [row[f"text_{place}"] for place in range(len(output.texts))] == output.texts
        assert f"text_{len(output.texts)}" not in row
        assert (row["worker"], row["submission"]) == (submission.participant.pseudonym, str(submission.pk))
        assert (row["synthetic"], row["included"], row["arm"]) == ("false", "true", "")


def test_a_short_set_leaves_its_last_columns_empty() -> None:
    study, submission = written()
    Output.objects.create(
        study=study, submission=submission, number=9, kind="set", context="Hi.", texts=["One.", "=2"], label_value=None
    )
    row = read_csv(exported(study, "outputs"))[-1]
    assert (row["text_0"], row["text_1"], row["text_2"]) == ("One.", "'=2", "")
    assert (row["item"], row["label_value"]) == ("", "")
    assert read_jsonl(exported(study, "outputs", "jsonl"))[-1]["text_1"] == "=2"


def test_excluded_and_simulated_authors_are_marked_and_can_be_left_out() -> None:
    study, person = written()
    bot = make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    exclude(person)
    told = [(row["worker"], row["synthetic"], row["included"]) for row in read_csv(exported(study, "outputs"))]
    assert told == [
        *[(person.participant.pseudonym, "false", "false")] * 2,
        *[(bot.participant.pseudonym, "true", "true")] * 2,
    ]
    assert exports.file_name(study, kind="outputs") == f"{study.slug}-outputs-simulated.csv"
    only = read_csv(exported(study, "outputs", simulated=False))
    assert {row["worker"] for row in only} == {person.participant.pseudonym}


def test_pages_join_without_gap_or_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = written()
    make_submission(study=study)
    whole = exported(study, "outputs")
    for size in (1, 3):
        monkeypatch.setattr(output_exports, "BATCH", size)
        assert exported(study, "outputs") == whole


def test_a_type_that_makes_no_texts_has_no_outputs() -> None:
    study = make_study(items=1)
    with pytest.raises(exports.ExportError, match="makes no texts that another study could judge"):
        exports.pieces(study, kind="outputs")
    assert exports.kinds_of(study) == ["long", "wide", "diversity-eval", "bundle", "dataset"]
    assert "outputs" in exports.kinds_of(written()[0])
