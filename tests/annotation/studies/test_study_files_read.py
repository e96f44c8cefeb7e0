"""Study files are read strictly: every problem at once, with its line."""

import time
from pathlib import Path
from typing import Any

import pytest
from django import forms

from annotation.studies.kinds_of_values import fits
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.task_types.settings import Cell, ListField, TableField
from tests.annotation.study_file_helpers import SETS, refused, refused_text, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sets.csv").write_text(SETS)
    return tmp_path


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
    started = time.process_time()
    assert "Line 1 uses an anchor" in refused_text(folder, "l0: &l0 [x]\n" + layers)["file"]
    assert time.process_time() - started < 2


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


def test_a_problem_in_an_arm_has_its_line(folder: Path) -> None:
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
    (["a.csv"], "items", "This is a list. Write the path of a file, or from_file, from_study or from_run with a name."),
    (
        {"study": "x"},
        "items",
        "The source of the items is missing. Write one of from_file: PATH, from_study: NAME and from_run: NAME.",
    ),
    (
        {"from_study": "x", "from_run": "y"},
        "items",
        "Items cannot come from both a study and a run. "
        "Write one of from_file: PATH, from_study: NAME and from_run: NAME.",
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


def test_a_problem_has_its_line(folder: Path) -> None:
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
