"""docs/question-kinds.md names every kind that a study can describe, with its settings."""

import re

from annotation.study_forms import accepts
from annotation.task_types.described_questions import COMMON
from annotation.task_types.kinds import describable_kinds
from tests.services import ROOT

DOCS = (ROOT / "docs" / "question-kinds.md").read_text("utf-8")


def settings_below(heading: str) -> dict[str, str]:
    section = DOCS.partition(f"{heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))


def test_every_kind_is_documented_with_its_settings() -> None:
    for name, kind in describable_kinds().items():
        assert kind.settings_form is not None
        fields = kind.settings_form().fields
        expected = {key: accepts(field) for key, field in fields.items()}
        assert settings_below(f"## `{name}`: {kind.kind_name}") == expected, name
    assert set(re.findall(r"^## `(\w+)`", DOCS, re.MULTILINE)) == set(describable_kinds())


def test_what_all_questions_have_is_documented() -> None:
    assert [*settings_below("# Kinds of questions")] == [*COMMON, "of"]
