"""Study files: read strictly, applied as one change or not at all, documented completely."""

import re
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from django import forms
from django.contrib.auth.models import User

from annotation.forms import StudyForm, accepts
from annotation.models import AuditEntry, Study
from annotation.services import applying
from annotation.services.applying import Applied, apply
from annotation.services.checking import default_config, default_values
from annotation.services.studies import Frozen, close_study, publish
from annotation.study_files import KEYS, REQUIRED, FileRefused, fits, read_study_file
from annotation.tables import TableProblems
from annotation.task_types.registry import all_types, get_type
from tests.services import ROOT

# Beside the study files lie run files, which tests/generation reads.
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.yaml") if not path.name.endswith(".run.yaml"))
DOCS = ROOT / "docs" / "study-files.md"
SETS = "sample_id,context,resp_0,resp_1\n" + "".join(f"s{n},context {n},one,two\n" for n in range(3))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sets.csv").write_text(SETS)
    return tmp_path


def write(folder: Path, **changes: Any) -> Path:
    """A study file that is right but for ``changes``; None takes a key out."""
    document = {"slug": "sets", "task_type": "abs_hds", "title": "Sets", "items": "sets.csv"} | changes
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))
    return path


def refused(path: Path) -> dict[str, str]:
    with pytest.raises(FileRefused) as caught:
        read_study_file(path)
    return {problem.field: f"{problem.what} {problem.mend}" for problem in caught.value.problems}


def refused_text(folder: Path, text: str | bytes) -> dict[str, str]:
    path = folder / "study.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refused(path)


def run(path: Path, **options: Any) -> Applied:
    return apply(read_study_file(path), **options)


def changes(applied: Applied) -> dict[str, tuple[Any, Any]]:
    return {difference.field: (difference.old, difference.new) for difference in applied.differences}


# --- reading ---


def test_types_are_strict_and_everything_is_told_at_once(folder: Path) -> None:
    found = refused(
        write(
            folder,
            title=2026,
            ratings_per_item="10",
            items_per_hit=True,
            reward="0.18",
            feedback_box="yes",
            hits_per_worker=2.5,
            seed=None,
            acess="open",
            config={"max_words": "15", "write_first": 1, "generation_task": True, "generation_tsk": "story"},
            texts={"instructions": 7},
        )
    )
    assert set(found) == {
        "title",
        "ratings_per_item",
        "items_per_hit",
        "reward",
        "feedback_box",
        "hits_per_worker",
        "acess",
        "config.max_words",
        "config.write_first",
        "config.generation_task",
        "config.generation_tsk",
        "texts.instructions",
    }
    assert "Did you mean “access”?" in found["acess"]
    assert "Did you mean “generation_task”?" in found["config.generation_tsk"]
    assert "in quotes" in found["title"]
    assert "a whole number from 1 to 1,000" in found["ratings_per_item"]
    assert "one of story, response, prompt, in quotes" in found["config.generation_task"]


def test_what_is_needed_and_missing(folder: Path) -> None:
    assert set(refused_text(folder, "contact: me\n")) == {"slug", "task_type", "title"}


def test_a_key_that_stands_twice_is_refused_with_both_lines(folder: Path) -> None:
    found = refused_text(
        folder, "slug: a\ntitle: b\nslug: c\ntask_type: abs_hds\nconfig:\n  max_words: 1\n  max_words: 2\n"
    )
    assert "lines 1 and 3" in found["slug"]
    assert "lines 6 and 7" in found["config.max_words"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no keys"),
        ("- a\n- b\n", "no keys"),
        ("title: [", "no YAML"),
        ("title: a\n\tslug: b\n", "no YAML"),
        ("a: &a [*a]\n", "no such name"),
        ("title: caf\xe9\n".encode("latin-1"), "0xE9 at position 10"),
        ("title: a\x00b\n", "no YAML"),
        ("!!python/object/apply:os.system [ls]\n", "no YAML"),
        ("title: 2026-13-45\n", "no YAML"),
        ("yes: 1\n", "no plain text"),
        ("config: 3\n", "This is a number"),
        ("? [a, b]\n: c\n", "no YAML"),
        ("x" * 1_100_000, "1 MB"),
    ],
)
def test_files_that_are_no_study_files(folder: Path, text: str | bytes, said: str) -> None:
    assert said in " ".join(refused_text(folder, text).values())


def test_a_file_that_is_not_there(folder: Path) -> None:
    assert "No such file" in refused(folder / "none.yaml")["file"]
    assert "no file" in refused(write(folder, items="none.csv"))["items"]


def test_a_problem_knows_its_line(folder: Path) -> None:
    (folder / "study.yaml").write_text("slug: a\ntask_type: abs_hds\ntitle: x\nconfig:\n  max_words: many\n")
    with pytest.raises(FileRefused) as caught:
        read_study_file(folder / "study.yaml")
    assert caught.value.line(caught.value.problems[0]) == 5


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (forms.IntegerField(), [3, -1], [True, 3.0, "3", None, [3]]),
        (forms.IntegerField(required=False), [None], [""]),
        (forms.FloatField(), [3, 0.5], ["0.5", True]),
        (forms.DecimalField(), [3, 0.5], ["0.5", False]),
        (forms.BooleanField(required=False), [True, False], [0, "true", None]),
        (forms.CharField(), ["x", ""], [3, None, True]),
        (forms.ChoiceField(), ["x"], [True, 1]),
        (forms.MultipleChoiceField(), [["a"], []], ["a", [1]]),
    ],
)
def test_what_fits_a_field(field: forms.Field, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(field, value)] == []
    assert [value for value in bad if fits(field, value)] == []


# --- applying ---


@pytest.mark.django_db
def test_a_new_study_with_items_and_an_owner(folder: Path) -> None:
    owner = User.objects.create_user("ann")
    applied = run(write(folder, reward=0.18, hits_per_worker=None, config={"max_words": 9}), owner=owner)
    study = Study.objects.get(slug="sets")
    assert applied.created
    assert applied.study == study
    assert (study.reward, study.hits_per_worker, study.config["max_words"]) == (Decimal("0.18"), 1, 9)
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
def test_a_dry_run_tells_the_same_and_writes_nothing(folder: Path) -> None:
    created = run(write(folder), dry_run=True)
    assert created.created
    assert not Study.objects.exists()
    run(write(folder))
    before = list(Study.objects.values())
    dry = run(write(folder, title="Other", items_per_hit=2), dry_run=True)
    assert changes(dry) == {"title": ("Sets", "Other"), "items_per_hit": (1, 2)}
    assert list(Study.objects.values()) == before


@pytest.mark.django_db
def test_a_file_without_items_leaves_them_alone(folder: Path) -> None:
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
def test_items_that_come_out_the_same_under_other_settings_are_read_anew_too(folder: Path) -> None:
    run(write(folder))
    run(write(folder, config={"empty_responses": "drop"}))
    publish(study=Study.objects.get(), actor="ann")
    assert run(write(folder, config={"empty_responses": "drop"})).differences == []


@pytest.mark.django_db
def test_values_out_of_bounds_are_told_with_their_line(folder: Path) -> None:
    file = read_study_file(write(folder, ratings_per_item=0, config={"max_words": 1}))
    with pytest.raises(FileRefused) as caught:
        apply(file)
    refused = caught.value
    assert {problem.field for problem in refused.problems} == {"ratings_per_item", "config.max_words"}
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
def test_a_live_study_takes_what_touches_no_rating_and_says_no_to_the_rest(folder: Path) -> None:
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
    assert set(caught.value.fields) == {
        "reward",
        "ratings_per_item",
        "config.max_words",
        "texts.instructions",
        "items",
    }
    assert all(problem.what for problem in caught.value.problems)
    assert list(Study.objects.values()) == before


@pytest.mark.django_db
def test_a_closed_study_takes_title_and_contact(folder: Path) -> None:
    run(write(folder))
    publish(study=Study.objects.get(), actor="ann")
    close_study(study=Study.objects.get(), actor="ann")
    assert run(write(folder, title="Done", contact="me")).study.title == "Done"  # type: ignore[union-attr]
    with pytest.raises(Frozen, match="closed"):
        run(write(folder, title="Done", contact="me", hits_per_worker=4))


@pytest.mark.django_db
def test_an_owner_can_be_added_later_and_once(folder: Path) -> None:
    owner = User.objects.create_user("ann")
    run(write(folder))
    assert changes(run(write(folder), owner=owner)) == {"owner": (None, "ann")}
    assert run(write(folder), owner=owner).differences == []


# --- examples and documentation ---


@pytest.mark.django_db
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_can_be_applied_twice_and_published(path: Path) -> None:
    study = run(path).study
    assert study is not None
    assert run(path).differences == []
    publish(study=study, actor="ann")
    assert study.hits.exists()
    assert run(path).differences == []


@pytest.mark.django_db
def test_the_readme_s_study_can_be_applied_and_published_as_printed(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    [items] = re.findall(r"^   ```csv\n(.*?)^   ```$", readme, re.MULTILINE | re.DOTALL)
    [file] = re.findall(r"^   ```yaml\n(.*?)^   ```$", readme, re.MULTILINE | re.DOTALL)
    (tmp_path / "my-sets.csv").write_text(textwrap.dedent(items))
    (tmp_path / "study.yaml").write_text(textwrap.dedent(file))
    study = run(tmp_path / "study.yaml").study
    assert study is not None
    publish(study=study, actor="ann")
    assert study.hits.count() == 2


@pytest.mark.django_db
def test_the_study_file_of_the_documentation_can_be_applied_as_printed(folder: Path) -> None:
    [file] = re.findall(r"^```yaml\n(.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "study.yaml").write_text(file)
    assert run(folder / "study.yaml").created


def test_every_task_type_that_reads_sets_has_an_example() -> None:
    shown = {yaml.safe_load(path.read_text())["task_type"] for path in EXAMPLES}
    assert {"abs_hds", "asp_hds", "rnk_hds", "sim_hds"} <= shown


def documented(heading: str) -> dict[str, tuple[str, str]]:
    """Key → (takes, default) of the table below a heading."""
    section = DOCS.read_text().partition(f"{heading}\n")[2]
    table = re.split(r"\n#+ ", section)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|", table, re.MULTILINE)
    return {key: (takes, default.strip("`")) for key, takes, default in rows}


def in_words(value: Any) -> str:
    return "empty" if value == "" else str(value).lower() if isinstance(value, bool) else str(value)


def test_the_documentation_and_the_form_know_the_same_keys() -> None:
    told = documented("## Keys of a study")
    assert list(told) and set(told) == set(KEYS)
    defaults = default_values()
    for name, field in StudyForm().fields.items():
        default = "required" if name in REQUIRED else in_words(defaults[name])
        assert told[name] == (accepts(field), default), name


def test_the_documentation_and_the_types_know_the_same_settings() -> None:
    headings = re.findall(r"^### (.*)$", DOCS.read_text(), re.MULTILINE)
    for heading in headings:
        told = documented(f"### {heading}")
        for name in re.findall(r"`(\w+)`", heading):
            task = get_type(name)
            config = default_config(task)
            fields = task.config_form().fields
            assert told == {key: (accepts(field), in_words(config[key])) for key, field in fields.items()}, name


def test_every_type_of_the_hds_family_is_documented() -> None:
    headings = " ".join(re.findall(r"^### (.*)$", DOCS.read_text(), re.MULTILINE))
    assert {name for name in all_types() if name.endswith("_hds")} == set(re.findall(r"`(\w+)`", headings))


def test_the_actor_of_the_audit_is_the_command() -> None:
    assert applying.ACTOR == "manage.py study apply"
