"""What becomes of the answers of the training, and of those to items that explain: bundle, export, report, records."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from analysis.data import read_bundle
from analysis.paper.methods import methods
from analysis.paper.prose import Numbers, as_plain
from analysis.report import report_numbers
from annotation.models import Participant, QuestionnaireDraft, Study, TriedPage
from annotation.people.redacting import redact
from annotation.results import exports
from annotation.results.frames import study_data, write_study_bundle
from annotation.results.saved_reports import fingerprint
from annotation.work.left_out import gold_answers
from tests.annotation.console_helpers import as_role
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study
from tests.annotation.training_helpers import RIGHT, TRAINING, WRONG, Trainee, training_study
from tests.annotation.work.test_asking_again import at_gold, finish

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """One passed at the first try and did a task, one at the second, one failed, one is still at it."""
    study = training_study(slug="owls", settings={"training_show_right": True})
    first, second, third, fourth = (Trainee(study) for _ in range(4))
    first.round(RIGHT["t1"], RIGHT["t2"])
    first.send(lively="4", dull="2")
    second.round(RIGHT["t1"], WRONG, RIGHT["t1"], RIGHT["t2"])
    third.round(WRONG, WRONG, RIGHT["t1"], WRONG)
    fourth.round(RIGHT["t1"])
    return study


def exported(study: Study) -> list[dict[str, str]]:
    out = io.BytesIO()
    exports.export(study, kind="tries", out=out)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


def test_every_try_and_question_is_a_row_of_the_export(study: Study) -> None:
    rows = exported(study)
    assert len(rows) == 2 * TriedPage.objects.count() == 22
    writer = Participant.objects.order_by("pk")[1].pseudonym
    mine = [row for row in rows if row["worker"] == writer and row["item"] == "t2"]
    columns = ("attempt", "page", "question", "value", "right", "passed")
    assert sorted(tuple(row[name] for name in columns) for row in mine) == [
        ("1", "2", "dull", "1.0", "", "no"),
        ("1", "2", "lively", "4.0", "no", "no"),
        ("2", "2", "dull", "1.0", "", "yes"),
        ("2", "2", "lively", "6.0", "yes", "yes"),
    ]
    assert {row["role"] for row in rows} == {"training"}
    assert {row["submission"] for row in rows} == {""}


def test_a_study_without_tries_has_no_such_export() -> None:
    study = gold_study(slug="silent")
    assert "tries" not in exports.kinds_of(study)
    with pytest.raises(exports.ExportError, match="no training and no items that explain"):
        exported(study)


def test_the_export_never_says_who_workers_are(study: Study) -> None:
    with pytest.raises(exports.ExportError, match="never says who workers are"):
        exports.export(study, kind="tries", out=io.BytesIO(), with_worker_ids=True)


def report_of(study: Study) -> Any:
    return json.loads(json.dumps(report_numbers(study_data(study), draws=20), default=str))


def test_the_report_and_the_paper_say_who_passed_at_which_try(study: Study) -> None:
    """Wilson's intervals for 1 of 3 and 1 of 2 are those of statsmodels' proportion_confint."""
    report = report_of(study)
    section = report["sections"]["right_answers"]
    shares = [(row["attempt"], row["workers"], row["passed"], row["share"]) for row in section["rounds"]]
    assert [row[:3] for row in shares] == [(1, 3, 1), (2, 2, 1)]
    assert (shares[0][3]["low"], shares[0][3]["high"]) == pytest.approx((0.06149194, 0.79234034), abs=1e-7)
    assert (shares[1][3]["low"], shares[1][3]["high"]) == pytest.approx((0.09453121, 0.90546879), abs=1e-7)
    told = section["training"]
    assert (told["began"], told["passed"], told["failed"], told["unfinished"]) == (4, 2, 1, 1)
    columns = ("n", "right", "again", "again_right")
    items = {row["item"]: tuple(row[name] for name in columns) for row in section["items"]["training"]}
    assert items == {"t1": (4, 3, 2, 2), "t2": (3, 1, 2, 1)}
    data = study_data(study)
    text = " ".join(as_plain(line) for part in methods(data.description, Numbers(report)) for line in part.sentences)
    assert "they had to have 2 of 2 right, in 2 tries." in text
    assert "1 of 3 people passed at try 1 and 1 of 2 people passed at try 2." in text
    assert "1 person was left out after the training" in text


def test_a_bundle_has_the_tries_and_gives_the_same_figures(study: Study, tmp_path: Path) -> None:
    bundle = tmp_path / "owls.zip"
    with bundle.open("wb") as out:
        write_study_bundle(study, out)
    data = read_bundle(bundle)
    assert len(data.tries) == len(exported(study))
    assert (
        report_numbers(data, draws=20)["sections"]["right_answers"]
        == report_numbers(study_data(study), draws=20)["sections"]["right_answers"]
    )


def test_first_answers_count_in_bundle_and_server_alike(tmp_path: Path) -> None:
    study = gold_study((MAIN[0], GOLD), slug="loud", quality_control={"gold_mode": "loud"})
    person, work = at_gold(study)
    person.send(lively="6", dull="5")
    person.send(lively="2", dull="5")
    finish(person, work)
    bundle = tmp_path / "loud.zip"
    with bundle.open("wb") as out:
        write_study_bundle(study, out)
    assert read_bundle(bundle).gold_answers == gold_answers(study) == {work.participant.pseudonym: (0, 1)}
    (row,) = report_of(study)["sections"]["right_answers"]["items"]["gold"]
    assert (row["n"], row["right"], row["again"], row["again_right"]) == (1, 0, 1, 1)


def test_the_workers_page_shows_the_tries(study: Study) -> None:
    out = Participant.objects.get(turned_away="not_trained")
    client = as_role("viewer", study)
    page = client.get(reverse("console_worker", args=["owls", out.pseudonym])).content.decode()
    assert "Failed the training: this worker got no task" in page
    assert page.count('<span class="badge bad">No</span>') == 4
    overview = client.get(reverse("console_study", args=["owls"])).content.decode()
    assert '1 <span class="small">failed the training' in overview


def test_a_deletion_removes_the_tries(study: Study) -> None:
    writer = Participant.objects.order_by("pk")[1]
    QuestionnaireDraft.objects.create(
        participant=writer, questionnaire="training", answers={"lively": "3"}, saved_at=writer.created_at
    )
    done = redact(participants=[writer], actor="test")
    assert done.removed["practice answers and tries"] == 4
    assert not TriedPage.objects.filter(participant=writer).exists()
    assert TriedPage.objects.count() == 7


def test_their_own_record_has_every_try(study: Study) -> None:
    writer = Participant.objects.order_by("pk")[1]
    record = Client().get(Trainee(study, writer).url + "record.json").json()
    mine = [entry["what"] for entry in record if entry["about"] == "practice"]
    assert [what for what in mine if "answers" in what] == [
        "page 1, try 1: answers",
        "page 2, try 1: answers",
        "page 1, try 2: answers",
        "page 2, try 2: answers",
    ]


def test_a_saved_report_is_old_once_somebody_practises(study: Study) -> None:
    before = fingerprint(study)
    Trainee(study).round(RIGHT["t1"])
    assert fingerprint(study) != before
    assert {item["sample_id"] for item in TRAINING} == set(
        TriedPage.objects.values_list("item__external_id", flat=True)
    )
