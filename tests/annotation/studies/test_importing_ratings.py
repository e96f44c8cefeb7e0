"""Ratings of other tools as closed studies: the figures are those of ``python -m analysis`` on the file.

Expected figures come from `analysis` on the file, whose readers are tested against the formats of the tools.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from analysis.answer_files.foreign_files import read_elsewhere
from analysis.answer_files.foreign_studies import study_of
from analysis.data import StudyData
from analysis.report import write_report
from annotation.models import Assignment, Hit, Participant, Payment, Posting, Study, Submission
from annotation.results.frames import study_data
from annotation.review.payments_due import due
from annotation.studies.importing_ratings import import_ratings, read_ratings
from annotation.studies.uploaded_ratings import saved_ratings
from annotation.work.answers import rebuild_ratings
from common.problems import Refused
from hitserver_client import Client
from tests.analysis.test_answers_from_elsewhere import MINIMAL, TASKS, annotation, result, saved
from tests.annotation.console_helpers import make_user, signed_in
from tests.client.support.in_process import client_of
from tests.factories import make_researcher

pytestmark = pytest.mark.django_db
#: Of a study, by their names.
PAGES = ("items", "submissions", "payments", "settings", "platforms", "quality", "preview", "members")


def imported(path: Path) -> Study:
    elsewhere = read_ratings(path, path.name)
    return import_ratings(elsewhere=elsewhere, file=path.name, slug="old", title="", owner=None, actor="ann").study


def label_studio(folder: Path) -> Path:
    return saved(folder / "project.json", TASKS)


def label_studio_short(folder: Path) -> Path:
    return saved(folder / "min.json", MINIMAL)


def argilla(folder: Path) -> Path:
    """Flat rows, as `to_datasets` makes them: two people, two texts, a rating and a label each."""
    columns = {
        "id": ["a", "b", "c"],
        "status": ["completed"] * 3,
        "_server_id": ["1", "2", "3"],
        "prompt": ["One.", "Two.", "Three."],
        "quality.responses": [[1, 2], [5, 4], [3, 3]],
        "quality.responses.users": [["u1", "u2"]] * 3,
        "quality.responses.status": [["submitted"] * 2] * 3,
    }
    path = folder / "argilla.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def potato(folder: Path) -> Path:
    for who, points in {"ada": (4, 1, 2), "bob": (5, 1, 3)}.items():
        lines = [
            json.dumps({"id": f"t{number}", "label_annotations": {"ok": {str(point): str(point)}}})
            for number, point in enumerate(points)
        ]
        (folder / "out" / who).mkdir(parents=True)
        (folder / "out" / who / "annotated_instances.jsonl").write_text("\n".join(lines))
    return folder / "out"


def long_rows(data: StudyData) -> pd.DataFrame:
    columns = ["worker", "item", "question", "target", "value", "text"]
    return data.ratings[columns].sort_values(columns[:4]).reset_index(drop=True)


@pytest.mark.parametrize("make", [label_studio, label_studio_short, argilla, potato])
def test_the_study_has_the_ratings_and_the_figures_of_the_file(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    elsewhere = read_elsewhere(str(path))
    assert elsewhere is not None
    of_file, of_study = study_of(str(path), elsewhere), study_data(imported(path))
    pd.testing.assert_frame_equal(long_rows(of_study), long_rows(of_file), check_dtype=False)
    reports = []
    for name, data in (("file", of_file), ("study", of_study)):
        write_report(data, out_dir=tmp_path / name, draws=50, seed=1)
        reports.append(json.loads((tmp_path / name / "report.json").read_text(encoding="utf-8"))["sections"])
    assert reports[0]["scales"] == reports[1]["scales"]


def test_nobody_is_paid_and_nobody_can_join(tmp_path: Path) -> None:
    study = imported(label_studio(tmp_path))
    assert (study.status, study.task_type) == ("closed", "form") and not study.reward
    assert not Payment.objects.exists() and not Posting.objects.exists() and due(study).hits == 0
    assert {hit.n_live for hit in Hit.objects.all()} == {2}
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}
    assert list(Participant.objects.order_by("pk").values_list("pseudonym", flat=True)) == ["person-1", "person-2"]
    assert set(Submission.objects.values_list("seconds", flat=True)) == {4.288}
    # 2021-03-09T22:16:08 is when these annotations were updated there.
    assert study.closed_at is not None and study.closed_at.year == 2021


def test_ratings_can_be_derived_again_from_the_stored_answers(tmp_path: Path) -> None:
    imported(label_studio(tmp_path))
    assert [rebuild_ratings(submission=one)[0] for one in Submission.objects.all()] == [0, 0]


def test_the_pages_say_that_it_was_imported_and_from_what(tmp_path: Path) -> None:
    client = signed_in(make_user("ann", is_superuser=True))
    study = imported(label_studio(tmp_path))
    page = client.get(reverse("console_study", args=[study.slug])).content.decode()
    assert "come from project.json, an export of Label Studio" in page and "1 span left out." in page
    assert "Study link" not in page
    pages = [reverse(f"console_{name}", args=[study.slug]) for name in PAGES]
    pages.append(reverse("console_worker", args=[study.slug, "person-1"]))
    pages.append(reverse("console_submission", args=[study.slug, Submission.objects.earliest("pk").pk]))
    for address in pages:
        assert client.get(address).status_code == 200, address


def test_a_file_becomes_a_study_in_the_console(tmp_path: Path) -> None:
    client = signed_in(make_user("ann", is_superuser=True))
    upload = SimpleUploadedFile("project.json", label_studio(tmp_path).read_bytes())
    response = client.post(reverse("console_import_ratings"), {"file": upload, "title": "Old ratings"})
    assert response.headers["Location"] == reverse("console_study", args=["old-ratings"])
    wrong = client.post(reverse("console_import_ratings"), {"file": SimpleUploadedFile("a.json", b"{}")})
    assert (wrong.status_code, Study.objects.count()) == (422, 1)
    assert "a.json is not an export of Label Studio, Argilla or Potato" in wrong.content.decode()


def test_a_file_becomes_a_study_from_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_researcher("ada")
    call_command("study", "import-ratings", str(label_studio(tmp_path)), "old", owner="ada")
    assert "old: 11 answers from Label Studio in a closed study." in capsys.readouterr().out
    assert Study.objects.get().memberships.get().user.get_username() == "ada"


def test_the_client_imports_a_zipped_folder_of_potato(tmp_path: Path) -> None:
    folder, packed = potato(tmp_path), tmp_path / "out.zip"
    with zipfile.ZipFile(packed, "w") as file:
        for path in folder.rglob("*.jsonl"):
            file.write(path, path.relative_to(tmp_path))
    hits: Client
    with client_of(make_researcher("ada")) as hits:
        study = hits.import_ratings(packed, "old", title="Old ratings")
        assert (study.status, study.data["items"], study.data["submitted"]) == ("closed", 3, 6)
        assert sorted(row["value"] for row in study.ratings()) == [1, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("notes.docx", b"", "its name ends in none of"),
        ("a.json", b"[]", "is not an export of"),
        ("a.zip", b"PK", "is no zip file, or it is damaged"),
        ("a.json", json.dumps([TASKS[0] | {"annotations": []}]).encode(), "there are no answers"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(name: str, content: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words), saved_ratings([content], name) as path:
        read_ratings(path, name)


def test_rankings_with_ties_are_refused_with_what_to_do(tmp_path: Path) -> None:
    """Argilla's rankings allow ties; a form's do not."""
    value = [{"value": "x", "rank": 1}, {"value": "y", "rank": 1}]
    record = {"id": "a", "fields": {"prompt": "One."}, "responses": {"order": [{"value": value, "user_id": "u"}]}}
    with pytest.raises(Refused, match="ties or gaps"):
        imported(saved(tmp_path / "ranks.json", [record]))


def test_numbers_off_a_scale_stay_as_they_are(tmp_path: Path) -> None:
    task = {"id": 1, "data": {"text": "A text."}, "annotations": []}
    for who, number in enumerate((0.25, 140), start=1):
        task["annotations"].append(annotation(who, result("length", "number", {"number": number})))  # type: ignore[attr-defined]
    data = study_data(imported(saved(tmp_path / "numbers.json", [task])))
    assert sorted(data.ratings["value"]) == [0.25, 140]
