"""A file that joins the samples of a run: texts by people in a detection study, in every way to import."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Study
from annotation.studies.applying import apply
from annotation.studies.item_sources import import_run
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.table_files import TableProblems, read_table
from generation.models import GenerationRun
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_study
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db

LONG = "It rained all day. " * 30
CUT = ("It rained all day. " * 25).strip()
HEADER = "sample_id,prompt,text,source,domain\n"
PEOPLE = HEADER + f"a,Once,{LONG},,\nb,Once,{LONG},human,\n"


@pytest.fixture
def run() -> GenerationRun:
    """Two machine texts of 120 words, and one of 8."""
    return make_run({"greedy": [[LONG], [LONG], ["Too short to be of any use."]]}, name="texts")


def draft(task_type: str = "detection", **values: object) -> Study:
    return make_study(task_type=task_type, items=0, live=False, **values)  # type: ignore[arg-type]


def people(folder: Path, text: str = PEOPLE) -> Path:
    path = folder / "people.csv"
    path.write_text(text)
    return path


def kinds(study: Study) -> dict[str, tuple[str, str]]:
    """Who wrote each item, and the key that says where it came from."""
    return {item.external_id: (item.payload["source"], next(iter(item.source))) for item in study.items.all()}


def test_people_and_machines_are_items_that_say_where_they_came_from(run: GenerationRun) -> None:
    study = draft()
    table = read_table(io.BytesIO(PEOPLE.encode()), name="people.csv")
    done = import_run(study=study, run=run, options={}, actor="ann", added=table)
    assert (done.items, done.left_out) == (4, 1)
    assert kinds(study) == {
        "c0-tiny-greedy-0": ("tiny", "run"),
        "c1-tiny-greedy-0": ("tiny", "run"),
        "a": ("human", "file"),
        "b": ("human", "file"),
    }
    second = study.items.get(external_id="b")
    assert second.source == {"file": "people.csv", "rows": [2]}
    assert {item.payload["text"] for item in study.items.all()} == {CUT}


def test_nothing_is_imported_if_a_text_by_a_person_is_too_short(run: GenerationRun) -> None:
    study = draft()
    table = read_table(io.BytesIO(f"{HEADER}a,Once,Too short.,,\n".encode()), name="people.csv")
    with pytest.raises(TableProblems) as refused:
        import_run(study=study, run=run, options={}, actor="ann", added=table)
    (problem,) = refused.value.problems
    assert (problem.row, problem.column) == (1, "text")
    assert "2 words; a text needs at least 100" in problem.what
    assert not study.items.exists()


# --- in a study file ---


def write(folder: Path, items: str, task_type: str = "detection") -> Path:
    path = folder / "study.yaml"
    path.write_text(f"slug: texts\ntask_type: {task_type}\ntitle: Texts\nitems: {items}\n")
    return path


def test_a_study_file_names_the_run_and_the_file(run: GenerationRun, tmp_path: Path) -> None:
    people(tmp_path)
    path = write(tmp_path, "{from_run: texts, with_file: people.csv}")
    assert apply(read_study_file(path)).created
    assert len(kinds(Study.objects.get())) == 4
    assert apply(read_study_file(path)).differences == []


@pytest.mark.parametrize(
    ("items", "task_type", "told"),
    [
        ("{from_run: texts, with_file: nobody.csv}", "detection", "There is no file"),
        ("{from_run: texts, with_file: 3}", "detection", "Write the path of a file"),
        ("{from_run: texts, with_file: people.csv}", "likert", "cannot add a file to the samples of a run"),
        ("{from_run: texts, min_words: 0}", "detection", "“0”"),
    ],
)
def test_what_a_study_file_cannot_say(
    run: GenerationRun, tmp_path: Path, items: str, task_type: str, told: str
) -> None:
    people(tmp_path)
    with pytest.raises(FileRefused) as refused:
        apply(read_study_file(write(tmp_path, items, task_type)))
    (problem,) = refused.value.problems
    assert told in f"{problem.what} {problem.fix}"
    assert refused.value.line(problem) == 4


# --- on the command line and in the console ---


def test_from_the_command_line(run: GenerationRun, tmp_path: Path) -> None:
    study, out = draft(), io.StringIO()
    call_command("study", "import-run", study.slug, "texts", "--with-file", str(people(tmp_path)), stdout=out)
    assert f"{study.slug}: 4 items from the run texts. 1 sample is left over." in out.getvalue()
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("study", "import-run", study.slug, "texts", "--with-file", "nobody.csv", stdout=out)
    listed = io.StringIO()
    call_command("study", "keys", "detection", stdout=listed)
    assert "with_file: path of a file" in listed.getvalue()


def test_in_the_console(run: GenerationRun) -> None:
    ada = make_user("ada")
    GenerationRun.objects.update(created_by="ada")
    study = draft(owner=ada)
    client = signed_in(ada)
    address = reverse("console_upload", args=[study.slug])
    page = client.get(address).content.decode()
    assert "Texts by people (file)" in page
    assert 'enctype="multipart/form-data" class="card" novalidate>' in page
    form = {"way": "run", "run-run": "texts", "options-min_words": "100", "options-max_overlap": "80"}
    sent = client.post(address, form | {"run-file": SimpleUploadedFile("people.csv", PEOPLE.encode())}, follow=True)
    assert "4 items imported from the run texts." in sent.content.decode()
    short = SimpleUploadedFile("people.csv", f"{HEADER}a,Once,Too short.,,\n".encode())
    refused = client.post(address, form | {"run-file": short})
    assert refused.status_code == 422
    assert "1 problem in people.csv; nothing was imported" in refused.content.decode()
    assert study.items.count() == 4
    assert "1 sample was left over." in client.post(address, form, follow=True).content.decode()


def test_other_types_offer_no_file(run: GenerationRun) -> None:
    ada = make_user("ada")
    GenerationRun.objects.update(created_by="ada")
    page = signed_in(ada).get(reverse("console_upload", args=[draft("likert", owner=ada).slug]))
    assert "run-file" not in page.content.decode()
