"""Factors in study files: what is stored, what is refused with which message, and what can change after the launch."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from analysis.description import Factor
from analysis.description_json import description_from_json, description_to_json
from analysis.factors import factors_of, level_names, levels_in_order
from annotation.models import AuditEntry, Study
from annotation.results.description import describe_study
from annotation.results.frames import study_data
from annotation.studies.duplicating import duplicate_study
from annotation.studies.factor_notes import factor_notes
from annotation.studies.launching import publish
from annotation.studies.spec import ArmSpec, spec_of
from annotation.studies.storing import Frozen, change_study
from annotation.studies.study_files import FileRefused
from common.problems import Refused
from tests.annotation.study_file_helpers import changes, refused, run, write
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db

TEXTS = "sample_id,text,system,domain,empty,same\n" + "".join(
    f"t{n},Text {n}.,{('human', 'large', 'small')[n % 3]},{('news', 'story')[n // 6]},,one\n" for n in range(12)
)
ARMS: list[dict[str, Any]] = [
    {"name": "a", "factors": {"training": "none", "region": "north"}},
    {"name": "b", "factors": {"training": "examples", "region": "north"}},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "texts.csv").write_text(TEXTS)
    return tmp_path


def study_file(folder: Path, **values: Any) -> Path:
    path = write(folder, **({"slug": "texts", "task_type": "likert", "items": "texts.csv"} | values))
    # Unlike the helper, with the factors in their order.
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | values, sort_keys=False))
    return path


def applied(folder: Path, **values: Any) -> Study:
    run(study_file(folder, **values))
    return Study.objects.get(slug="texts")


def problems(folder: Path, **values: Any) -> dict[str, str]:
    with pytest.raises(Refused) as caught:
        run(study_file(folder, **values))
    assert not Study.objects.filter(slug="texts").exists()
    return {problem.where: f"{problem.what} {problem.fix}".strip() for problem in caught.value.problems}


# --- what is stored and described ---


def test_factors_are_stored_in_the_order_of_the_file_and_described(folder: Path) -> None:
    study = applied(
        folder,
        factors={"system": {"reference": "human"}, "domain": {}, "training": {"of": "arm", "reference": "none"}},
        arms=ARMS,
    )

    described = describe_study(study)

    assert list(described.factors) == [
        Factor("system", "item", "human"), Factor("domain"), Factor("training", "arm", "none"),
    ]  # fmt: skip
    assert [arm.factors for arm in described.arms] == [arm["factors"] for arm in ARMS]


def test_what_has_levels_is_found_by_name(folder: Path) -> None:
    """``training`` belongs to arms, ``domain`` to items; ``from:arm`` can only be a column of items; ``region`` is in
    both, and the column comes first."""
    (folder / "texts.csv").write_text(TEXTS.replace("same\n", "region\n").replace(",one\n", ",south\n"))
    study = applied(folder, factors={"training": None, "domain": None, "region": None}, arms=ARMS)

    assert [(factor.name, factor.of) for factor in describe_study(study).factors] == [
        ("training", "arm"), ("domain", "item"), ("region", "item"),
    ]  # fmt: skip


def test_a_setting_in_which_arms_differ_needs_no_levels(folder: Path) -> None:
    arms = [{"name": "wide", "config": {"points": 7}}, {"name": "narrow", "config": {"points": 5}}]
    study = applied(folder, factors={"points": {"of": "arm"}}, arms=arms)

    assert describe_study(study).factors == [Factor("points", "arm")]


def test_applying_again_changes_nothing_and_a_difference_names_both_values(folder: Path) -> None:
    first = {"factors": {"system": {"reference": "human"}, "domain": {}}, "arms": ARMS}
    applied(folder, **first)
    assert run(study_file(folder, **first)).differences == []

    levels = [ARMS[0], {"name": "b", "factors": {"training": "pairs"}}]
    different = changes(run(study_file(folder, factors={"system": {"reference": "large"}}, arms=levels)))

    assert different == {
        "factors.system": ({"reference": "human"}, {"reference": "large"}),
        "factors.domain": ({}, None),
        "arms.b.factors.training": ("examples", "pairs"),
        "arms.b.factors.region": ("north", None),
    }


def test_a_duplicate_has_the_same_factors(folder: Path) -> None:
    study = applied(folder, factors={"system": {"reference": "human"}, "domain": {}}, arms=ARMS)

    copy = duplicate_study(study=study, slug="copy", title="Copy", with_items=True, actor="ann", owner=None)

    assert spec_of(copy).factors == spec_of(study).factors == {"system": {"reference": "human"}, "domain": {}}
    assert [arm.factors for arm in spec_of(copy).arms] == [arm["factors"] for arm in ARMS]
    assert describe_study(copy).factors == describe_study(study).factors


def test_bundles_keep_factors_and_levels(folder: Path) -> None:
    parts = {"1": "system", "2": "domain"}
    described = describe_study(
        applied(folder, factors={"system": {"reference": "human"}, "both": {"parts": parts}}, arms=ARMS)
    )

    again = description_from_json(description_to_json(described))

    assert list(again.factors) == [Factor("system", "item", "human"), Factor("both", "part", "", parts)]
    assert [arm.factors for arm in again.arms] == [arm["factors"] for arm in ARMS]
    assert list(again.suggested_factors) == list(described.suggested_factors)


# --- what is refused ---


@pytest.mark.parametrize(
    ("factors", "where", "message"),
    [
        ({"sistem": {}}, "factors.sistem", "No item has anything in a column sistem. Did you mean “system”?"),
        (
            {"nothing": {}},
            "factors.nothing",
            "No item has anything in a column nothing. Known: sample_id, text, system, domain, same.",
        ),
        ({"empty": {}}, "factors.empty", "No item has anything in a column empty."),
        (
            {"system": {"reference": "humans"}},
            "factors.system.reference",
            "No item has the reference humans. Did you mean “human”?",
        ),
        ({"system": {"of": "arm"}}, "factors.system", "The study has no arms. Give the arms levels"),
        ({"mood": {"of": "worker"}}, "factors.mood.of", "No question has the topic mood"),
        (
            {"side": {"parts": {"1": "system"}}},
            "factors.side.parts",
            "There is one part, with the column system, so there is nothing to compare it with.",
        ),
        ({"side": {"parts": {"1": "system", "2": "system"}}}, "factors.side.parts", "Two parts have the same column"),
        (
            {"side": {"parts": {"1": "system", "2": "system_2"}}},
            "factors.side.parts",
            "No item has anything in a column system_2. Did you mean “system”?",
        ),
        (
            {"system": {"of": "item", "parts": {"1": "system", "2": "domain"}}},
            "factors.system.parts",
            "Only a factor of parts has columns of parts, and this one is of item.",
        ),
        ({f"f{n}": {} for n in range(13)}, "factors", "There are 13 factors, and a study can have up to 12."),
        ({" ": {}}, "factors. ", "A factor has no name"),
    ],
)
def test_factors_that_cannot_be_compared_are_refused(
    folder: Path, factors: dict[str, Any], where: str, message: str
) -> None:
    assert problems(folder, factors=factors)[where].startswith(message)


@pytest.mark.parametrize(
    ("values", "where", "message"),
    [
        ({"factors": ["system"]}, "factors", "This must be a mapping, not a list."),
        ({"factors": {"system": "human"}}, "factors.system", "This must be a mapping, not text."),
        ({"factors": {"system": {"base": "human"}}}, "factors.system.base", "There is no “base”."),
        ({"factors": {"system": {"of": "items"}}}, "factors.system.of", "“items”: "),
        ({"factors": {"system": {"reference": 3}}}, "factors.system.reference", "This is a number “3”."),
        ({"factors": {"p": {"parts": {"1": 2}}}}, "factors.p.parts.1", "This is a number “2”. Write text, in quotes."),
        ({"arms": [{"name": "a", "factors": {"level": 0.7}}]}, "arms.a.factors.level", "This is a number “0.7”."),
        ({"arms": [{"name": "a", "factors": {"arm": "x"}}]}, "arms.a.factors.arm", "“arm” already has another meaning"),
        ({"arms": [{"name": "a", "factors": {"a:b": "x"}}]}, "arms.a.factors.a:b", "“a:b” cannot be the name"),
        ({"arms": [{"name": "a", "factors": {"a": "x; y"}}]}, "arms.a.factors.a", "“x; y” cannot be a level."),
        (
            {"arms": ARMS, "factors": {"trainin": {"of": "arm"}}},
            "factors.trainin",
            "No arm has a level of trainin. Give the arms levels",
        ),
        (
            {"arms": ARMS, "factors": {"training": {"of": "arm", "reference": "example"}}},
            "factors.training.reference",
            "There is no “example”. Did you mean “examples”?",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(
    folder: Path, values: dict[str, Any], where: str, message: str
) -> None:
    assert problems(folder, **values)[where].startswith(message)


def test_a_problem_with_a_factor_has_its_line(folder: Path) -> None:
    path = folder / "study.yaml"
    path.write_text(
        "slug: texts\ntask_type: likert\ntitle: T\nitems: texts.csv\nfactors:\n  domain: {}\n  system:\n"
        "    reference: nobody\n"
    )
    with pytest.raises(FileRefused) as caught:
        run(path)
    assert [caught.value.line(problem) for problem in caught.value.problems] == [8]


def test_a_column_of_the_file_that_replaces_the_items_counts_not_the_old_one(folder: Path) -> None:
    applied(folder, factors={"system": {}})
    (folder / "other.csv").write_text("sample_id,text,model\na,A text.,m\nb,Another text.,n\n")

    with pytest.raises(FileRefused, match="No item has anything in a column system"):
        run(study_file(folder, items="other.csv", factors={"system": {}}))
    assert Study.objects.get(slug="texts").items.count() == 12
    run(study_file(folder, items="other.csv", factors={"model": {}}))
    assert Study.objects.get(slug="texts").items.count() == 2


# --- what is allowed, and worth knowing ---


def test_one_level_many_levels_and_missing_levels_are_warned_of(folder: Path) -> None:
    rows = "".join(f"t{n},Text {n}.,p{n},{'x' if n else ''}\n" for n in range(200))
    (folder / "texts.csv").write_text(f"sample_id,text,prompt,kind\n{rows}")

    warnings = run(study_file(folder, factors={"prompt": {}, "kind": {}})).warnings

    assert list(warnings) == [
        "prompt has 200 levels, and at most 30 can be compared. Add a column that groups them, and declare that as the "
        "factor.",
        "All items have the same level of kind, x, so there is nothing to compare.",
        "1 item of 200 has no level of kind and is in no comparison by kind.",
    ]


def test_arms_without_a_level_are_warned_of(folder: Path) -> None:
    arms = [*ARMS, {"name": "c", "factors": {"region": "south"}}, {"name": "d", "factors": {"region": "south"}}]

    warnings = run(study_file(folder, factors={"training": {}}, arms=arms)).warnings

    assert list(warnings) == ["c, d have no level of training, so the answers there are in no comparison by training."]


def test_columns_that_look_like_factors_are_offered_until_some_are_declared(folder: Path) -> None:
    suggested = run(study_file(folder))
    assert suggested.suggestion == (
        "The report will compare what looks like a factor: system (3 levels: human, large, small); "
        "domain (2 levels: news, story)."
    )
    assert run(study_file(folder, factors={"domain": {}})).suggestion == ""


def test_the_command_prints_suggestions_and_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("study", "apply", str(study_file(folder)))
    printed = capsys.readouterr().out
    assert "system (3 levels: human, large, small)" in printed
    assert "To choose yourself, declare factors in the study file." in printed

    out = io.StringIO()
    call_command("study", "keys", "pairwise", stdout=out)
    keys = out.getvalue() + capsys.readouterr().out
    assert "factors: what the report compares; for each factor, by its name" in keys
    assert "Without factors, this type suggests system, from:arm, from:model, from:decoder." in keys


# --- after the launch ---


@pytest.mark.parametrize("status", ["live", "paused", "closed"])
def test_factors_and_levels_can_change_at_any_time_with_an_entry(folder: Path, status: str) -> None:
    study = applied(folder, factors={"system": {"reference": "human"}}, arms=ARMS)
    publish(study=study, actor="ann")
    Study.objects.filter(pk=study.pk).update(status=status)
    arms = [ArmSpec.of(ARMS[0]), ArmSpec.of({"name": "b", "factors": {"training": "pairs", "region": "south"}})]

    changed = change_study(study=study, factors={"system": {}, "training": {"of": "arm"}}, arms=arms, actor="ann")

    assert [(factor.name, factor.reference) for factor in study_data(changed).description.factors] == [
        ("system", ""), ("training", ""),
    ]  # fmt: skip
    assert [arm.factors["training"] for arm in study_data(changed).description.arms] == ["none", "pairs"]
    entry = AuditEntry.objects.filter(study=study, action="change").latest("pk").detail["changes"]
    assert entry == {
        "factors.system": {"old": {"reference": "human"}, "new": {}},
        "factors.training": {"old": None, "new": {"of": "arm"}},
        "arms.b.factors.region": {"old": "north", "new": "south"},
        "arms.b.factors.training": {"old": "examples", "new": "pairs"},
    }


def test_an_arm_still_cannot_change_otherwise(folder: Path) -> None:
    study = applied(folder, arms=ARMS)
    publish(study=study, actor="ann")
    other = [ArmSpec.of(ARMS[0]), ArmSpec.of(ARMS[1] | {"config": {"points": 5}})]

    with pytest.raises(Frozen, match=r"arms\.b\.config\.points"):
        change_study(study=study, arms=other, actor="ann")


def test_a_wrong_level_of_a_live_study_is_refused(folder: Path) -> None:
    study = applied(folder, arms=ARMS)
    publish(study=study, actor="ann")
    other = [ArmSpec.of(ARMS[0]), ArmSpec.of(ARMS[1] | {"factors": {"a;b": "x"}})]

    with pytest.raises(Refused, match="cannot be the name of a factor"):
        change_study(study=study, arms=other, actor="ann")


def test_a_study_file_of_a_live_study_can_change_its_factors(folder: Path) -> None:
    study = applied(folder, arms=ARMS)
    publish(study=study, actor="ann")

    assert changes(run(study_file(folder, arms=ARMS, factors={"system": {}}))) == {"factors.system": (None, {})}


def test_files_without_factors_are_read_as_before(folder: Path) -> None:
    assert "factors" in refused(study_file(folder, factors=3))


# --- what types suggest ---


def test_types_suggest_what_their_instrument_compares() -> None:
    """Both sets of a ranking by their labels; texts of a detection study by source; arms of one by training."""
    arms = [{"name": name, "config": {"training": name}} for name in ("none", "instructions")]
    rankings, detection = make_study(task_type="rnk_hds", items=8), make_study(task_type="detection", arms=arms)

    of_rankings, of_detection = (factors_of(study_data(study)) for study in (rankings, detection))

    assert of_rankings[0] == Factor("label", "part", parts={"1": "label_value", "2": "set2_label_value"})
    assert of_detection == [Factor("training", "arm", "none")]  # the sample items have one source and domain


def test_an_answer_about_the_worker_is_a_factor_of_workers() -> None:
    study = make_study(
        task_type="mil_story", config={"suggestions": False, "sentences": 2}, items=1, ratings_per_item=9
    )
    for _ in range(3):
        make_submission(study=study)
    about_workers = study_data(study).ratings.query("item == '' and value == value")
    topic = str(about_workers["question"].iloc[0])
    study.factors = {topic: {}}
    study.save()

    data = study_data(study)

    assert list(data.description.factors) == [Factor(topic, "worker")]
    assert factor_notes(study).problems == []
    assert set(level_names(data, Factor(topic, "worker"), data.ratings)) <= set(
        levels_in_order(data, Factor(topic, "worker"))
    )
