"""The page on stopping early: the rule of a draft, what it would do, and what it has seen in a live study."""

from __future__ import annotations

import pytest

from annotation.models import Study
from annotation.results import stopping_form
from annotation.results.stopping_early import look_at_due_studies
from annotation.studies.storing import change_study
from tests.annotation.console_helpers import as_role
from tests.annotation.results.test_plan_page import two_systems
from tests.annotation.results.test_stopping_early import study_of

pytestmark = pytest.mark.django_db
RULE = {"factor": "system", "criterion": "quality", "smallest": "0.5", "first": "20", "every": "5"}


def address(study: Study) -> str:
    return f"/console/studies/{study.slug}/stopping/"


def version(page: str) -> str:
    return page.partition('name="version" value="')[2].partition('"')[0]


def test_a_draft_saves_the_rule_and_simulates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping_form, "SIMULATIONS", 20)
    study = two_systems()
    client = as_role("editor", study)
    page = client.get(address(study)).content.decode()
    assert "What the rule would do" not in page
    answer = client.post(address(study), RULE | {"version": version(page)}, follow=True)
    assert "Saved." in answer.content.decode() and "What the rule would do" in answer.content.decode()
    study.refresh_from_db()
    assert study.stopping["smallest"] == 0.5
    page = client.get(address(study), {"size": "0.5", "variances": "likert-low"}).content.decode()
    for effect in ("none", "0.5", "1"):
        assert f'<th scope="row" class="number">{effect}</th>' in page
    assert client.get(f"/console/studies/{study.slug}/settings/").content.decode().count("Change the rule") == 2


def test_what_is_wrong_stands_beside_the_field_and_nothing_is_saved() -> None:
    study = two_systems()
    client = as_role("editor", study)
    page = client.get(address(study)).content.decode()
    answer = client.post(address(study), RULE | {"criterion": "", "version": version(page)})
    assert answer.status_code == 422 and "names a factor, and no criterion" in answer.content.decode()
    answer = client.post(address(study), RULE | {"version": "old"})
    assert answer.status_code == 409 and "Somebody else changed this study" in answer.content.decode()
    study.refresh_from_db()
    assert study.stopping == {}


def test_a_rule_that_the_launch_would_refuse_says_so_at_once() -> None:
    study = change_study(study=two_systems(), stopping=RULE | {"factor": "sytem", "smallest": 0.5}, actor="test")
    page = as_role("viewer", study).get(address(study)).content.decode()
    assert "cannot be launched with this rule" in page and "What the rule would do" not in page


def test_a_live_study_shows_its_looks_and_changes_nothing() -> None:
    study = study_of(1.5)
    client = as_role("editor", study)
    assert "There has been no look yet." in client.get(address(study)).content.decode()
    look_at_due_studies()
    page = client.get(address(study)).content.decode()
    assert "The study was closed." in page and "<strong>different</strong>" in page and "50%" in page
    answer = client.post(address(study), RULE | {"version": version(page)})
    assert answer.status_code == 422 and "Locked at launch" in answer.content.decode()


def test_a_live_study_without_a_rule_says_that_it_collects_everything() -> None:
    study = study_of(0.0, workers=0, stopping={})
    assert "This study has no rule" in as_role("viewer", study).get(address(study)).content.decode()
