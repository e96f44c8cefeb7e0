"""A study's settings for platforms: in a study file, on the command line, in a copy; locked once it is posted."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AuditEntry, Posting, Study
from annotation.platforms import PlatformTrouble, all_platforms, connect_account, platform_class
from annotation.recruiting.publishing import settings_of
from annotation.studies.duplicating import duplicate_study
from annotation.studies.storing import change_study
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.work.quality_rules import initial_values
from common.problems import Invalid
from tests.factories import make_study

BASE = "slug: weather\ntask_type: abs_hds\ntitle: Weather\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "study.yaml"


def run(*arguments: str) -> tuple[str, str]:
    out, errors = io.StringIO(), io.StringIO()
    try:
        call_command("study", *arguments, stdout=out, stderr=errors)
    except CommandError as error:
        errors.write(str(error))
    return out.getvalue(), errors.getvalue()


def problems(file: Path, text: str) -> list[tuple[int | None, str]]:
    file.write_text(BASE + text)
    with pytest.raises(FileRefused) as refused:
        read_study_file(file)
    return [(refused.value.line(each), str(each)) for each in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("platforms: mturk", 4, "platforms: This must be a mapping, not text."),
        ("platforms:\n  mturk: 3", 5, "platforms.mturk: This must be a mapping, not a number."),
        ("platforms:\n  mturc: {}", 5, "There is no “mturc”. Did you mean “mturk”?"),
        ("platforms:\n  mturk:\n    locale: [US]", 6, "There is no “locale”. Did you mean “locales”?"),
        ("platforms:\n  mturk:\n    locales: US", 6, "platforms.mturk.locales: This is text “US”. Write a list"),
        ("platforms:\n  mturk:\n    split: maybe", 6, "Write true or false"),
        ("platforms:\n  prolific:\n    devices: [desktop, 3]", 6, "a list of any of desktop, tablet, mobile"),
    ],
)
def test_a_file_with_wrong_settings_is_refused_with_the_line(file: Path, text: str, line: int, said: str) -> None:
    ((where, told),) = problems(file, text)
    assert (where, said in told) == (line, True), told


@pytest.mark.django_db
def test_a_file_sets_changes_and_resets_settings(file: Path) -> None:
    file.write_text(BASE + "platforms:\n  mturk:\n    locales: [us, DE]\n    lifetime_days: 3\n")
    out, _ = run("apply", str(file))
    assert "+ platforms.mturk.lifetime_days: 3" in out
    study = Study.objects.get()
    assert (study.platforms["mturk"]["locales"], study.platforms["mturk"]["lifetime_days"]) == (["us", "DE"], 3)
    assert study.platforms["mturk"]["split"] is True  # defaults are stored too
    assert run("apply", str(file))[0].startswith("weather: nothing to change")
    file.write_text(BASE + "platforms:\n  mturk:\n    lifetime_days: 4\n")
    out, _ = run("apply", str(file))
    assert "~ platforms.mturk.lifetime_days: 3 → 4" in out
    assert "~ platforms.mturk.locales: [us, DE] → []" in out
    file.write_text(BASE)
    run("apply", str(file))
    study.refresh_from_db()
    assert study.platforms == {}
    assert AuditEntry.objects.filter(action="change").count() == 2


@pytest.mark.django_db
def test_a_value_that_its_field_refuses_is_named_with_its_line(file: Path) -> None:
    file.write_text(BASE + "platforms:\n  mturk:\n    lifetime_days: 0\n")
    _, errors = run("apply", str(file))
    assert "line 6, platforms.mturk.lifetime_days" in errors
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_the_command_line_overrides_settings_of_a_draft() -> None:
    study = make_study(live=False, items=2, reward=1)
    change_study(study=study, platforms={"mturk": {"locales": ["US"], "lifetime_days": 3}}, actor="test")
    out, errors = run("publish", study.slug, "--platform", "mturk", "--dry-run", "--set", "locales=de, at")
    assert ('{"Country": "DE"}, {"Country": "AT"}' in out, errors) == (True, "")
    assert '"LifetimeInSeconds": 259200' in out
    study.refresh_from_db()
    assert (study.status, study.platforms["mturk"]["locales"]) == ("draft", ["US"])  # a dry run stores nothing


@pytest.mark.django_db
def test_settings_can_change_until_the_study_is_posted() -> None:
    study = make_study(items=1)
    change_study(study=study, platforms={"mturk": {"lifetime_days": 3}}, actor="test")
    Posting.objects.create(study=study, hit=study.hits.first(), platform="mturk", external_id="H")
    with pytest.raises(ValueError, match=r"platforms\.mturk\.lifetime_days: Locked when the study was posted"):
        change_study(study=study, platforms={"mturk": {"lifetime_days": 4}}, actor="test")
    change_study(study=study, platforms={"mturk": {"lifetime_days": 3}, "panel": {"panel": "x"}}, actor="test")
    Study.objects.update(status="closed")
    with pytest.raises(ValueError, match="The study is closed"):
        change_study(study=study, platforms={"mturk": {"lifetime_days": 3}}, actor="test")


@pytest.mark.django_db
def test_a_copy_has_the_settings_of_the_original() -> None:
    study = make_study(live=False)
    study = change_study(study=study, platforms={"mturk": {"keywords": "text"}}, actor="test")
    made = duplicate_study(study=study, slug="copy", title="Copy", with_items=False, actor="test", owner=None)
    assert made.platforms == study.platforms


@pytest.mark.django_db
def test_missing_settings_have_their_defaults_and_needed_ones_are_named() -> None:
    study = make_study(live=False)
    assert settings_of(study, all_platforms()["mturk"])["lifetime_days"] == 7
    with pytest.raises(Invalid, match=r"platforms\.panel\.panel"):
        settings_of(study, all_platforms()["panel"])


def test_every_platform_describes_itself() -> None:
    assert list(all_platforms()) == ["link", "mturk", "prolific", "panel"]
    for name, platform in all_platforms().items():
        assert (platform.name, bool(platform.title), bool(platform.unit)) == (name, True, True)
        assert platform.later <= set(initial_values(platform.form))
        assert platform.offline().name == name


def test_an_unknown_platform_is_named(settings: Any) -> None:
    with pytest.raises(PlatformTrouble, match=r"no platform “mturc”.* Choose one of link, mturk, prolific, panel"):
        platform_class("mturc")
    settings.MTURK_ACCESS_KEY_ID = ""
    with pytest.raises(PlatformTrouble, match="make-key NAME"):
        connect_account("mturk", None)
    assert connect_account("link", None).name == "link"


def test_the_keys_of_platforms_are_listed() -> None:
    out, _ = run("keys", "abs_hds")
    assert "    locales: a list of texts, or nothing." in out
    assert "    worker_parameter: text of at most 40 characters." in out
