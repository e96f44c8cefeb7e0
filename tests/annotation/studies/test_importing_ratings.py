"""Ratings of other tools as closed studies: the figures are those of ``python -m analysis`` on the file.

Expected figures come from `analysis` on the file, whose readers are tested against the formats of the tools.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from analysis.answer_files.foreign_files import read_elsewhere
from analysis.answer_files.foreign_studies import study_of
from analysis.data import StudyData, read_bundle, read_pages
from analysis.paper.methods import methods
from analysis.paper.prose import Numbers, as_plain
from analysis.report import write_report
from annotation.models import Assignment, Hit, Participant, Payment, Posting, Study, Submission
from annotation.results import exports
from annotation.results.frames import study_data, write_study_bundle
from annotation.review.payments_due import due
from annotation.studies.duplicating import duplicate_study
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


def sections_of(data: StudyData, folder: Path) -> dict[str, Any]:
    """The sections of the report, as report.json has them."""
    write_report(data, out_dir=folder, draws=50, seed=1)
    sections: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))["sections"]
    return sections


def as_markdown(data: StudyData, folder: Path) -> str:
    """The methods of a paper."""
    write_report(data, out_dir=folder, draws=50, seed=1)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    paragraphs = methods(data.description, Numbers(report))
    return "\n".join(as_plain(f"## {one.heading}\n{' '.join(one.sentences)}") for one in paragraphs)


@pytest.mark.parametrize("make", [label_studio, label_studio_short, argilla, potato])
def test_the_study_has_the_ratings_and_the_figures_of_the_file(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    elsewhere = read_elsewhere(str(path))
    assert elsewhere is not None
    of_file, of_study = study_of(str(path), elsewhere), study_data(imported(path))
    pd.testing.assert_frame_equal(long_rows(of_study), long_rows(of_file), check_dtype=False)
    reports = [sections_of(data, tmp_path / name) for name, data in (("file", of_file), ("study", of_study))]
    assert reports[0]["scales"] == reports[1]["scales"]
    for topic, figures in reports[0]["workers"].items():
        if topic not in ("flags", "tables"):
            assert figures == reports[1]["workers"][topic]


@pytest.mark.parametrize("make", [label_studio, label_studio_short, argilla, potato])
def test_the_bundle_gives_the_whole_report_again(make: Callable[[Path], Path], tmp_path: Path) -> None:
    study, bundle = imported(make(tmp_path)), tmp_path / "bundle.zip"
    with bundle.open("wb") as file:
        write_study_bundle(study, file)
    of_bundle = read_bundle(bundle)
    assert sections_of(of_bundle, tmp_path / "bundle") == sections_of(study_data(study), tmp_path / "study")
    assert read_pages(bundle) == {}  # its workers saw the pages of another tool


@pytest.mark.parametrize("make", [label_studio, potato])
def test_all_exports_can_be_downloaded(make: Callable[[Path], Path], tmp_path: Path) -> None:
    study = imported(make(tmp_path))
    for kind in exports.kinds_of(study):
        out = io.BytesIO()
        exports.export(study, kind=kind, format=exports.FORMATS_OF.get(kind, exports.FORMATS)[0], out=out)
        assert out.getvalue(), kind


@pytest.mark.parametrize(
    ("make", "tool", "dated"),
    # 2021-03-09 is in the file of Label Studio. Potato's has no dates, and the day of the import is none.
    [(label_studio, "Label Studio", "dated 9 March 2021"), (potato, "Potato", "")],
)
def test_the_paper_claims_nothing_about_how_the_answers_were_collected(
    make: Callable[[Path], Path], tool: str, dated: str, tmp_path: Path
) -> None:
    text = as_markdown(study_data(imported(make(tmp_path))), tmp_path / "report")
    for claim in ("on web pages of HITServer", "time limit", "random order", "not paid", "was checked by rules"):
        assert claim not in text
    assert "see what was recorded" not in text and "pages of the appendix" not in text
    assert f"collected with {tool}" in text
    if dated:
        assert dated in text
    else:
        assert "dated" not in text and f"{timezone.now():%Y}" not in text.partition("## Agreement")[0]


def test_a_duplicate_is_planned_without_times(tmp_path: Path) -> None:
    study = imported(potato(tmp_path))
    duplicate_study(study=study, slug="next", title="Next", with_items=True, actor="ann", owner=None)
    client = signed_in(make_user("ann", is_superuser=True))
    assert client.get("/console/studies/next/plan/").status_code == 200


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
