"""The page that plans a study, and ``manage.py study plan``."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from analysis.planning.scales import Scale
from annotation.models import Membership, Study
from annotation.results import plan_form
from annotation.results.study_plans import facts_of, raters_to_try, variances_of_study
from annotation.task_types.items import ItemData
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_study
from tests.report_data import a_set, rated_study

pytestmark = pytest.mark.django_db

LIKERT = {"points": 5, "statements": [{"topic": "quality", "question": "The reply is good."}]}
ASKED = {
    "goal": "difference",
    "size": "0.6",
    "power": "80",
    "systems": "2",
    "items": "20",
    "raters": "5",
    "crossing": "some",
    "variances": "likert-low",
}


def reply(prompt: int, system: str) -> ItemData:
    columns = {"sample_id": f"p{prompt}-{system}", "context": f"Prompt {prompt}", "text": f"Reply to {prompt}"}
    unused = {"label_name": "", "label_value": "", "columns": list(columns)}
    return ItemData(columns["sample_id"], columns | unused | {"extra": [["system", system]]})


def two_systems(**values: Any) -> Study:
    """A draft with 20 prompts, and a reply of each of two systems."""
    payloads = [reply(prompt, system) for prompt in range(20) for system in ("ours", "theirs")]
    settings: dict[str, Any] = {
        "items_per_hit": 10,
        "hits_per_worker": 2,
        "ratings_per_item": 3,
        "reward": Decimal("1.20"),
        "estimated_minutes": Decimal("6"),
    }
    return make_study(task_type="likert", live=False, payloads=payloads, config=LIKERT, **(settings | values))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_form, "SIMULATIONS", 60)
    monkeypatch.setattr(plan_form, "SECONDS", None)


def address(study: Study) -> str:
    return f"/console/studies/{study.slug}/plan/"


def owner_of(study: Study) -> tuple[Client, User]:
    user = make_user("ada")
    Membership.objects.create(study=study, user=user, role=Membership.Role.OWNER)
    return signed_in(user), user


def test_the_draft_gives_what_it_knows() -> None:
    facts = facts_of(two_systems())
    assert (facts.goal, facts.systems, facts.items, facts.same_items) == ("difference", 2, 20, True)
    assert (facts.factor, facts.crossing, facts.raters, facts.texts_per_worker) == ("system", "some", 3, 20)
    assert facts.scales == {"quality": Scale(1, 5, 5)}
    assert (facts.work.texts_per_hit, facts.work.reward, facts.work.minutes) == (10, Decimal("1.20"), Decimal(6))


def test_choices_and_judgements_are_planned_as_shares() -> None:
    assert facts_of(make_study(task_type="pairwise", live=False)).goal == "share"
    detection = facts_of(make_study(task_type="detection", live=False))
    assert (detection.goal, detection.systems) == ("accuracy", 1)


def test_the_form_has_the_drafts_values_and_simulates_nothing() -> None:
    study = two_systems()
    page = as_role("viewer", study).get(address(study)).content.decode()
    for value in ('name="systems" value="2"', 'name="items" value="20"', 'name="size" value="0.3"'):
        assert value in page.replace(' id="', ' data-id="') or value.split(" ")[1] in page
    assert "From the settings: 10 items in a hit, $1.20 for it and 6 min 00 s; a worker rates at most 20 items." in page
    assert "<table" not in page


def test_the_plan_is_a_table_a_curve_and_an_answer() -> None:
    study = two_systems()
    client, _ = owner_of(study)
    response = client.get(address(study), ASKED)
    page = response.content.decode()
    assert response.status_code == 200
    # 40 texts in 4 hits, 3 raters: 12 submissions of $1.20, 6 workers with 20 texts each.
    cells = next(cells for cells, _ in response.context["rows"] if cells[:2] == ["20", "3"])
    assert cells[2:4] == ["6", "20"] and cells[-3:] == ["12", "1.2", "$14.40"]
    assert "The draft has 20 items of each system and 3 raters per item: its power is" in page
    assert "Power by raters per item" in page and "<svg" in page and "Card et al. 2020" in page
    assert "A difference of 0.6 between 2 systems on a scale from 1 to 5 in 5 points" in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": "1"}, "There is one system, so nothing can be compared"),
        ({"size": "9"}, "A difference of 9 is larger than the scale"),
        ({"raters": "0"}, "greater than or equal to 1"),
        ({"items": "4"}, "fewer than 5 items"),
        ({"items": "5000", "raters": "50"}, "too many to simulate on a page"),
        ({"variances": "entailment"}, "not one of the available choices"),
        ({"systems": "30", "crossing": "all"}, "rates at least 30 texts, not 20"),
        ({"size": ""}, "This field is required"),
    ],
)
def test_plans_that_cannot_be_are_refused_beside_the_form(changes: dict[str, str], message: str) -> None:
    study = two_systems()
    response = as_role("viewer", study).get(address(study), ASKED | changes)
    assert response.status_code == 422
    assert message in response.content.decode()


def test_a_launched_study_has_no_more_to_plan() -> None:
    study = make_study()
    response = as_role("viewer", study).get(address(study), follow=True)
    assert "This study has already been launched. Plan the next one from a draft" in response.content.decode()


def test_an_earlier_study_with_too_many_ratings_is_for_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_form, "MOST_RATINGS", 3)
    pilot = rated_study([a_set("a"), a_set("b")], {("a", "w1"): 1.0, ("a", "w2"): 2, ("b", "w1"): 3, ("b", "w2"): 5})
    study = make_study(live=False, items=10)
    client, user = owner_of(study)
    Membership.objects.create(study=pilot, user=user, role=Membership.Role.VIEWER)
    asked = ASKED | {"variances": f"study:{pilot.slug}", "criterion": "diversity"}
    response = client.get(address(study), asked)
    assert f"manage.py study plan --pilot {pilot.slug}" in response.content.decode()


def test_earlier_studies_give_variances_to_their_members_only() -> None:
    values = {
        (f"s{item}", f"w{worker}"): float(1 + (3 * item + worker * item + worker) % 5)
        for item in range(8)
        for worker in range(6)
    }
    pilot = rated_study([a_set(f"s{item}") for item in range(8)], values, slug="pilot", title="Our pilot")
    study = make_study(live=False, items=10)
    client, user = owner_of(study)
    assert "Our pilot" not in client.get(address(study)).content.decode()
    Membership.objects.create(study=pilot, user=user, role=Membership.Role.VIEWER)
    page = client.get(address(study)).content.decode()
    assert "As in Our pilot" in page
    response = client.get(address(study), ASKED | {"variances": "study:pilot", "criterion": "diversity"})
    assert "Source: pilot, diversity: 48 answers to 8 items by 6 workers, 1 system, mean" in response.content.decode()
    assert variances_of_study(pilot, Scale(1, 5, 5)).source in response.content.decode()


def test_raters_to_try_contain_the_studys_own() -> None:
    assert raters_to_try(10, 3) == [1, 2, 3, 5, 10]
    assert raters_to_try(1, 1) == [1]
    assert raters_to_try(30, 50) == [1, 3, 10, 30]
    assert raters_to_try(4, 4, least=2) == [2, 3, 4]
    assert raters_to_try(1, 1, least=2) == [2]


# --- manage.py study plan ---


def planned(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("study", "plan", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_the_command_plans_the_draft() -> None:
    study = two_systems()
    printed = planned(study.slug, "--size", 0.6, "--simulations", 60, "--raters", 3, "--power", 0.5)
    assert "A difference of 0.6 between 2 systems on a scale from 1 to 5 in 5 points" in printed
    assert ("$14.40" in printed and "Cheapest of all" in printed) or "not enough" in printed
    assert "Workers earn $12.00 an hour." in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--raters", 0), "The number of raters must be 1 or more, not 0."),
        (("--systems", 1), "There is one system"),
        (("--criterion", "beauty"), "no question “beauty” with a scale; it has quality"),
        (("--published", "mine"), "There are no published variances “mine”"),
        (("--pilot", "nobody"), "There is no study “nobody”"),
    ],
)
def test_the_command_says_why_it_cannot_plan(options: tuple[Any, ...], message: str) -> None:
    study = two_systems()
    with pytest.raises(CommandError, match=message):
        planned(study.slug, "--size", 0.6, "--simulations", 60, *options)


def test_a_draft_without_items_needs_their_number() -> None:
    empty = make_study(task_type="likert", live=False, items=0, config=LIKERT)
    with pytest.raises(CommandError, match="has no items yet"):
        planned(empty.slug, "--size", 0.6)
    printed = planned(empty.slug, "--size", 0.6, "--items", 20, "--raters", 5, "--simulations", 60, "--power", 0.3)
    assert "so the plan assumes two" in printed
