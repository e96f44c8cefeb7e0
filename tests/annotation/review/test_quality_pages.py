"""The console's page of quality control, the command, and the keys of a study file."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from analysis.quality_control.rules import RULES
from annotation.models import Flag, QualityCheck, Study
from annotation.review import tasks
from annotation.studies.applying import apply
from annotation.studies.storing import Frozen
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.study_forms import accepts
from annotation.task_types.settings import ConfigForm
from annotation.work.quality_rules import ExclusionForm, QualityForm, initial_values
from tests.annotation.console_helpers import as_role
from tests.annotation.quality_helpers import gold_study, rate, someone
from tests.annotation.studies.test_study_file_examples import DOCS, documented, in_words

pytestmark = pytest.mark.django_db


def url(study: Study, name: str = "") -> str:
    return f"/console/studies/{study.slug}/quality/{name}"


def form(client: Client, study: Study, **changes: Any) -> dict[str, Any]:
    """The page's form as a browser sends it with only ``changes`` made."""
    page = client.get(url(study)).context["page"]
    values = {
        bound.html_name: bound.value()
        for part in (page.quality, page.exclusion)
        for bound in part
        if bound.value() not in (None, False, [])
    }
    values["quality-languages-0"] = "en"
    values.pop("quality-languages", None)
    return values | {"version": page.version} | changes


def test_the_rules_of_a_draft_can_be_changed() -> None:
    study = gold_study(live=False)
    client = as_role("editor", study)
    changes = {"quality-too_fast": "2.5", "quality-pasted": "", "exclude-gold_share_below": "0.6"}
    sent = client.post(url(study), form(client, study, **changes) | {"exclude-flags": ["too_fast"]})
    assert sent.status_code == 302, sent.context["page"].problems()
    study.refresh_from_db()
    assert (study.quality_control["too_fast"], study.quality_control["pasted"]) == (2.5, None)
    assert study.quality_control["languages"] == ["en"]
    assert (study.exclusion["gold_share_below"], study.exclusion["flags"]) == (0.6, ["too_fast"])


def test_what_is_wrong_is_shown_beside_its_field() -> None:
    study = gold_study(live=False)
    client = as_role("editor", study)
    changes = {"quality-pasted": "", "exclude-flags": ["pasted"]}
    sent = client.post(url(study), form(client, study) | changes)
    assert sent.status_code == 422
    assert "The rule pasted is switched off, so its flag excludes nobody." in sent.content.decode()
    study.refresh_from_db()
    assert study.exclusion["flags"] == []


def test_two_people_who_save_at_once_do_not_overwrite_each_other() -> None:
    study = gold_study(live=False)
    client = as_role("editor", study)
    mine = form(client, study, **{"quality-too_fast": "2"})
    Study.objects.filter(pk=study.pk).update(title="Other owls")
    sent = client.post(url(study), mine)
    assert sent.status_code == 409
    study.refresh_from_db()
    assert study.quality_control.get("too_fast", 1.0) == 1.0


def test_after_the_launch_the_page_shows_what_was_found_and_locks_the_rules() -> None:
    study = gold_study(exclusion={"gold_share_below": 0.7})
    rate(someone(study), gold=7)
    client = as_role("editor", study)
    page = client.get(url(study)).content.decode()
    assert "Locked at launch, so that nobody can fit the rules to the data." in page
    assert "Fewer than 70% of the worker&#x27;s gold answers right: 1 submission" in page
    client.post(url(study), form(client, study, **{"quality-too_fast": "9"}))
    study.refresh_from_db()
    assert study.quality_control["too_fast"] == 1.0


def test_a_check_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    study = gold_study()
    started: list[tuple[int, str]] = []
    monkeypatch.setattr(tasks.check_quality, "delay", lambda *given: started.append(given))
    client = as_role("editor", study)
    assert client.post(url(study, "check/")).status_code == 302
    assert started == [(study.pk, f"editor-of-{study.slug}")]
    assert tasks.check_quality(*started[0]) == 0
    assert QualityCheck.objects.get().actor == f"editor-of-{study.slug}"


def test_a_submission_shows_its_figures_and_the_rules_that_exclude_it() -> None:
    study = gold_study(exclusion={"flags": ["gold_wrong"]})
    wrong = rate(someone(study), gold=7)
    client = as_role("viewer", study)
    page = client.get(f"/console/studies/{study.slug}/submissions/{wrong.pk}/").content.decode()
    assert "0.00, threshold 0.70" in page
    assert "Excluded by rule: Flag: gold answers wrong." in page
    listed = client.get(f"/console/studies/{study.slug}/submissions/?show=rules").content.decode()
    assert wrong.participant.pseudonym in listed


def test_the_command_checks_and_tells_what_it_found() -> None:
    study = gold_study(quality_control={"gold_wrong": None})
    rate(someone(study), gold=7)
    Study.objects.filter(pk=study.pk).update(quality_control={}, exclusion={"flags": ["gold_wrong"]})
    out = StringIO()
    call_command("study", "check", study.slug, stdout=out)
    assert out.getvalue().splitlines() == [
        "owls: 1 submission checked, 1 new flag.",
        "  Gold answers wrong: 1 submission (1 new)",
        "Exclusion rules: 1 before, 0 after.",
        "  Flag: gold answers wrong: 1 submission",
    ]
    assert Flag.objects.count() == 1


# --- study files ---

FILE = """
slug: owls-2
task_type: abs_hds
title: Owls
quality_control:
  too_fast: 2
  pasted: null
  languages: [en, de]
exclude:
  flags: [too_fast, straight_lining]
  different_flags: 3
"""


def write(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    return path


def test_a_study_file_sets_rules_and_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    study = apply(read_study_file(write(tmp_path))).study
    assert study is not None
    assert study.quality_control["too_fast"] == 2.0
    assert study.quality_control["pasted"] is None
    assert study.quality_control["copied"] == 0.9
    assert study.exclusion == {"gold_share_below": None, "flags": ["too_fast", "straight_lining"], "different_flags": 3}
    assert apply(read_study_file(write(tmp_path))).differences == []


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("too_fast: 2", "too_quick: 2", "quality_control.too_quick"),
        ("too_fast: 2", 'too_fast: "2"', "quality_control.too_fast"),
        ("too_fast: 2", "too_fast: 0", "quality_control.too_fast"),
        ("[en, de]", "[english]", "quality_control.languages"),
        ("straight_lining", "pasted", "exclude.flags"),
        ("straight_lining", "lazy", "exclude.flags"),
    ],
)
def test_rules_that_cannot_be_used_are_refused_with_their_line(tmp_path: Path, old: str, new: str, where: str) -> None:
    with pytest.raises(FileRefused) as caught:
        apply(read_study_file(write(tmp_path, FILE.replace(old, new))))
    [problem] = caught.value.problems
    assert problem.where == where
    assert caught.value.line(problem) is not None


def test_a_live_study_refuses_other_rules(tmp_path: Path) -> None:
    study = apply(read_study_file(write(tmp_path))).study
    Study.objects.filter(pk=study.pk if study else 0).update(status="live")
    with pytest.raises(Frozen) as caught:
        apply(read_study_file(write(tmp_path, FILE.replace("too_fast: 2", "too_fast: 3"))))
    assert [problem.where for problem in caught.value.problems] == ["quality_control.too_fast"]


@pytest.mark.parametrize(("heading", "form"), [("Quality control", QualityForm), ("Exclusion rules", ExclusionForm)])
def test_the_documentation_has_every_key_with_its_default(heading: str, form: type[ConfigForm]) -> None:
    defaults = initial_values(form)
    expected = {name: (accepts(field), in_words(defaults[name])) for name, field in form.base_fields.items()}
    assert documented(f"## {heading}") == expected


def test_the_documentation_describes_every_rule() -> None:
    table = (DOCS.parent / "quality-control.md").read_text().partition("## Rules")[2].partition("Details:")[0]
    rows = re.findall(r"^\| `(\w+)` \| .*? \| ([\d.]+)", table, re.MULTILINE)
    assert [(name, float(default)) for name, default in rows] == [(rule.name, rule.default) for rule in RULES]
