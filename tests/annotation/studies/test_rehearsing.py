"""A launch is refused if a careful worker could pass an exclusion rule in no hit, and not for anything else.

Every kind of rule that can shut everybody out has a study here that does, and one beside it that does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from annotation.models import Study
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.studies.rehearsing import JUDGED
from annotation.task_types.registry import all_types
from common.problems import Invalid
from tests.annotation.coding_helpers import LABELS
from tests.annotation.quality_helpers import GOLD, MAIN, gold_study, table
from tests.factories import create_study, make_study

pytestmark = pytest.mark.django_db

#: Every rule that looks at one hit; pasting is what nobody has to do.
ALL_FLAGS = [*JUDGED, "pasted", "gibberish", "language", "same_text", "far_from_others"]


def told(study: Study) -> list[str]:
    return [problem.what for problem in reasons_not_to_publish(study)]


# --- silence ---


@pytest.mark.parametrize("name", sorted(all_types()))
def test_default_rules_shut_nobody_out_in_any_type(name: str) -> None:
    flags = [each for each in ALL_FLAGS if each not in ("gold_wrong", "attention_failed")]
    task = all_types()[name]
    size = {"quality": 5, "detection": 5}.get(name, 1)
    study = make_study(
        task_type=name,
        live=False,
        items=size,
        items_per_hit=1,
        exclusion={"flags": flags, "different_flags": 1},
        reward=0,
    )
    found = [what for what in told(study) if "exclude everybody" in what]
    assert found == [], task.title


def test_a_study_with_gold_and_attention_items_and_all_rules_can_be_launched() -> None:
    attention = {"sample_id": "a", "text": "Choose 7 for both.", "attention:lively": "7", "attention:dull": "7"}
    study = gold_study([*MAIN, GOLD, attention], live=False,
                       exclusion={"gold_share_below": 1.0, "flags": ALL_FLAGS, "different_flags": 1})  # fmt: skip
    assert told(study) == []
    publish(study=study, actor="ann")


def test_without_exclusion_rules_nothing_is_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise AssertionError("rehearsed")

    monkeypatch.setattr("annotation.studies.launching.everybody_excluded", never)
    assert told(gold_study(live=False)) == []


def test_texts_in_another_language_prove_nothing_because_simulated_workers_write_english() -> None:
    study = production(quality_control={"languages": ["de"]}, exclusion={"flags": ["language", "gibberish"]})
    assert told(study) == []


# --- each rule that nobody can pass ---


def production(*, config: Mapping[str, Any] | None = None, **given: Any) -> Study:
    """Writers of one response to a context."""
    study = create_study(slug="writers", task_type="production", values={"title": "Writers"} | given.pop("values", {}),
                         config=dict(config or {}), texts={}, actor="ann", owner=None, **given)  # fmt: skip
    rows = [{"sample_id": f"c{at}", "context": f"The bus number {at} is late again."} for at in range(3)]
    import_items(study=study, table=table(rows), actor="ann")
    return study


@pytest.mark.parametrize(("minutes", "refused"), [(1, True), (2, False)])
def test_more_questions_than_the_time_allows(minutes: int, refused: bool) -> None:
    """Two statements about two texts (one of them gold) are four questions: at 16 s each they take 64 s, and the limit
    is 60 s. One text takes at least one answer, so counting texts alone finds nothing."""
    study = gold_study(live=False, values={"time_limit_minutes": minutes},
                       quality_control={"too_fast": 16.0}, exclusion={"flags": ["too_fast"]})  # fmt: skip
    found = told(study)
    assert bool(found) == refused
    if refused:
        assert found == [
            "The rule too_fast would exclude everybody. A careful simulated worker could not pass it in "
            "4 hits. 4 questions in 60.0 seconds."
        ]


@pytest.mark.parametrize(("words", "refused"), [(1, True), (2, False)])
def test_a_longer_text_than_the_question_allows(words: int, refused: bool) -> None:
    """The rule flags responses of one word."""
    study = production(config={"least_words": 1, "most_words": words}, exclusion={"flags": ["too_short"]})
    assert any(what.startswith("The rule too_short would exclude everybody.") for what in told(study)) == refused


def test_gold_answers_that_contradict_an_opposite() -> None:
    """Both statements are right at 7, and the rule says that nobody agrees with both."""
    both = GOLD | {"gold:lively": "7", "gold:dull": "7"}
    rules: dict[str, Any] = {"exclusion": {"gold_share_below": 1.0, "flags": ["contradictory"]}}
    opposites = {"opposites": [{"first": "lively", "second": "dull"}]}
    study = gold_study([*MAIN, both], live=False, quality_control=opposites, **rules)
    found = told(study)
    assert len(found) == 1
    assert found[0].startswith(("The rule contradictory would", "The rule gold_share_below would"))
    assert told(gold_study([*MAIN, both], slug="other", live=False, **rules)) == []


def test_gold_items_whose_right_answers_cannot_all_be_given() -> None:
    """Coders choose one of three labels at least, and the item says that none is right: at most two answers are."""
    study = coded(NONE_RIGHT)
    assert told(study) == [
        "The rule gold_share_below would exclude everybody. A careful simulated worker could not pass it in "
        "3 hits. At most 2 of 3 gold answers can be right."
    ]
    assert told(coded({"gold:labels/facts": "0", "gold:labels/grammar": "0"}, slug="fine")) == []


NONE_RIGHT = {f"gold:labels/{name}": "0" for name in ("grammar", "facts", "vague")}


def coded(right: Mapping[str, str], *, slug: str = "coded", more: Sequence[Mapping[str, str]] = ()) -> Study:
    """Comments with one gold item or more. Coders choose at least one of three labels."""
    study = create_study(
        slug=slug,
        task_type="comment_coding",
        values={"title": "Coding", "items_per_hit": 1, "ratings_per_item": 2, "hits_per_worker": None, "reward": 0},
        config={"labels": LABELS},
        texts={},
        actor="ann",
        owner=None,
        exclusion={"gold_share_below": 0.9},
    )
    rows = [{"comment_id": f"c{at}", "comment": f"Sentence {at} repeats itself."} for at in range(3)]
    import_items(study=study, table=table([*rows, {"comment_id": "g", "comment": "No.", **right}, *more]), actor="ann")
    return study


def test_an_attention_check_that_straight_lining_forbids() -> None:
    """Five attention checks ask for 7 and nothing else is in the hit but one text with two answers."""
    checks = [
        {"sample_id": f"a{at}", "text": "Choose 7 for both.", "attention:lively": "7", "attention:dull": "7"}
        for at in range(6)
    ]
    given: dict[str, Any] = {
        "live": False,
        "quality_control": {"attention_per_hit": 6, "straight_lining": 0.3},
    }
    flags = {"flags": ["attention_failed", "straight_lining"]}
    assert len(told(gold_study([*MAIN, *checks], exclusion=flags, **given))) == 1
    fine = {"flags": ["attention_failed"]}
    assert told(gold_study([*MAIN, *checks], slug="fine", exclusion=fine, **given)) == []


def test_one_arm_of_two_is_named() -> None:
    study = production(
        config={"least_words": 1, "most_words": 50},
        exclusion={"flags": ["too_short"]},
        arms=[{"name": "long"}, {"name": "short", "config": {"most_words": 1}}],
    )
    (problem,) = reasons_not_to_publish(study)
    assert problem.what.startswith("The rule too_short would exclude everybody in the arm “short”.")
    assert problem.where == "exclude.flags"
    with pytest.raises(Invalid, match="arm “short”"):
        publish(study=study, actor="ann")
    assert Study.objects.get(pk=study.pk).status == "draft"


def test_one_hit_that_can_be_passed_is_enough() -> None:
    """Only one of two gold items has answers that cannot all be given."""
    good = {"comment_id": "h", "comment": "Yes.", "gold:labels/facts": "1"}
    assert told(coded(NONE_RIGHT, more=[good])) == []
