"""The examples work, and the documentation names every key."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation.models import Study
from annotation.studies.checking import default_config
from annotation.studies.launching import publish
from annotation.studies.outputs import follow_feeds
from annotation.studies.spec import ARM_KEYS, default_values
from annotation.studies.study_files import FROM_STUDY, KEYS, REQUIRED
from annotation.studies.suggesters import needs_of
from annotation.study_forms import StudyForm, accepts
from annotation.task_types.registry import all_types, get_type
from tests.annotation.study_file_helpers import SETS, run
from tests.factories import make_participant, make_submission
from tests.generation.support.toy_suggestions import make_pool, make_suggester
from tests.services import ROOT

# Beside the study files lie run files, which tests/generation reads.
JUDGING = ROOT / "examples" / "con_test_sets.yaml"  # takes what con_test.yaml collected
EXAMPLES = sorted(
    path
    for path in [*(ROOT / "examples").glob("*.yaml"), *(ROOT / "examples" / "chat").glob("*.yaml")]
    if not path.name.endswith(".run.yaml") and path != JUDGING
)
PUBLISHED = sorted((ROOT / "examples" / "published").glob("*.yaml"))
DOCS = ROOT / "docs" / "study-files.md"
SIZES = ("items_per_hit", "ratings_per_item", "hits_per_worker")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sets.csv").write_text(SETS)
    return tmp_path


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
@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name)
def test_every_published_design_can_be_applied_and_lists_texts_that_its_study_has(path: Path) -> None:
    study = run(path).study
    assert study is not None
    assert run(path).differences == []
    task = get_type(study.task_type)
    configs = [study.config, *(study.config | arm.config for arm in study.arms.all())]
    keys = {text.name for config in configs for text in task.texts(config)}
    _, _, listed = path.read_text("utf-8").partition("`texts:`")
    named = re.findall(r"[a-z_]+(?:\.[a-z_0-9]+)+", listed.partition("\nslug:")[0])
    assert set(named) <= keys


def test_every_instrument_of_the_papers_has_a_published_design() -> None:
    described = {yaml.safe_load(path.read_text("utf-8"))["task_type"] for path in PUBLISHED}
    assert described >= {task.name for task in all_types().values() if re.search(r"\d{4}", task.source)}


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
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
LISTED = re.compile(rf"^({'|'.join(NUMBERS)}) \w+$")


def in_words(value: Any) -> str:
    """As the documentation writes a default; a list of records is only counted there."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return NUMBERS[len(value) - 1]
    if isinstance(value, list) and value:
        return ", ".join(value)
    return "empty" if value in ("", [], None) else str(value).lower() if isinstance(value, bool) else str(value)


def test_the_documentation_and_the_form_have_the_same_keys() -> None:
    told = documented("## Keys of a study")
    assert list(told) and set(told) == set(KEYS)
    defaults = default_values("abs_hds") | dict.fromkeys(SIZES, "[as published](#published-sizes)")
    for name, field in StudyForm().fields.items():
        default = "required" if name in REQUIRED else in_words(defaults[name])
        assert told[name] == (accepts(field), default), name


def test_the_documentation_and_the_types_have_the_same_sizes() -> None:
    section = DOCS.read_text().partition("### Published sizes\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.*?) \| (.*?) \| (.*?) \|", section, re.MULTILINE)
    told = {name: cells for names, *cells in rows for name in re.findall(r"`(\w+)`", names)}
    assert told == {
        name: [in_words(getattr(task.suggested, size)).replace("empty", "no limit") for size in SIZES]
        for name, task in all_types().items()
    }


def test_the_documentation_and_the_types_have_the_same_settings() -> None:
    headings = re.findall(r"^### (`.*)$", DOCS.read_text(), re.MULTILINE)
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
