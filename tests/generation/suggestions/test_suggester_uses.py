"""A suggester in use stays as it is until everybody who uses it is done."""

from __future__ import annotations

from typing import Any

import pytest

from common.problems import Invalid
from generation.models import SuggesterUse
from generation.suggestions.definitions import change_suggester
from generation.suggestions.suggester_uses import InUse, hold_suggesters, release_suggesters, users_of
from tests.generation.support.toy_suggestions import make_model, make_pool, make_suggester

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "change",
    [{"decoder": "greedy"}, {"template": "So: {story}"}, {"most_characters": 100}, {"word_list": "rain"}, {"tries": 1}],
)
def test_a_suggester_in_use_cannot_change_and_says_who_uses_it(change: dict[str, Any]) -> None:
    suggester = make_suggester("a")
    hold_suggesters(names=["a"], user="first-study")
    hold_suggesters(names=["a"], user="second-study")

    with pytest.raises(InUse, match=r"used by first-study, second-study, which are live.*Make another suggester"):
        change_suggester(suggester=suggester, **change)

    suggester.refresh_from_db()
    assert {name: getattr(suggester, name) for name in change} != change


def test_another_model_is_a_change() -> None:
    suggester = make_suggester("a")
    hold_suggesters(names=["a"], user="study")

    with pytest.raises(InUse, match="used by study, which is live"):
        change_suggester(suggester=suggester, model=make_model("another"))


def test_sending_the_same_values_is_not_a_change() -> None:
    suggester = make_suggester("a", decoder="top_p=0.9")
    hold_suggesters(names=["a"], user="study")

    changed = change_suggester(suggester=suggester, decoder="top_p=.9", active=False)

    assert (changed.decoder, changed.active) == ("top_p=0.9", False)
    make_pool(suggester, "One more text for the pool.")


def test_released_suggesters_may_change_and_the_snapshot_stays() -> None:
    suggester = make_suggester("a")
    hold_suggesters(names=["a"], user="study")
    release_suggesters(user="study")
    change_suggester(suggester=suggester, decoder="greedy")

    assert users_of(suggester) == []
    use = SuggesterUse.objects.get()
    assert use.ended_at is not None
    assert (use.snapshot["decoder"], use.snapshot["model"]["name"]) == ("ancestral", "toy")


def test_holding_again_changes_nothing_and_unknown_ones_are_refused() -> None:
    make_suggester("model-a")
    for _ in range(2):
        hold_suggesters(names=["model-a"], user="study")

    assert SuggesterUse.objects.count() == 1
    with pytest.raises(Invalid, match=r"no “model-b”.*Did you mean “model-a”"):
        hold_suggesters(names=["model-a", "model-b"], user="other")
    assert SuggesterUse.objects.count() == 1
