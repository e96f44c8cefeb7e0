"""What counts as copied in a story: a suggestion that the writer uses never does, the story before it does."""

from __future__ import annotations

import pytest

from analysis.quality_control.rules import Settings, find_in
from annotation.task_types.base import Answers
from annotation.task_types.offers import OfferData, Offers
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import SENTENCES, SimulatedWorker
from annotation.work.quick_rules import Sent
from tests.annotation.task_types.walking import pages_of, shown_of

TASK = get_type("mil_story")
FIRST = "Nobody else stood at the stop that evening."
SUGGESTED = "The old bus came round the corner at last."


def flags(*sentences: str, suggested: str = SUGGESTED) -> list[str]:
    """The flags of a story of four sentences; the second and the fourth began as suggestions, the fourth had none."""
    example = TASK.examples()[1]
    shown = shown_of(TASK, example)
    offers = (OfferData(1, "1", "model-a", suggested), OfferData(3, "1", "model-a", "", "none"))
    shown = shown.__class__(shown.items, shown.config, shown.texts, shown.order, offers=Offers(offers))
    answers: list[Answers] = [{"sentence": text} for text in sentences]
    pages = pages_of(TASK, shown, answers)
    sent = Sent(TASK, shown, pages, answers, [], [], seconds=None)
    return [found.place for found in find_in(sent.as_work(), Settings.of({})) if found.reason == "copied"]


@pytest.mark.parametrize(
    "second",
    [SUGGESTED, f"{SUGGESTED} It was empty.", "Late again, the old bus came round the corner at last, and stopped."],
    ids=["kept", "continued", "edited"],
)
def test_a_suggestion_that_the_writer_uses_is_not_copied(second: str) -> None:
    assert flags(FIRST, second, "She got in and paid.", "The driver did not look up.") == []


def test_a_suggestion_that_repeats_the_story_is_the_models_fault() -> None:
    assert flags(FIRST, FIRST, "She got in and paid.", "The driver did not look up.", suggested=FIRST) == []


def test_a_writer_who_sends_a_sentence_of_the_story_again_is_flagged() -> None:
    assert flags(FIRST, SUGGESTED, FIRST, SUGGESTED) == ["2.sentence", "3.sentence"]


def test_a_careful_simulated_writer_never_repeats_a_sentence_of_the_story() -> None:
    """All but one of the sentences that simulated workers know are in the story."""
    example = TASK.examples()[1]
    shown = shown_of(TASK, example)
    page = TASK.next_page(shown, [{"sentence": " ".join(SENTENCES[1:])}])
    page = page and page.__class__(page.name, page.title, page.template, page.parts, page.context, page.item)
    assert page is not None
    for number in range(20):
        worker = SimulatedWorker.named(f"w{number}", "careful")
        assert TASK.simulate(worker, shown, page, []) == {"sentence": SENTENCES[0]}
