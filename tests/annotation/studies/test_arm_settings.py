"""Arms, excluded studies and identity in the definition of a study: what is accepted, refused, stored and locked."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User

from annotation.models import AuditEntry, ItemFeed, Study
from annotation.studies.applying import Applied, apply
from annotation.studies.launching import publish
from annotation.studies.storing import Frozen, change_study, close_study
from annotation.studies.study_files import FileRefused, read_study_file
from common.problems import Invalid
from tests.factories import create_study, make_researcher, make_study, make_submission

pytestmark = pytest.mark.django_db

ITEMS = "sample_id,context,resp_0,resp_1\ns0,c,one,two\ns1,c,one,two\n"
SOLO: dict[str, Any] = {"name": "solo", "reward": 1.25, "wanted": 130, "config": {"max_words": 9}}
PAIR: dict[str, Any] = {"name": "pair", "texts": {"instructions": "Work with somebody."}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items.csv").write_text(ITEMS)
    return tmp_path


def write(folder: Path, **changes: Any) -> Path:
    document = {"slug": "arms", "task_type": "abs_hds", "title": "Arms", "items": "items.csv"} | changes
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))
    return path


def run(folder: Path, *, owner: User | None = None, **changes: Any) -> Applied:
    return apply(read_study_file(write(folder, **changes)), owner=owner)


def changed(applied: Applied) -> dict[str, tuple[Any, Any]]:
    return {difference.field: (difference.old, difference.new) for difference in applied.differences}


def refused(folder: Path, *, owner: User | None = None, **changes: Any) -> dict[str, str]:
    """Where and what; every problem has its line, and nothing was written."""
    before = (Study.objects.count(), AuditEntry.objects.count())
    with pytest.raises(FileRefused) as caught:
        run(folder, owner=owner, **changes)
    assert (Study.objects.count(), AuditEntry.objects.count()) == before
    assert all(caught.value.line(problem) for problem in caught.value.problems)
    return {problem.where: f"{problem.what} {problem.fix}".strip() for problem in caught.value.problems}


# --- arms ---


def test_arms_are_stored_with_what_they_change(folder: Path) -> None:
    run(folder, reward=0.5, arms=[SOLO, PAIR])
    stored = Study.objects.get().arms.order_by("position")
    assert [(arm.name, arm.config, arm.texts, arm.reward, arm.wanted) for arm in stored] == [
        ("solo", {"max_words": 9}, {}, Decimal("1.25"), 130),
        ("pair", {}, {"instructions": "Work with somebody."}, None, None),
    ]
    assert run(folder, reward=0.5, arms=[SOLO, PAIR]).differences == []


def test_a_changed_arm_is_reported_part_by_part(folder: Path) -> None:
    run(folder, arms=[SOLO, PAIR])
    third = {"name": "third"}
    applied = run(folder, arms=[SOLO | {"reward": 2, "config": {"max_words": 11}}, PAIR | {"texts": {}}, third])
    assert changed(applied) == {
        "arms": (["solo", "pair"], ["solo", "pair", "third"]),
        "arms.solo.reward": (Decimal("1.250"), Decimal(2)),
        "arms.solo.config.max_words": (9, 11),
        "arms.pair.texts.instructions": ("Work with somebody.", None),
    }
    assert changed(run(folder)) == {
        "arms": (["solo", "pair", "third"], []),
        "arms.solo.reward": (Decimal("2.000"), None),
        "arms.solo.wanted": (130, None),
        "arms.solo.config.max_words": (11, None),
    }
    assert not Study.objects.get().arms.exists()


def test_a_launch_fixes_each_arm_and_plans_its_hits(folder: Path) -> None:
    run(folder, reward=0.5, ratings_per_item=3, texts={"ignore_quality": "Never mind."}, arms=[SOLO, PAIR])
    study = Study.objects.get()
    publish(study=study, actor="ann")
    solo, pair = study.arms.order_by("position")
    assert (solo.shown_config["max_words"], pair.shown_config["max_words"]) == (9, 15)
    assert (solo.shown_texts["ignore_quality"], pair.shown_texts["ignore_quality"]) == ("Never mind.", "Never mind.")
    assert pair.shown_texts["instructions"] == "Work with somebody."
    assert solo.shown_texts["instructions"] != pair.shown_texts["instructions"]
    for arm, reward in ((solo, Decimal("1.25")), (pair, Decimal("0.5"))):
        hits = arm.hits.all()
        assert [(hit.wanted, hit.reward) for hit in hits] == [(3, reward)] * 2
        assert set(hits.values_list("items__external_id", flat=True)) == {"s0", "s1"}
    assert (
        run(
            folder, reward=0.5, ratings_per_item=3, texts={"ignore_quality": "Never mind."}, arms=[SOLO, PAIR]
        ).differences
        == []
    )


def test_a_study_without_arms_gets_one_without_a_name(folder: Path) -> None:
    run(folder, reward=0.5)
    study = Study.objects.get()
    publish(study=study, actor="ann")
    arm = study.arms.get()
    assert (arm.name, set(study.hits.values_list("arm", "reward"))) == ("", {(arm.pk, Decimal("0.5"))})
    assert run(folder, reward=0.5).differences == []


def test_only_the_participants_wanted_can_change_in_a_live_study(folder: Path) -> None:
    run(folder, arms=[SOLO, PAIR])
    study = Study.objects.get()
    publish(study=study, actor="ann")
    assert changed(run(folder, arms=[SOLO | {"wanted": 100}, PAIR | {"wanted": 7}])) == {
        "arms.solo.wanted": (130, 100),
        "arms.pair.wanted": (None, 7),
    }
    assert list(study.arms.order_by("position").values_list("wanted", flat=True)) == [100, 7]
    with pytest.raises(Frozen) as caught:
        run(folder, arms=[{"name": "solo", "reward": 2, "config": {"max_words": 10}}, {"name": "other"}])
    assert {problem.where for problem in caught.value.problems} == {
        "arms",
        "arms.solo.reward",
        "arms.solo.config.max_words",
        "arms.pair.texts.instructions",
    }
    assert list(study.arms.order_by("position").values_list("wanted", flat=True)) == [100, 7]
    close_study(study=study, actor="ann")
    with pytest.raises(Frozen, match=r"arms\.pair\.wanted: The study is closed"):
        run(folder, arms=[SOLO | {"wanted": 100}, PAIR | {"wanted": 8}])


def test_more_ratings_per_item_open_places_in_every_arm(folder: Path) -> None:
    run(folder, ratings_per_item=2, arms=[SOLO, PAIR])
    study = Study.objects.get()
    publish(study=study, actor="ann")
    run(folder, ratings_per_item=5, arms=[SOLO, PAIR])
    assert list(study.hits.values_list("wanted", flat=True)) == [5] * 4


def test_two_arms_may_be_alike_in_everything_but_their_name(folder: Path) -> None:
    run(folder, arms=[{"name": "a1"}, {"name": "a2"}])
    publish(study=Study.objects.get(), actor="ann")
    assert Study.objects.get().hits.count() == 4


BAD_ARMS: list[tuple[list[dict[str, Any]], str, str]] = [
    ([{"name": "a"}, {"name": "A"}], "arms.A", "Arms 1 and 2 have the same name “A”. Give each arm its own name."),
    ([{"name": ""}], "arms.1.name", "This field is required. Write text of at most 40 characters."),
    (
        [{"name": "a.b"}],
        "arms.a.b.name",
        "“a.b”: Use letters, digits, hyphens, underscores and spaces, beginning with a letter or digit. "
        "Write text of at most 40 characters.",
    ),
    (
        [{"name": "a", "reward": -1}],
        "arms.a.reward",
        "“-1”: Ensure this value is greater than or equal to 0. "
        "Write a number from 0 to 99,999 with at most 3 decimals, or nothing.",
    ),
    (
        [{"name": "a", "wanted": 0}],
        "arms.a.wanted",
        "“0”: Ensure this value is greater than or equal to 1. Write a whole number from 1 to 1,000,000, or nothing.",
    ),
    (
        [{"name": "a", "config": {"empty_responses": "drop"}}],
        "arms.a.config.empty_responses",
        "All arms share the items, and this setting decides how items are read. "
        "Set it for the whole study, or make a separate study.",
    ),
    (
        [{"name": "a", "config": {"max_words": 1}}],
        "arms.a.config.max_words",
        "“1”: Ensure this value is greater than or equal to 3. Write a whole number from 3 to 200.",
    ),
    (
        [{"name": "a", "texts": {"instruction": "x"}}],
        "arms.a.texts.instruction",
        "There is no “instruction”. Did you mean “instructions”?",
    ),
    ([{"name": f"a{n}"} for n in range(101)], "arms", "There are 101 arms. A study can have up to 100."),
]


@pytest.mark.parametrize(("arms", "where", "said"), BAD_ARMS, ids=[where for _, where, _ in BAD_ARMS])
def test_invalid_arms_are_refused(folder: Path, arms: list[dict[str, Any]], where: str, said: str) -> None:
    assert refused(folder, arms=arms) == {where: said}


def test_an_arm_is_checked_as_the_study_that_it_makes() -> None:
    """A rule across settings may be broken by an arm's setting together with one of the study."""
    given: dict[str, Any] = {
        "task_type": "pairwise",
        "values": {"title": "x"},
        "texts": {},
        "actor": "a",
        "owner": None,
    }
    study = create_study(slug="whole", config={}, arms=[{"name": "a", "config": {}}], **given)
    assert study.arms.get().config == {}
    with pytest.raises(Invalid) as caught:
        create_study(slug="part", config={}, arms=[{"name": "a", "config": {"no_such": 1}}], **given)
    assert [problem.where for problem in caught.value.problems] == ["arms.a.config.no_such"]


def test_a_study_can_reword_a_text_that_only_one_arm_shows(folder: Path) -> None:
    """With the warm-up off, its texts may not exist; an arm that switches it on brings them back."""
    run(
        folder,
        config={"write_first": False, "rate_first": False},
        arms=[{"name": "a"}, {"name": "b", "config": {"write_first": True}}],
    )
    study = Study.objects.get()
    from annotation.task_types.registry import get_type

    task = get_type("abs_hds")
    with_warm_up = {text.name for text in task.texts(study.config | {"write_first": True})}
    without = {text.name for text in task.texts(study.config)}
    for name in sorted(with_warm_up - without)[:1]:
        change_study(study=study, texts={name: "Mine"}, actor="ann")
        assert Study.objects.get().texts == {name: "Mine"}


# --- excluded studies ---


def test_excluded_studies_are_stored_and_replaced(folder: Path) -> None:
    for slug in ("first", "second"):
        make_study(slug=slug)
    run(folder, exclude_studies=["second", "first"])
    assert run(folder, exclude_studies=["first", "second"]).differences == []
    assert changed(run(folder, exclude_studies=["first"])) == {"exclude_studies": (["first", "second"], ["first"])}
    assert [study.slug for study in Study.objects.get(slug="arms").exclude_studies.all()] == ["first"]
    publish(study=Study.objects.get(slug="arms"), actor="ann")
    assert changed(run(folder, exclude_studies=["second"])) == {"exclude_studies": (["first"], ["second"])}
    close_study(study=Study.objects.get(slug="arms"), actor="ann")
    with pytest.raises(Frozen, match="exclude_studies: The study is closed"):
        run(folder)


def test_a_study_that_does_not_exist_cannot_be_excluded(folder: Path) -> None:
    assert refused(folder, exclude_studies=["ghost"]) == {
        "exclude_studies": "There is no study “ghost”, or you may not see it. "
        "Check the short name, or ask an owner to add you."
    }


def test_a_study_cannot_exclude_itself(folder: Path) -> None:
    expected = {"exclude_studies": "A study cannot exclude itself. Remove it from the list."}
    assert refused(folder, exclude_studies=["arms"]) == expected
    run(folder)
    assert refused(folder, exclude_studies=["arms"]) == expected


def test_only_studies_that_one_may_see_can_be_excluded_but_those_excluded_stay() -> None:
    ann = make_researcher("ann")
    make_study(slug="theirs")
    mine = make_study(slug="mine", owner=ann, live=False)
    visible = Study.objects.filter(members=ann)
    with pytest.raises(Invalid, match="There is no study “theirs”"):
        change_study(study=mine, exclude_studies=["theirs"], visible=visible, actor="ann")
    change_study(study=mine, exclude_studies=["theirs"], actor="admin")
    change_study(study=mine, exclude_studies=["theirs"], visible=visible, actor="ann")
    assert [study.slug for study in mine.exclude_studies.all()] == ["theirs"]


# --- identity ---


def test_a_panel_needs_its_parameter_and_its_name(folder: Path) -> None:
    with pytest.raises(FileRefused) as caught:
        run(folder, identity="parameter")
    assert {problem.where for problem in caught.value.problems} == {"identity_parameter", "panel"}
    run(folder, identity="parameter", identity_parameter="PROLIFIC_PID", panel="prolific")
    study = Study.objects.get()
    assert (study.identity, study.identity_parameter, study.panel) == ("parameter", "PROLIFIC_PID", "prolific")


def test_a_parameter_that_nothing_uses_is_pointed_out(folder: Path) -> None:
    assert refused(folder, panel="prolific") == {
        "panel": "“prolific”: Only used if a panel's id prevents repeat participation (identity: parameter). "
        "Leave it empty, or choose that option."
    }


@pytest.mark.parametrize("name", ["k", "bot", "K"])
def test_a_parameter_that_the_server_uses_itself_is_refused(folder: Path, name: str) -> None:
    found = refused(folder, identity="parameter", identity_parameter=name, panel="p")
    assert found["identity_parameter"] == f"“{name}”: The server uses this parameter itself. Choose another."


def test_a_parameter_is_one_word(folder: Path) -> None:
    found = refused(folder, identity="parameter", identity_parameter="PID=1", panel="p")
    assert "Use letters, digits, hyphens and underscores." in found["identity_parameter"]


# --- items from another study ---


def test_a_study_file_names_another_study(folder: Path) -> None:
    there = make_study(task_type="con_test", slug="writing", ratings_per_item=9)
    make_submission(study=there)
    applied = run(folder, items={"from_study": "writing", "follow": True})
    assert changed(applied)["items.from_study"] == (None, "writing")
    study = Study.objects.get(slug="arms")
    assert (study.items.count(), study.item_feed.follow) == (2, True)
    items = {"from_study": "writing", "follow": True}
    assert run(folder, items=items).differences == []
    make_submission(study=there)
    assert changed(run(folder, items=items)) == {"items": (2, 4)}
    publish(study=study, actor="ann")
    make_submission(study=there)
    assert run(folder, items=items).differences == []
    assert changed(run(folder, items=items | {"follow": False})) == {"items.follow": (True, False)}
    with pytest.raises(Frozen) as caught:
        run(folder, items=items | {"follow": False, "arms": []} | {"from_study": copy_of(there)})
    assert {problem.where for problem in caught.value.problems} == {"items.from_study"}
    with pytest.raises(Frozen):
        run(folder)


def copy_of(study: Study) -> str:
    return make_study(task_type=study.task_type).slug


def test_a_study_file_replaces_the_source_study(folder: Path) -> None:
    there = make_study(task_type="con_test", slug="writing", ratings_per_item=9)
    make_submission(study=there)
    run(folder, items={"from_study": "writing"})
    assert changed(run(folder)) == {
        "items.from_study": ("writing", None),
        "items.kind": ("", None),
        "items.arms": ([], None),
        "items.follow": (False, None),
        "items": (2, 2),
    }
    assert not ItemFeed.objects.exists()
    assert run(folder).differences == []


def test_invalid_sources_are_refused(folder: Path) -> None:
    make_study(slug="rated")
    make_study(slug="writing", task_type="con_test", arms=[{"name": "solo"}, {"name": "pair"}])
    missing = (
        "There is no study “ghost”, or the owner of this study may not see it. "
        "Check the short name, or ask an owner to add a member."
    )
    assert refused(folder, items={"from_study": "ghost"}) == {"items.from_study": missing}
    assert refused(folder, items={"from_study": "arms"}) == {
        "items.from_study": "A study cannot take its items from itself. Name another study."
    }
    assert refused(folder, items={"from_study": "rated"}) == {
        "items.from_study": "Submissions to rated (abs_hds) contain nothing that another study can judge. "
        "Choose a study of another type, or import a file of items."
    }
    assert refused(folder, items={"from_study": "writing", "arms": ["both"]}) == {
        "items.arms": "There is no “both”. Known: pair, solo."
    }


def test_a_study_that_the_owner_cannot_see_is_not_a_source(folder: Path) -> None:
    there = make_study(task_type="con_test", slug="writing")
    ann = make_researcher("ann")
    found = refused(folder, owner=ann, items={"from_study": "writing"})
    assert found["items.from_study"].startswith(
        "There is no study “writing”, or the owner of this study may not see it."
    )
    there.memberships.create(user=ann, role="viewer")
    assert run(folder, owner=ann, items={"from_study": "writing"}).created
    there.memberships.all().delete()
    assert "items.from_study" in refused(folder, items={"from_study": "writing", "follow": True})
