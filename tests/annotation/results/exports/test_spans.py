"""The export of marks: one row per mark, with what became of given ones, and the same figures from file and bundle."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.spans import spans_text
from analysis.spans.marks import COLUMNS, Span
from annotation.models import Rating, Study
from annotation.results import exports
from annotation.results.exports.spans import rows_of_answer
from annotation.studies.launching import publish
from annotation.task_types.described_questions import DescribedQuestionsField, build
from annotation.task_types.kinds.spans import SpansQuestion
from tests.annotation.results.exports.helpers import exported, read_csv
from tests.annotation.study_file_helpers import run
from tests.factories import make_participant, make_study, make_submission
from tests.services import ROOT

pytestmark = pytest.mark.django_db
GIVEN = ROOT / "examples" / "presets" / "esa_given_spans.yaml"


def study_with(path: Path, workers: int = 2) -> Study:
    study = run(path).study
    assert study is not None
    publish(study=study, actor="ann")
    for number in range(workers):
        participant = make_participant(study=study)
        for seed in range(4):
            make_submission(participant=participant, seed=number * 4 + seed)
    return study


def test_each_mark_is_a_row_with_the_words_it_covers() -> None:
    study = study_with(GIVEN)
    rows = read_csv(exported(study, "spans"))
    answers = list(Rating.objects.filter(study=study, question="errors"))
    marked = [row for row in rows if int(row["mark"])]
    assert len(marked) == sum(len(json.loads(answer.text)) for answer in answers)
    assert sum(row["mark"] == "0" and not row["severity"] for row in rows) == sum(a.text == "[]" for a in answers)
    translations = {row["marked_text"] for row in marked}
    assert translations
    for row in marked:
        assert int(row["end"]) - int(row["start"]) == len(row["marked_text"])
        assert int(row["end"]) <= int(row["characters"])
    assert {row["system"] for row in rows} == {"system-1", "system-2"}
    assert {row["weight"] for row in marked} <= {"1.0", "5.0"}


def rows_of(stored: str, *, part: str = "2", **cells: str) -> list[list[object]]:
    """Number, places, words, origin and number of the given mark of each row of an answer about this text."""
    record = {"kind": "spans", "topic": "errors", "question": "?", "given": "marks"}
    question = build(DescribedQuestionsField().clean([record])[0])
    assert isinstance(question, SpansQuestion)
    long = dict.fromkeys(("study", "submission", "worker", "synthetic", "included", "confirmation", "arm", "item"), "")
    long |= {"criterion": "errors", "part": part, "part_text": "Then flew she over the port.", "answer_text": stored}
    rows = rows_of_answer({**long, "value": "5", "seconds": "", **cells}, question, False, True)
    names = ("mark", "start", "end", "marked_text", "origin", "given")
    return [[row[COLUMNS.index(name)] for name in names] for row in rows]


FLEW = '[{"start": 5, "end": 13, "severity": "major"}]'


def test_rows_say_what_became_of_given_marks() -> None:
    """“flew she” came marked: it is changed beside a mark of the worker's own, and removed."""
    changed = spans_text([Span(5, 9, "minor", given=1, changed=True), Span(10, 13, "minor")])
    assert rows_of(changed, marks_2=FLEW, marks_1="[]") == [
        [1, 5, 9, "flew", "changed", 1],
        [2, 10, 13, "she", "own", None],
    ]
    nothing = [[0, None, None, "", "", None], [0, 5, 13, "flew she", "removed", 1]]
    assert rows_of("[]", marks_2=FLEW) == nothing
    assert rows_of("[]", marks=FLEW) == nothing  # the same in all segments
    assert rows_of("[]", part="text_a", text_a_marks=FLEW, text_b_marks="[]") == nothing
    assert rows_of("[]", part="1", marks_2=FLEW) == [[0, None, None, "", "", None]]


def test_file_and_bundle_give_the_same_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = study_with(GIVEN, workers=3)
    figures = []
    for kind, name in (("spans", "marks.csv"), ("bundle", "study.zip")):
        with (tmp_path / name).open("wb") as file:
            exports.export(study, kind=kind, out=file)
        assert main(["spans", str(tmp_path / name), "--json", "--question", "errors"]) == 0
        result = json.loads(capsys.readouterr().out)
        figures.append((result["data"], result["estimates"], result["figures"]))
    assert figures[0] == figures[1]
    with zipfile.ZipFile(tmp_path / "study.zip") as archive:
        assert archive.read("spans.csv").decode() == exported(study, "spans")


def test_a_study_without_marks_says_so() -> None:
    study = make_study(items=1)
    assert "spans" not in exports.kinds_of(study)
    with pytest.raises(exports.ExportError, match="No question of this study asks for marks"):
        exports.export(study, kind="spans", out=io.BytesIO())
