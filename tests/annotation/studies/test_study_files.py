"""Study files are applied as one change or not at all."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from annotation.models import AuditEntry, Study
from annotation.studies import applying
from annotation.studies.applying import apply
from annotation.studies.launching import publish
from annotation.studies.storing import Frozen, close_study
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.table_files import TableProblems
from tests.annotation.study_file_helpers import SETS, changes, run, write
from tests.factories import make_researcher
from tests.services import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sets.csv").write_text(SETS)
    return tmp_path


# --- applying ---


@pytest.mark.django_db
def test_a_new_study_with_items_and_an_owner(folder: Path) -> None:
    owner = make_researcher("ann")
    applied = run(write(folder, reward=0.18, hits_per_worker=None, config={"max_words": 9}), owner=owner)
    study = Study.objects.get(slug="sets")
    assert applied.created
    assert applied.study == study
    assert (study.reward, study.hits_per_worker, study.config["max_words"]) == (Decimal("0.18"), None, 9)
    assert study.items.count() == 3
    assert study.memberships.get().user == owner


@pytest.mark.django_db
def test_no_limit_of_hits_is_null(folder: Path) -> None:
    path = write(folder)
    path.write_text(path.read_text() + "hits_per_worker: null\n")
    assert run(path).study.hits_per_worker is None  # type: ignore[union-attr]


@pytest.mark.django_db
def test_applying_twice_changes_nothing(folder: Path) -> None:
    path = write(folder, reward=0.18, config={"max_words": 9}, texts={"instructions": "Do\n\nthis. "}, consent=" Ok? ")
    run(path)
    before = (list(Study.objects.values()), AuditEntry.objects.count())
    again = run(path)
    assert (again.created, again.differences) == (False, [])
    assert (list(Study.objects.values()), AuditEntry.objects.count()) == before


@pytest.mark.django_db
def test_differences_name_old_and_new(folder: Path) -> None:
    run(write(folder, reward=0.5, texts={"instructions": "Mine"}))
    (folder / "sets.csv").write_text(SETS + "s9,context,one,two\n")
    applied = run(write(folder, title="Other", config={"max_words": 20}))
    assert changes(applied) == {
        "title": ("Sets", "Other"),
        "reward": (Decimal("0.500"), Decimal(0)),
        "config.max_words": (15, 20),
        "texts.instructions": ("Mine", None),
        "items": (3, 4),
    }
    study = Study.objects.get()
    assert (study.title, study.reward, study.texts, study.items.count()) == ("Other", Decimal(0), {}, 4)


@pytest.mark.django_db
def test_a_dry_run_reports_the_same_and_writes_nothing(folder: Path) -> None:
    created = run(write(folder), dry_run=True)
    assert created.created
    assert not Study.objects.exists()
    run(write(folder))
    before = list(Study.objects.values())
    dry = run(write(folder, title="Other", items_per_hit=2), dry_run=True)
    assert changes(dry) == {"title": ("Sets", "Other"), "items_per_hit": (1, 2)}
    assert list(Study.objects.values()) == before


@pytest.mark.django_db
def test_a_study_file_without_items_leaves_the_items_unchanged(folder: Path) -> None:
    run(write(folder))
    assert run(write(folder, items=None)).differences == []
    assert Study.objects.get().items.count() == 3


@pytest.mark.django_db
def test_another_task_type_reads_the_items_again(folder: Path) -> None:
    run(write(folder))
    assert changes(run(write(folder, task_type="asp_hds")))["items"] == (3, 3)
    assert Study.objects.get().items.count() == 3
    assert changes(run(write(folder, task_type="sim_hds", items=None)))["items"] == (3, 0)
    assert Study.objects.get().items.count() == 0


@pytest.mark.django_db
def test_a_setting_that_items_depend_on_reads_them_again(folder: Path) -> None:
    (folder / "sets.csv").write_text("sample_id,context,resp_0,resp_1,resp_2\na,b,c,d,\n")
    run(write(folder))
    assert Study.objects.get().items.get().payload["responses"] == ["c", "d", ""]
    applied = run(write(folder, config={"empty_responses": "drop"}))
    assert set(changes(applied)) == {"config.empty_responses", "items"}
    assert Study.objects.get().items.get().payload["responses"] == ["c", "d"]
    publish(study=Study.objects.get(), actor="ann")


@pytest.mark.django_db
def test_items_are_read_again_even_if_other_settings_leave_them_unchanged(folder: Path) -> None:
    run(write(folder))
    run(write(folder, config={"empty_responses": "drop"}))
    publish(study=Study.objects.get(), actor="ann")
    assert run(write(folder, config={"empty_responses": "drop"})).differences == []


@pytest.mark.django_db
def test_values_out_of_bounds_are_reported_with_their_line(folder: Path) -> None:
    file = read_study_file(write(folder, ratings_per_item=0, config={"max_words": 1}))
    with pytest.raises(FileRefused) as caught:
        apply(file)
    refused = caught.value
    assert {problem.where for problem in refused.problems} == {"ratings_per_item", "config.max_words"}
    assert all(refused.line(problem) for problem in refused.problems)


@pytest.mark.django_db
def test_bad_items_leave_neither_a_study_nor_a_change(folder: Path) -> None:
    (folder / "sets.csv").write_text("sample_id,context,resp_0\na,b,c\n")
    with pytest.raises(TableProblems):
        run(write(folder))
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_a_failure_while_items_are_written_undoes_the_rest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(write(folder))
    (folder / "sets.csv").write_text(SETS + "s9,context,one,two\n")

    def fail(count: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        run(write(folder, title="Other"), progress=fail)
    study = Study.objects.get()
    assert (study.title, study.items.count()) == ("Sets", 3)


@pytest.mark.django_db
def test_a_live_study_accepts_changes_that_touch_no_rating_and_refuses_the_rest(folder: Path) -> None:
    run(write(folder, ratings_per_item=2))
    publish(study=Study.objects.get(), actor="ann")
    assert run(write(folder, ratings_per_item=2)).differences == []
    assert set(changes(run(write(folder, ratings_per_item=3, title="New")))) == {"title", "ratings_per_item"}
    before = list(Study.objects.values())
    (folder / "sets.csv").write_text(SETS.replace("one", "two"))
    with pytest.raises(Frozen) as caught:
        run(
            write(
                folder,
                title="Newer",
                reward=1,
                ratings_per_item=1,
                config={"max_words": 3},
                texts={"instructions": "Other"},
            )
        )
    assert {problem.where for problem in caught.value.problems} == {
        "reward",
        "ratings_per_item",
        "config.max_words",
        "texts.instructions",
        "items",
    }
    assert all(problem.what for problem in caught.value.problems)
    assert list(Study.objects.values()) == before


@pytest.mark.django_db
def test_a_closed_study_accepts_a_new_title_and_contact(folder: Path) -> None:
    run(write(folder))
    publish(study=Study.objects.get(), actor="ann")
    close_study(study=Study.objects.get(), actor="ann")
    assert run(write(folder, title="Done", contact="me")).study.title == "Done"  # type: ignore[union-attr]
    with pytest.raises(Frozen, match="closed"):
        run(write(folder, title="Done", contact="me", hits_per_worker=4))


@pytest.mark.django_db
def test_an_owner_can_be_added_later_and_once(folder: Path) -> None:
    owner = make_researcher("ann")
    run(write(folder))
    assert changes(run(write(folder), owner=owner)) == {"owner": (None, "ann")}
    assert run(write(folder), owner=owner).differences == []


def test_the_actor_of_the_audit_is_the_command() -> None:
    assert applying.ACTOR == "manage.py study apply"


# --- items from a file that is read in its own way ---

OTHER_NAMES = "Nr;Kontext;resp_0;resp_1\ns1;Für dich;a b;c d\n"


@pytest.mark.django_db
def test_a_file_in_another_encoding_with_other_names_is_read_the_same_each_time(folder: Path) -> None:
    (folder / "other.csv").write_bytes(OTHER_NAMES.encode("cp1252"))
    columns = {"Nr": "sample_id", "Kontext": "context"}
    path = write(folder, items={"from_file": "other.csv", "encoding": "windows-1252", "columns": columns})
    run(path)
    assert Study.objects.get().items.get().payload["context"] == "Für dich"
    assert AuditEntry.objects.get(action="import items").detail["columns"] == columns
    assert run(path).differences == []


@pytest.mark.django_db
def test_the_problems_of_a_mapping_are_all_listed(folder: Path) -> None:
    (folder / "other.csv").write_text(OTHER_NAMES)
    columns = {"Nr": "sample_idd", "Kontext": "context"}
    with pytest.raises(TableProblems) as caught:
        run(write(folder, items={"from_file": "other.csv", "columns": columns}))
    listed = [(problem.column, problem.fix) for problem in caught.value.problems]
    assert ("Nr", "Did you mean “sample_id”?") in listed


@pytest.mark.parametrize(
    ("items", "where", "what"),
    [
        ({"from_file": "none.csv"}, "items.from_file", "There is no file"),
        ({"from_file": "sets.csv", "encode": "utf-8"}, "items.encode", "There is no “encode”."),
        ({"from_file": "sets.csv", "sheet": 1}, "items.sheet", "This is a number “1”."),
        ({"from_file": "sets.csv", "columns": ["a"]}, "items.columns", "This must be a mapping, not a list."),
        ({"from_file": "sets.csv", "columns": {"a": 1}}, "items.columns.a", "This is a number “1”."),
        ({"from_file": "sets.csv", "from_run": "x"}, "items", "Items cannot come from both a file and a run."),
    ],
)
def test_wrong_ways_to_read_a_file(folder: Path, items: dict[str, object], where: str, what: str) -> None:
    with pytest.raises(FileRefused) as caught:
        read_study_file(write(folder, items=items))
    assert [problem.where for problem in caught.value.problems] == [where]
    assert caught.value.problems[0].what.startswith(what)


@pytest.mark.django_db
def test_the_study_file_in_the_documentation_works(folder: Path) -> None:
    page = (ROOT / "docs" / "bringing-data.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (folder / "stories.csv").write_bytes("Nr;Prompt;Story;system\na;Für dich;Es war einmal.;one\n".encode("cp1252"))
    path = folder / "study.yaml"
    path.write_text(f"slug: stories\ntask_type: quality\ntitle: Stories\n{block}")
    run(path)
    assert Study.objects.get(slug="stories").items.get().payload["context"] == "Für dich"
