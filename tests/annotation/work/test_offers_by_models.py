"""What models may write: nothing, nonsense, far too much, markup. The suggester process decides what writers get."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from annotation.models import Offer
from generation.backends.base import Request
from generation.models import Suggester, Suggestion
from generation.suggestions import suggester_process
from generation.suggestions.suggester_process import SuggesterProcess
from tests.annotation.offers_helpers import FIRST, is_waiting, offers, pass_time, shown_texts, story_study, writer
from tests.generation.support.toy_suggestions import ToyShop
from tests.services import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggester_process, "REFRESH_SECONDS", 0.01)


def let_write(script: Callable[[Request], str]) -> None:
    """A suggester process answers all that waits with what ``script`` writes."""
    process = SuggesterProcess(open_backend=ToyShop(script), poll=0)

    def done() -> bool:
        process.turn()
        return not Suggestion.objects.filter(state="waiting").exists()

    wait_for(done, "the suggestions")
    process._finish()


@pytest.mark.parametrize(
    ("written", "source"),
    [
        ("", "pool"),
        (" \u200b \ufffd ", "pool"),
        ("!?", "pool"),
        ("word " * 2_000, "pool"),
        ("x" * 10_000, "pool"),
        (f"{FIRST} {FIRST}", "live"),
        (' <b>Bold</b> was the fox & "quick" too. <script>alert(1)</script>', "live"),
        (" The kettle sang while nobody listened. Then it stopped.", "live"),
    ],
    ids=["nothing", "invisible", "too short", "no end", "10,000 characters", "the prompt again", "HTML", "fine"],
)
def test_writers_get_a_clean_line_or_one_from_the_pool(written: str, source: str) -> None:
    study = story_study()
    browser = writer(study)
    assert is_waiting(browser)

    let_write(lambda request: written)

    texts = shown_texts(browser)
    assert len(texts) == 2
    assert {offer.source for offer in offers(study).values()} == {source}
    assert all(20 <= len(offer.text) <= 260 for offer in Offer.objects.all())
    assert "<script>alert" not in browser.get().content.decode()
    assert browser.send(pick="1", turn=offers(study)["1"].text).status_code == 303


def test_with_an_empty_pool_and_a_model_that_writes_nonsense_the_writer_continues_alone() -> None:
    study = story_study(pool=False)
    browser = writer(study)
    assert is_waiting(browser)
    let_write(lambda request: "?")
    assert is_waiting(browser), "there is time for a second try"
    assert Suggestion.objects.filter(key__endswith="/again").count() == 2
    let_write(lambda request: "?")

    assert {offer.source for offer in (browser.get(), offers(study))[1].values()} == {"none"}
    assert browser.send(turn="So we went in without a word.").status_code == 303


def test_a_template_names_the_entities_of_the_story_so_far() -> None:
    study = story_study()
    Suggester.objects.update(template="Named: {entities:first}\n\n{story}")
    browser = writer(study)
    assert is_waiting(browser)
    prompts: list[str] = []

    def write(request: Request) -> str:
        prompts.append(request.prompt)
        return " The kettle sang while nobody listened."

    let_write(write)

    of_story = [prompt for prompt in prompts if FIRST in prompt]  # others warm the model up
    assert len(of_story) == 2
    for prompt in of_story:
        named, story = prompt.split("\n\n", 1)
        # FIRST has one noun phrase with a determiner; whether "home" is a noun is the tagger's business.
        assert named.removeprefix("Named: ").split("; ")[0] == "The door" and story.endswith(FIRST)
    assert set(shown_texts(browser)) == {"The kettle sang while nobody listened."}
    assert {offer.source for offer in offers(study).values()} == {"live"}


def test_no_process_at_all_means_texts_from_the_pool_after_the_wait() -> None:
    study = story_study()
    browser = writer(study)
    assert is_waiting(browser)
    pass_time(11)

    assert all("from the pool" in text for text in shown_texts(browser))
    assert Suggester.objects.count() == 2
