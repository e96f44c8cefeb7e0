"""What people answered before and after their tasks in exports, bundles, reports, comparisons and the paper."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from analysis.__main__ import main as analysis_command
from analysis.data import read_bundle
from analysis.factors import factors_of, level_names
from analysis.paper.methods import methods
from analysis.paper.prose import Numbers, as_plain
from analysis.report import report_numbers
from annotation.models import Participant, QuestionnaireDraft, QuestionnaireReply, Rating, Study
from annotation.people.redacting import redact
from annotation.results import exports
from annotation.results.frames import study_data, write_study_bundle
from annotation.results.saved_reports import fingerprint
from annotation.studies.storing import change_study
from tests.annotation.console_helpers import as_role
from tests.annotation.questionnaire_helpers import COUNT, FLUENT, REMARK, Person, asking_study
from tests.factories import make_participant, make_submission

pytestmark = pytest.mark.django_db
SETTINGS: dict[str, Any] = {
    "before": [FLUENT, {"block": "language", "without": ["english_proficiency"]}],
    "comprehension": [COUNT],
    "after": [REMARK],
    "screen_out": {"native_language": {"unless": ["english", "czech"]}},
}


def person(study: Study, *, fluent: str, language: str, tries: tuple[str, ...] = ("5",), remark: str = "") -> Person:
    """Somebody who answers everything, and does one task unless they are turned away."""
    someone = Person(make_participant(study=study))
    someone.answer(fluent=fluent, **{f"native_language.{language}": "yes"})
    for how_many in tries:
        if someone.get().status_code == 200:
            someone.answer(how_many=how_many)
    if someone.get().status_code == 200:
        someone.finish()
        someone.answer(at=someone.questions_url, remark=remark)
    return someone


@pytest.fixture
def study() -> Study:
    """Four people: two take part (one at the second try), one is screened out, one fails the check twice."""
    study = asking_study(study={"ratings_per_item": 2, "slug": "asking"}, **SETTINGS)
    person(study, fluent="1", language="english", remark="The second text.")
    person(study, fluent="2", language="czech", tries=("3", "5"))
    person(study, fluent="1", language="german")
    person(study, fluent="1", language="english", tries=("3", "3"))
    return study


def exported(study: Study, kind: str) -> list[dict[str, str]]:
    out = io.BytesIO()
    exports.export(study, kind=kind, out=out)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


def test_every_answer_is_a_row_of_the_export(study: Study) -> None:
    rows = exported(study, "questionnaires")
    asked = [row for row in rows if row["question"] == "fluent"]
    assert [(row["value"], row["label"], row["passed"]) for row in asked] == [
        ("1.0", "Yes", "yes"),
        ("2.0", "No", "yes"),
        ("1.0", "Yes", "no"),
        ("1.0", "Yes", "yes"),
    ]
    checks = [(row["attempt"], row["label"], row["passed"]) for row in rows if row["questionnaire"] == "comprehension"]
    assert checks == [
        ("1", "Five", "yes"),
        ("1", "Three", "no"),
        ("2", "Five", "yes"),
        ("1", "Three", "no"),
        ("2", "Three", "no"),
    ]
    assert [row["answer_text"] for row in rows if row["question"] == "remark"] == ["The second text."]
    spoken = [row["option"] for row in rows if row["question"] == "native_language" and row["value"] == "1.0"]
    assert spoken == ["English", "Czech", "German", "English"]


def test_long_has_what_workers_said_about_themselves(study: Study) -> None:
    rows = exported(study, "long")
    assert len({row["worker"] for row in rows}) == 2
    levels = {(row["worker:fluent"], row["worker:native_language"]) for row in rows}
    assert levels == {("Yes", "English"), ("No", "Czech")}


def test_a_study_that_asks_nothing_has_no_such_export() -> None:
    study = asking_study()
    assert "questionnaires" not in exports.kinds_of(study)
    make_submission(study=study)
    assert not any(name.startswith("worker:") for row in exported(study, "long") for name in row)
    with pytest.raises(exports.ExportError, match="asks nothing before or after"):
        exported(study, "questionnaires")


def test_a_bundle_has_the_answers_and_compares_by_them(study: Study, tmp_path: Path, capsys: Any) -> None:
    study = change_study(study=study, factors={"fluent": {}}, actor="test")
    bundle = tmp_path / "asking.zip"
    with bundle.open("wb") as out:
        write_study_bundle(study, out)
    data = read_bundle(bundle)
    assert len(data.questionnaires) == len(exported(study, "questionnaires"))
    (factor,) = [factor for factor in factors_of(data) if factor.name == "fluent"]
    assert factor.of == "worker"
    assert set(level_names(data, factor, data.ratings)) == {"Yes", "No"}
    assert analysis_command(["compare", str(bundle), "--factor", "native_language"]) == 0
    printed = capsys.readouterr().out
    assert "English" in printed
    assert "Czech" in printed


def test_a_factor_that_no_question_has_is_refused(study: Study) -> None:
    from annotation.studies.factor_notes import factor_notes

    study = change_study(study=study, factors={"fluent": {}, "age": {"of": "worker"}}, actor="test")
    assert [problem.where for problem in factor_notes(study).problems] == ["factors.age.of"]


def test_the_report_and_the_paper_count_who_was_turned_away(study: Study) -> None:
    data = study_data(study)
    report = json.loads(json.dumps(report_numbers(data, draws=20), default=str))
    section = report["sections"]["questionnaires"]
    assert section["turned_away"] == {"screened_out": 1, "not_understood": 1, "simulated": 0}
    assert section["tries"] == [
        {"attempt": 1, "workers": 3, "passed": 1},
        {"attempt": 2, "workers": 2, "passed": 1},
    ]
    fluent = next(row for row in section["questions"] if row["topic"] == "fluent")
    assert [(row["answer"], row["workers"], row["share"]) for row in fluent["answers"]] == [
        ("Yes", 1, 0.5),
        ("No", 1, 0.5),
    ]
    assert report["sections"]["data"]["assignments"] == {"submitted": 2}
    text = " ".join(as_plain(sentence) for p in methods(data.description, Numbers(report)) for sentence in p.sentences)
    assert "Asked “Are you fluent in Czech?”, they answered: Yes (1) and No (1)." in text
    assert "1 person was screened out and 1 person was turned away after the last try; they rated nothing" in text
    assert "people had to answer 1 question about the instructions correctly, in 2 tries." in text
    assert "“Which languages have you spoken since early childhood?”: anything but “English”, “Czech”" in text
    assert {row["worker"] for row in exported(study, "long")} == set(
        Participant.objects.filter(turned_away=None).values_list("pseudonym", flat=True)
    )
    assert Rating.objects.filter(participant__turned_away__isnull=False).count() == 0


def test_the_workers_page_shows_what_they_answered(study: Study) -> None:
    out = Participant.objects.get(turned_away="not_understood")
    page = as_role("viewer", study).get(reverse("console_worker", args=["asking", out.pseudonym])).content.decode()
    assert "Are you fluent in Czech?" in page
    assert "Failed the comprehension check" in page
    assert "Three" in page


def test_a_deletion_removes_the_answers(study: Study) -> None:
    writer = Participant.objects.order_by("pk")[0]
    QuestionnaireDraft.objects.create(
        participant=writer, questionnaire="after", answers={"remark": "half"}, saved_at=writer.created_at
    )
    done = redact(participants=[writer], actor="test")
    assert done.removed["questionnaires"] == 3
    assert not QuestionnaireReply.objects.filter(participant=writer).exists()
    assert not QuestionnaireDraft.objects.exists()
    assert QuestionnaireReply.objects.count() == 4 + 1 + 3
    assert not any(row["answer_text"] for row in exported(study, "questionnaires"))


def test_their_own_record_has_every_answer(study: Study) -> None:
    writer = Participant.objects.order_by("pk")[0]
    record = Client().get(Person(writer).url + "record.json").json()
    answers = [entry for entry in record if entry["about"].startswith("questionnaire")]
    assert [entry["what"] for entry in answers if "answers" in entry["what"]] == [
        "answers",
        "answers, try 1",
        "answers",
    ]


def test_the_overview_counts_who_was_turned_away(study: Study) -> None:
    page = as_role("viewer", study).get(reverse("console_study", args=["asking"])).content.decode()
    assert "<dt>Turned away</dt>" in page
    assert "failed the comprehension check" in page


def test_a_saved_report_is_old_once_somebody_answers(study: Study) -> None:
    before = fingerprint(study)
    person(study, fluent="1", language="german")
    assert fingerprint(study) != before
