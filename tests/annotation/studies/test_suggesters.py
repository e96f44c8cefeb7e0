"""What a writing study needs of its suggesters before it goes live, and that they cannot change afterwards."""

from __future__ import annotations

import pytest

from annotation.models import Study
from annotation.studies.launching import publish, reasons_not_to_publish
from annotation.studies.storing import close_study, pause_study
from common.problems import Invalid
from generation.models import Suggester
from generation.suggestions.definitions import change_suggester
from generation.suggestions.suggester_uses import InUse
from tests.factories import make_study
from tests.generation.support.toy_suggestions import make_pool, make_suggester

pytestmark = pytest.mark.django_db
ROUNDS = 3


def draft(**config: object) -> Study:
    return make_study(task_type="cyoa", items=1, live=False, config={"rounds": ROUNDS, **config}, arms=())


def ready(name: str) -> Suggester:
    suggester = make_suggester(name)
    make_pool(suggester, *(f"A line of {name}, number {at}." for at in range(ROUNDS)))
    return suggester


def reasons(study: Study) -> list[str]:
    return [f"{problem.what} {problem.fix}" for problem in reasons_not_to_publish(study)]


def test_a_study_whose_suggesters_are_ready_can_go_live() -> None:
    ready("model-a")
    ready("model-b")

    assert reasons(draft()) == []


def test_a_suggester_that_is_missing_is_named_with_how_to_make_it() -> None:
    ready("model-a")

    (reason,) = reasons(draft(suggesters=["model-a", "modell-a"]))

    assert "There is no suggester “modell-a”. Did you mean “model-a”?" in reason
    assert "manage.py suggester add modell-a" in reason


def test_a_stopped_suggester_a_retired_model_and_an_unknown_template_field_are_reported() -> None:
    first, second = ready("model-a"), ready("model-b")
    Suggester.objects.filter(pk=first.pk).update(active=False, template="{keywords}: {story}")
    second.model.retired = True
    second.model.save()

    told = "\n".join(reasons(draft()))

    assert "Suggester model-a is not active" in told
    assert "uses {keywords}, which this study does not have. Use {story}, {prompt}." in told
    assert "The model toy of suggester model-b is retired." in told


def test_a_pool_must_have_enough_texts_for_one_story() -> None:
    ready("model-b")
    suggester = make_suggester("model-a")
    make_pool(suggester, "One for the first round.", round=1)
    make_pool(suggester, "One for any round.", round=0)

    (reason,) = reasons(draft())

    assert "The pool of suggester model-a lacks 1 text" in reason
    assert "(rounds 2, 3)" in reason
    make_pool(suggester, "Another for any round.", round=0)
    assert reasons(draft()) == []


def test_a_suggester_that_is_named_twice_needs_twice_as_many_texts() -> None:
    ready("model-a")

    (reason,) = reasons(draft(suggesters=["model-a", "model-a"]))

    assert "lacks 3 texts" in reason


def test_two_suggesters_with_the_same_texts_need_enough_for_both() -> None:
    """A story of three rounds needs six different texts. Round 3 of a story would have had one suggestion."""
    texts = [f"A line that both pools hold, number {at}." for at in range(ROUNDS)]
    first = make_suggester("model-a")
    for suggester in (first, make_suggester("model-b")):
        make_pool(suggester, *texts)

    one, other = reasons(draft())

    assert "The pool of suggester model-a lacks 3 texts for a story" in one
    assert "3 of its texts are also in the pool of model-b, and a story never shows a text twice." in one
    assert "Add other texts on the page Suggesters, or with: manage.py suggester pool-fill model-a" in one
    assert "The pool of suggester model-b lacks 3 texts" in other
    make_pool(first, *(f"A line of model-a alone, number {at}." for at in range(ROUNDS)))
    (rest,) = reasons(draft())
    assert "The pool of suggester model-b lacks 3 texts" in rest


def test_texts_for_a_round_are_used_before_those_for_every_round() -> None:
    """The pools of the published example as both were filled from one run: five texts for round 1, five for round 5,
    and five for every round, which both suggesters need in rounds 2, 3 and 4."""
    for name in ("model-a", "model-b"):
        suggester = make_suggester(name)
        for round in (0, 1, 5):
            make_pool(suggester, *(f"A line for round {round}, number {at}." for at in range(5)), round=round)

    one, other = reasons(draft(rounds=5))

    assert "The pool of suggester model-a lacks 1 text for a story in which all suggestions come too late" in one
    assert "(rounds 2, 3, 4)" in one
    assert "model-b lacks 1 text" in other


def test_arms_do_not_take_texts_from_each_other() -> None:
    study = make_study(task_type="cyoa", items=1, live=False, config={"rounds": ROUNDS}, arms=())
    for position, name in enumerate(("model-a", "model-b")):
        make_pool(make_suggester(name), *(f"A line of both, number {at}." for at in range(ROUNDS)))
        study.arms.create(name=name, position=position, config={"suggesters": [name]})

    assert reasons(study) == []


def test_suggesters_are_locked_from_launch_to_close() -> None:
    suggester = ready("model-a")
    ready("model-b")
    study = draft()
    publish(study=study, actor="test")

    for _ in range(2):
        with pytest.raises(InUse, match=study.slug):
            change_suggester(suggester=suggester, decoder="greedy")
        pause_study(study=study, actor="test")
    close_study(study=study, actor="test")

    assert change_suggester(suggester=suggester, decoder="greedy").decoder == "greedy"


def test_a_study_that_cannot_go_live_holds_nothing() -> None:
    suggester = ready("model-a")
    with pytest.raises(Invalid):
        publish(study=draft(), actor="test")

    assert change_suggester(suggester=suggester, decoder="greedy").decoder == "greedy"


def test_a_suggester_may_name_the_entities_of_the_story() -> None:
    for name in ("model-a", "model-b"):
        Suggester.objects.filter(pk=ready(name).pk).update(template="Named: {entities}\n\n{story}")

    assert reasons(draft()) == []
