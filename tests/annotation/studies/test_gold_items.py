"""Gold and attention items: how files name them, which hits get them, what prevents a launch, what workers read."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Item, Study
from annotation.studies.gold_items import with_checks
from annotation.studies.importing_items import read_items
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.studies.storing import change_study
from annotation.table_files import TableProblems
from annotation.task_types.base import PlannedHit
from annotation.task_types.items import ItemData
from annotation.task_types.registry import get_type
from annotation.tokens import participant_token
from annotation.work.answers import submit_step
from common.problems import Invalid
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, table
from tests.factories import default_config, make_assignment, make_participant, sample_rows

pytestmark = pytest.mark.django_db


def problems_of(rows: Sequence[dict[str, str]]) -> list[tuple[int, str, str]]:
    with pytest.raises(TableProblems) as caught:
        gold_study(rows, live=False)
    return [(each.row, each.column, each.what) for each in caught.value.problems]


# --- reading ---


def test_a_row_with_a_right_answer_is_a_gold_item() -> None:
    study = gold_study(live=False)
    item = Item.objects.get(study=study, external_id="g")
    assert item.role == "gold"
    assert item.payload["check"] == {
        "role": "gold",
        "answers": {"lively": ["2"]},
        "tolerance": 0.0,
        "explanation": "It says one word.",
    }
    assert set(Item.objects.filter(study=study, role="main").values_list("external_id", flat=True)) == {
        "m0", "m1", "m2", "m3",
    }  # fmt: skip


def test_points_may_be_named_and_there_may_be_several_right_answers_and_a_tolerance() -> None:
    row = GOLD | {"gold:lively": "strongly agree | 5", "gold_tolerance": "0.5"}
    check = Item.objects.get(study=gold_study([*MAIN, row], live=False), external_id="g").payload["check"]
    assert (check["answers"], check["tolerance"]) == ({"lively": ["7", "5"]}, 0.5)


@pytest.mark.parametrize(
    ("row", "column", "what"),
    [
        ({"role": "gold"}, "gold:", "This gold item has no right answer."),
        ({"role": "attention"}, "attention:", "This attention item has no right answer."),
        ({"gold:lively": "9"}, "gold:lively", "“9” is no answer to this question."),
        ({"gold:lively": "1|2|3|4|5|6|7"}, "gold:lively", "Every answer would be right."),
        ({"gold:lively": "4", "gold_tolerance": "3"}, "gold:lively", "Every answer would be right."),
        ({"gold:lively": "4", "gold_tolerance": "-1"}, "gold_tolerance", "The tolerance -1 is below 0."),
        ({"gold:lively": "4", "gold_tolerance": "few"}, "gold_tolerance", "“few” is not a number."),
        (
            {"gold:lively": "4", "attention:dull": "1"},
            "gold:lively",
            "The item is both a gold item and an attention check.",
        ),
        ({"gold:lively": "4", "exam:dull": "1"}, "gold:lively", "The item is already an exam item."),
    ],
)
def test_items_whose_right_answer_cannot_be_used(row: dict[str, str], column: str, what: str) -> None:
    bad = {"sample_id": "bad", "text": "Buzz."} | row
    assert (5, column, what) in problems_of([*MAIN, bad])


def test_a_column_names_a_question_of_the_study() -> None:
    [(row, column, what)] = problems_of([*MAIN, GOLD | {"gold:loud": "4"}])
    assert (row, column, what) == (0, "gold:loud", "The study has no question “loud”.")


def test_an_explanation_needs_a_right_answer() -> None:
    lone = {"sample_id": "lone", "text": "Buzz.", "gold_explanation": "Because."}
    [(row, column, _)] = problems_of([*MAIN, GOLD, lone])
    assert (row, column) == (6, "gold_explanation")


@pytest.mark.parametrize("task_type", ["detection", "quality"])
def test_types_with_a_column_for_roles_accept_gold_there(task_type: str) -> None:
    task = get_type(task_type)
    rows = [dict(row.cells) for row in sample_rows(task=task, items=2)]
    topic = {"detection": "judgement", "quality": "quality"}[task_type]
    rows[1] |= {"role": "gold", f"gold:{topic}": "1"}
    for row in rows:
        row |= {name: "" for name in ("known_label", "explanation", "other_text") if name in row}
    rows[0]["role"] = "main"
    read = read_items(task_type, default_config(task), table(rows))
    assert [item.role for item in read.items] == ["main", "gold"]


# --- planning ---


def test_every_hit_gets_gold_items_in_turn() -> None:
    items = [ItemData(name, {}, "gold") for name in ("g1", "g2", "g3")] + [ItemData("a1", {}, "attention")]
    hits = [PlannedHit([f"m{at}"], 2) for at in range(6)]
    settings = {"gold_per_hit": 1, "attention_per_hit": 1}
    made = with_checks(hits, items, settings, random.Random(4))
    assert all(len(hit.items) == 3 and "a1" in hit.items for hit in made)
    used = [next(name for name in hit.items if name.startswith("g")) for hit in made]
    assert {name: used.count(name) for name in ("g1", "g2", "g3")} == {"g1": 2, "g2": 2, "g3": 2}
    many = with_checks(hits, items, settings | {"gold_per_hit": 5}, random.Random(4))
    assert all(sorted(hit.items)[:4] == ["a1", "g1", "g2", "g3"] for hit in many)
    assert with_checks(hits, items, {"gold_per_hit": 0, "attention_per_hit": 0}, random.Random(4)) == hits


# --- rules that could exclude nobody or everybody ---


def test_a_rule_about_gold_items_needs_gold_items() -> None:
    study = gold_study(MAIN, live=False, exclusion={"gold_share_below": 0.7, "flags": ["attention_failed"]})
    with pytest.raises(Invalid) as caught:
        publish(study=study, actor="test")
    told = {problem.what for problem in caught.value.problems}
    assert told == {
        "An exclusion rule needs an item with the role gold, but the study has none.",
        "An exclusion rule needs an item with the role attention, but the study has none.",
    }
    assert Study.objects.get(pk=study.pk).status == "draft"


def test_gold_items_that_no_hit_gets_do_not_help() -> None:
    study = gold_study(live=False, quality_control={"gold_per_hit": 0}, exclusion={"gold_share_below": 0.7})
    [problem] = reasons_not_to_publish(study)
    assert problem.what.endswith("but no hit gets one.")


def test_a_time_that_nobody_can_have_excludes_everybody() -> None:
    study = gold_study(
        live=False, values={"time_limit_minutes": 1, "items_per_hit": 3},
        quality_control={"too_fast": 20.0}, exclusion={"flags": ["too_fast"]},
    )  # fmt: skip
    [problem] = reasons_not_to_publish(study)
    assert problem.what.startswith("The rule too_fast would exclude everybody: 20 seconds for 3 questions or more")
    change_study(study=study, quality_control={"too_fast": 2.0}, actor="test")
    assert reasons_not_to_publish(Study.objects.get(pk=study.pk)) == []


def test_a_flag_of_a_rule_that_is_off_is_refused_when_it_is_saved() -> None:
    with pytest.raises(Invalid) as caught:
        gold_study(live=False, quality_control={"pasted": None}, exclusion={"flags": ["pasted"]})
    assert caught.value.problems[0].what == "The rule pasted is switched off, so its flag excludes nobody."


@pytest.mark.parametrize("rules", [{"gold_share_below": 1.5}, {"gold_share_below": 0}, {"flags": ["all"]}])
def test_rules_out_of_bounds_are_refused(rules: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        gold_study(live=False, exclusion=rules)


# --- what workers read ---


def after_gold(study: Study, answer: str, client: Client) -> str:
    """The page after the gold item of a hit in which it comes first."""
    participant = make_participant(study=study)
    assignment = make_assignment(participant=participant)
    roles = [place.item.role for place in assignment.hit.places.select_related("item")]
    order = sorted(range(len(roles)), key=lambda at: roles[at] != "gold")
    assignment.order = assignment.order | {"items": order}
    assignment.save(update_fields=["order"])
    url = reverse("work", args=[participant_token(participant.pk)])
    form = client.get(url).content.decode().split('name="form" value="')[1].split('"')[0]
    sent = client.post(url, {"form": form, "lively": answer, "dull": "1"})
    assert sent.status_code == 303
    return client.get(sent.url).content.decode()  # type: ignore[attr-defined]


def test_feedback_shows_the_right_answer_and_the_explanation_on_the_next_page(client: Client) -> None:
    study = gold_study(quality_control={"gold_feedback": True})
    page = after_gold(study, "7", client)
    assert "You answered “7 Strongly agree”. The right answer: “2”." in page
    assert "It says one word." in page
    assert "Your last answer is right" in after_gold(study, "2", client)


def test_without_feedback_a_gold_item_looks_like_any_other(client: Client) -> None:
    page = after_gold(gold_study(), "7", client)
    assert "right answer" not in page
    assert "It says one word." not in page


@pytest.mark.parametrize("last", ["gold", "main"])
def test_feedback_on_the_last_page_is_on_the_page_that_ends_the_hit(client: Client, last: str) -> None:
    study = gold_study(quality_control={"gold_feedback": True})
    participant = make_participant(study=study)
    assignment = make_assignment(participant=participant)
    roles = [place.item.role for place in assignment.hit.places.select_related("item")]
    order = {"items": sorted(range(len(roles)), key=lambda at: roles[at] == last)}
    Assignment.objects.filter(pk=assignment.pk).update(order=assignment.order | order)
    for number in range(2):
        submit_step(
            assignment_id=assignment.pk,
            participant_id=participant.pk,
            number=number,
            data={"lively": "7", "dull": "1"},
            timing={},
        )
    page = client.get(reverse("work_done", args=[participant_token(participant.pk)])).content.decode()
    assert ("The right answer: “2”." in page) == (last == "gold")
