"""Study files: read strictly, applied as one change or not at all, documented completely."""

import re
import textwrap
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from django import forms

from annotation.forms import StudyForm, accepts
from annotation.models import AuditEntry, Study
from annotation.services import applying
from annotation.services.applying import Applied, apply
from annotation.services.checking import ARM_KEYS, default_config, default_values
from annotation.services.outputs import follow_feeds
from annotation.services.planning import publish
from annotation.services.studies import Frozen, close_study
from annotation.services.suggesters import needs_of
from annotation.study_files import FROM_STUDY, KEYS, REQUIRED, FileRefused, fits, read_study_file
from annotation.tables import TableProblems
from annotation.task_types.registry import all_types, get_type
from annotation.task_types.settings import Cell, ListField, TableField
from tests.factories import make_participant, make_researcher, make_submission
from tests.generation.support.toy_suggestions import make_pool, make_suggester
from tests.services import ROOT

# Beside the study files lie run files, which tests/generation reads.
JUDGING = ROOT / "examples" / "con_test_sets.yaml"  # takes what con_test.yaml collected
EXAMPLES = sorted(
    path for path in (ROOT / "examples").glob("*.yaml") if not path.name.endswith(".run.yaml") and path != JUDGING
)
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
    return {problem.where: f"{problem.what} {problem.fix}" for problem in caught.value.problems}


def refused_text(folder: Path, text: str | bytes) -> dict[str, str]:
    path = folder / "study.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refused(path)


def run(path: Path, **options: Any) -> Applied:
    return apply(read_study_file(path), **options)


def changes(applied: Applied) -> dict[str, tuple[Any, Any]]:
    return {difference.field: (difference.old, difference.new) for difference in applied.differences}


# --- reading ---


def test_types_are_strict_and_all_problems_are_reported_at_once(folder: Path) -> None:
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


def test_missing_required_keys_are_named(folder: Path) -> None:
    assert set(refused_text(folder, "contact: me\n")) == {"slug", "task_type", "title"}


def test_a_key_that_appears_twice_is_refused_with_both_lines(folder: Path) -> None:
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
        ("title: [", "not valid YAML"),
        ("title: a\n\tslug: b\n", "not valid YAML"),
        ("a: &a [*a]\n", "anchor"),
        ("title: caf\xe9\n".encode("latin-1"), "0xE9 at position 10"),
        ("title: a\x00b\n", "not valid YAML"),
        ("!!python/object/apply:os.system [ls]\n", "not valid YAML"),
        ("title: 2026-13-45\n", "not valid YAML"),
        ("yes: 1\n", "is not text"),
        ("config: 3\n", "must be a mapping, not a number"),
        ("? [a, b]\n: c\n", "not valid YAML"),
        ("x" * 1_100_000, "1 MB"),
        ("<<: {a: 1}\n", "is not text"),
        ("arms:\n- name: a\n  name: b\n", "appears twice"),
        ("config:\n  statements:\n  - {text: a, text: b}\n", "appears twice"),
    ],
)
def test_files_that_are_not_study_files_are_refused(folder: Path, text: str | bytes, said: str) -> None:
    assert said in " ".join(refused_text(folder, text).values())


def test_a_missing_file_is_refused(folder: Path) -> None:
    assert "No such file" in refused(folder / "none.yaml")["file"]
    assert "no file" in refused(write(folder, items="none.csv"))["items"]


def test_a_bomb_of_aliases_is_refused_before_it_is_opened(folder: Path) -> None:
    layers = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 30))
    started = time.perf_counter()
    assert "Line 1 uses an anchor" in refused_text(folder, "l0: &l0 [x]\n" + layers)["file"]
    assert time.perf_counter() - started < 2


def test_messages_never_repeat_a_long_value(folder: Path) -> None:
    secret = "s3cret" * 50
    found = refused(
        write(
            folder,
            contact={"a": secret},
            feedback_box=secret,
            ratings_per_item=10**200,
            config={secret: 1},
            arms=[{"name": "a", "wanted": secret, secret: 1}, secret],
            items={"from_study": "x", secret: 1, "arms": [secret, secret], "follow": secret},
            exclude_studies=[secret, secret],
        )
    )
    assert len(found) > 7
    assert all(secret[:61] not in f"{where} {said}" for where, said in found.items())
    assert all(len(said) < 400 for said in found.values())


def test_lists_and_single_values_are_not_mistaken_for_each_other(folder: Path) -> None:
    assert refused(
        write(folder, title=["a"], config=["a"], texts=["b"], arms={"name": "a"}, exclude_studies="other")
    ) == {
        "title": "This is a list. Write text of at most 200 characters.",
        "config": "This must be a mapping, not a list. Write lines “name: value” below config.",
        "texts": "This must be a mapping, not a list. Write lines “name: value” below texts.",
        "arms": "This must be a list, not a mapping. Write one entry per arm, such as “- name: control”.",
        "exclude_studies": "This is text “other”. Write a list of short names of studies, such as [first, second].",
    }
    found = refused(write(folder, task_type="likert", config={"statements": "creative"}))
    assert found["config.statements"].startswith("This is text “creative”. Write a list of records with ")


ARMS: list[tuple[list[Any], str, str]] = [
    (["solo"], "arms", "Entry 1 must be a mapping, not text. Write “- name: …”, and the arm's other keys below it."),
    ([{"reward": 1}], "arms.1.name", "Arm 1 has no name. Add a line “name: …”."),
    ([{"name": ["a"]}], "arms.1.name", "This is a list. Write text of at most 40 characters."),
    ([{"name": "a", "rewards": 1}], "arms.a.rewards", "There is no “rewards”. Did you mean “reward”?"),
    (
        [{"name": "a", "reward": "1"}],
        "arms.a.reward",
        "This is text “1”. Write a number from 0 to 99,999 with at most 3 decimals, or nothing.",
    ),
    (
        [{"name": "a", "wanted": [1]}],
        "arms.a.wanted",
        "This is a list. Write a whole number from 1 to 1,000,000, or nothing.",
    ),
    (
        [{"name": "a", "config": ["x"]}],
        "arms.a.config",
        "This must be a mapping, not a list. Write lines “name: value” below config.",
    ),
    (
        [{"name": "a", "config": {"max_word": 3}}],
        "arms.a.config.max_word",
        "There is no “max_word”. Did you mean “max_words”?",
    ),
    (
        [{"name": "a", "texts": {"instructions": 3}}],
        "arms.a.texts.instructions",
        "This is a number “3”. Write text, in quotes.",
    ),
]


@pytest.mark.parametrize(("arms", "where", "said"), ARMS, ids=[where for _, where, _ in ARMS])
def test_arms_that_cannot_be_read(folder: Path, arms: list[Any], where: str, said: str) -> None:
    assert refused(write(folder, arms=arms))[where] == said


def test_a_problem_in_an_arm_knows_its_line(folder: Path) -> None:
    text = "slug: a\ntask_type: abs_hds\ntitle: x\narms:\n- name: solo\n  reward: much\n- name: pair\n  wanted: 0.5\n"
    (folder / "study.yaml").write_text(text)
    with pytest.raises(FileRefused) as caught:
        read_study_file(folder / "study.yaml")
    refused = caught.value
    assert {problem.where: refused.line(problem) for problem in refused.problems} == {
        "arms.solo.reward": 6,
        "arms.pair.wanted": 8,
    }


ITEMS: list[tuple[Any, str, str]] = [
    (["a.csv"], "items", "This is a list. Write the path of a file, or from_study or from_run with a name."),
    ({"study": "x"}, "items", "The source of the items is missing. Write either from_study: NAME or from_run: NAME."),
    (
        {"from_study": "x", "from_run": "y"},
        "items",
        "Items cannot come from both a study and a run. Write either from_study: NAME or from_run: NAME.",
    ),
    ({"from_study": ["x"]}, "items.from_study", "This is a list. Write text: the name."),
    (
        {"from_study": "x", "arms": "solo"},
        "items.arms",
        "This is text “solo”. Write a list of names of arms, such as [first, second].",
    ),
    ({"from_study": "x", "arms": ["a", "a"]}, "items.arms", "“a” is in the list twice. Name it once."),
    ({"from_study": "x", "follow": "yes"}, "items.follow", "This is text “yes”. Write true or false."),
    ({"from_study": "x", "folow": True}, "items.folow", "There is no “folow”. Did you mean “follow”?"),
    ({"from_run": "x", "set_sizes": 3}, "items.set_sizes", "There is no “set_sizes”. Did you mean “set_size”?"),
]


@pytest.mark.parametrize(("items", "where", "said"), ITEMS, ids=[where for _, where, _ in ITEMS])
def test_sources_of_items_that_cannot_be_read(folder: Path, items: Any, where: str, said: str) -> None:
    assert refused(write(folder, items=items))[where] == said


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
        (ListField(), [["a"], []], ["a", {"a": 1}, 3]),
        (TableField(cells=[Cell("text", "Text")]), [[{"text": "a"}]], ["a", {"text": "a"}]),
    ],
)
def test_values_are_checked_against_their_field(field: forms.Field, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not fits(field, value)] == []
    assert [value for value in bad if fits(field, value)] == []


# --- applying ---


@pytest.mark.django_db
def test_a_new_study_with_items_and_an_owner(folder: Path) -> None:
    owner = make_researcher("ann")
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


# --- examples and documentation ---


@pytest.mark.django_db
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_can_be_applied_twice_and_published(path: Path) -> None:
    study = run(path).study
    assert study is not None
    for need in needs_of(study, []):
        lines = [f"A line for when {need.name} is late, number {at}." for at in range(need.rounds * need.per_round)]
        template = " ".join(f"{{{name}}}" for name in need.fields)
        make_pool(make_suggester(need.name, template=template), *lines)
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


def write_sets(study: Study) -> None:
    """A simulated worker needs no invitation."""
    make_submission(participant=make_participant(study=study, synthetic=True))


@pytest.mark.django_db
def test_the_example_that_judges_what_others_wrote_follows_them() -> None:
    run(ROOT / "examples" / "con_test.yaml")
    writing = Study.objects.get()
    publish(study=writing, actor="ann")
    write_sets(writing)
    judging = run(JUDGING).study
    assert judging is not None
    assert judging.items.count() == 2
    assert run(JUDGING).differences == []
    publish(study=judging, actor="ann")
    write_sets(writing)
    assert follow_feeds() == 2
    assert run(JUDGING).differences == []


def test_every_task_type_has_an_example() -> None:
    assert {yaml.safe_load(path.read_text())["task_type"] for path in EXAMPLES} == set(all_types())


def documented(heading: str) -> dict[str, tuple[str, str]]:
    """Key → (takes, default) of the table below a heading."""
    section = DOCS.read_text().partition(f"{heading}\n")[2]
    table = re.split(r"\n#+ ", section)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|", table, re.MULTILINE)
    return {key: (takes, LISTED.sub(r"\1", default.strip("`"))) for key, takes, default in rows}


#: A list of records is only counted there.
NUMBERS = ("one", "two", "three", "four", "five", "six")
LISTED = re.compile(rf"^({'|'.join(NUMBERS)}) \w+$")


def in_words(value: Any) -> str:
    """As the documentation writes a default; a list of records is only counted there."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return NUMBERS[len(value) - 1]
    if isinstance(value, list) and value:
        return ", ".join(value)
    return "empty" if value in ("", [], None) else str(value).lower() if isinstance(value, bool) else str(value)


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


def test_every_type_is_documented() -> None:
    headings = " ".join(re.findall(r"^### (.*)$", DOCS.read_text(), re.MULTILINE))
    assert set(all_types()) == set(re.findall(r"`(\w+)`", headings))


def test_the_keys_of_arms_and_sources_are_documented() -> None:
    told = DOCS.read_text()
    section = told.partition("## Arms\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(ARM_KEYS)
    section = told.partition("## Items from elsewhere\n")[2].partition("\n## ")[0]
    assert {*FROM_STUDY, "from_run"} <= set(re.findall(r"^ +(\w+):", section, re.MULTILINE))


def test_the_actor_of_the_audit_is_the_command() -> None:
    assert applying.ACTOR == "manage.py study apply"
