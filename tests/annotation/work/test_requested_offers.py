"""Suggestions at the press of a button: nothing typed is lost, nobody has to wait, and every press is recorded."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation.models import Arm, Assignment, Draft, Offer, Pull, Rating, Step, Study
from annotation.task_types.questions import MAX_CHARS
from generation.models import Suggester, Suggestion
from tests.annotation.offers_helpers import answer, pass_time
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.results.exports.helpers import exported, read_jsonl
from tests.factories import make_participant, make_study
from tests.generation.support.toy_suggestions import make_pool, make_suggester

pytestmark = pytest.mark.django_db
KEYWORDS, SLOGAN = "Enter at least one keyword.", "Write a first draft of your slogan. You can still change it."
TEMPLATE = "Words: {keywords}. Slogan for {prompt}: {slogan}"


def slogan_study(**config: Any) -> Study:
    """Two suggesters; the pool of each lasts for one press."""
    for name in ("model-a", "model-b"):
        make_pool(make_suggester(name, template=TEMPLATE, wait_seconds=10.0), f"From the pool of {name}.")
    return make_study(
        task_type="slogan", items=1, ratings_per_item=20, config={"suggesters": ["model-a", "model-b"], **config}
    )


def writer(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


def press(browser: WorkerBrowser, **typed: str) -> Any:
    """The button, with what is typed on the page."""
    url = reverse("work_suggest", args=[browser.token])
    data = {"form": browser.form(), "keywords": "storm", "slogan": "Rain, rain.", "used": "", **typed}
    return browser.client.post(url, data)


def html(browser: WorkerBrowser) -> str:
    return browser.get().content.decode()


def waits(browser: WorkerBrowser) -> bool:
    return 'id="pull-waiting"' in html(browser)


def asked(number: int, side: str) -> Suggestion:
    return Suggestion.objects.get(key__endswith=f"/{number}/{side}")


def still_missing(page: str) -> list[str]:
    """The lines about empty boxes that the page shows."""
    lines = re.findall(r'<li data-needs="\w+"( hidden)?><a href="#f-\w+">([^<]+)</a>', page)
    return [text for hidden, text in lines if not hidden]


def bring(number: int = 1, first: str = "Dry in any storm.", second: str = "It holds.") -> None:
    """The suggesters answer a press."""
    for side, text in (("1", first), ("2", second)):
        answer(asked(number, side), text)


def poll(browser: WorkerBrowser) -> dict[str, Any]:
    found: dict[str, Any] = browser.client.get(reverse("work_offers", args=[browser.token]), {"step": 0}).json()
    return found


def test_a_press_saves_what_is_typed_and_asks_each_suggester() -> None:
    browser = writer(slogan_study())

    response = press(browser, keywords="storm, dry", slogan="Let it")

    assert (response.status_code, response["Location"]) == (303, f"{browser.url}#pull")
    assert Pull.objects.get().typed == {"keywords": "storm, dry", "slogan": "Let it"}
    assert Draft.objects.get().answers["slogan"] == "Let it"
    prompts = set(Suggestion.objects.values_list("prompt", flat=True))
    assert prompts == {"Words: storm, dry. Slogan for A bakery that opens at four in the morning.: Let it"}
    assert Suggestion.objects.count() == 2


def test_the_page_can_be_used_while_suggestions_are_on_their_way() -> None:
    browser = writer(slogan_study())
    press(browser, keywords="storm", slogan="Let it")

    page = fields(browser.get())

    assert "2 suggestions are being written" in page.text
    assert (page.values["keywords"], page.values["slogan"]) == ("storm", "Let it")
    assert 'http-equiv="refresh"' not in html(browser), "a page that loads by itself would lose what is being typed"
    assert browser.send(slogan="Bread before dawn.").status_code == 303
    assert Step.objects.get().answers["slogan"] == "Bread before dawn."
    assert not Offer.objects.exists(), "what never came was never shown"


def test_suggestions_are_beside_the_box_and_the_history_stays() -> None:
    browser = writer(slogan_study())
    press(browser, keywords="storm")
    bring()
    assert "Dry in any storm." in html(browser)
    press(browser, keywords="rain", slogan="Dry")
    assert waits(browser)
    assert "Dry in any storm." in html(browser), "what came before stays in sight"
    bring(2, first="Rain is a rumour.", second="Stay in the dry.")

    text = fields(browser.get()).text

    assert text.index("Rain is a rumour.") < text.index("Dry in any storm.")
    assert "2. rain Dry" in text and "1. storm Rain, rain." in text
    assert [(row.number, row.side, row.text) for row in Offer.objects.order_by("number", "side")] == [
        (1, "1", "Dry in any storm."),
        (1, "2", "It holds."),
        (2, "1", "Rain is a rumour."),
        (2, "2", "Stay in the dry."),
    ]
    assert "model-" not in html(browser)


def test_a_second_press_while_one_waits_changes_nothing() -> None:
    browser = writer(slogan_study())
    press(browser, keywords="storm")

    assert press(browser, keywords="storm", slogan="And more").status_code == 303

    assert (Pull.objects.count(), Suggestion.objects.count()) == (1, 2)
    assert fields(browser.get()).values["slogan"] == "And more", "but what is typed is saved"


@pytest.mark.parametrize(
    ("typed", "missing"),
    [
        ({"keywords": "  ", "slogan": "\n"}, [KEYWORDS, SLOGAN]),
        ({"keywords": ""}, [KEYWORDS]),
        ({"slogan": " "}, [SLOGAN]),
    ],
)
def test_without_keywords_and_a_first_slogan_nothing_is_asked_for_and_the_page_says_what_is_missing(
    typed: dict[str, str], missing: list[str]
) -> None:
    browser = writer(slogan_study())
    assert still_missing(html(browser)) == [KEYWORDS, SLOGAN], "also before the first press"
    assert "Something is still missing" not in html(browser)

    response = press(browser, **typed)

    assert response["Location"] == f"{browser.url}?suggest=lacks#pull"
    page = browser.client.get(response["Location"]).content.decode()
    assert "Something is still missing" in page
    assert still_missing(page) == missing
    assert not Pull.objects.exists() and not Suggestion.objects.exists()
    assert Draft.objects.get().answers["keywords"] == typed.get("keywords", "storm").strip()


def test_once_both_are_there_nothing_is_missing() -> None:
    browser = writer(slogan_study())
    press(browser)
    bring()

    assert still_missing(html(browser)) == []
    assert "Something is still missing" not in browser.client.get(f"{browser.url}?suggest=lacks").content.decode()


def test_a_press_stored_before_both_were_needed_still_gets_its_suggestions() -> None:
    browser = writer(slogan_study())
    browser.get()
    Pull.objects.create(
        assignment=Assignment.objects.get(), step=0, number=1, typed={"keywords": "storm", "slogan": ""},
        asked_at=timezone.now(),
    )  # fmt: skip
    assert waits(browser)
    bring()

    assert "Dry in any storm." in html(browser)


def test_a_study_that_went_live_before_its_texts_existed_says_the_same() -> None:
    study = slogan_study()
    arm = study.arms.get()
    texts = {key: text for key, text in arm.shown_texts.items() if not key.startswith("pull.needs")}
    assert len(texts) == len(arm.shown_texts) - 3
    Arm.objects.filter(pk=arm.pk).update(shown_texts=texts)

    assert still_missing(html(writer(study))) == [KEYWORDS, SLOGAN]


def test_after_the_last_request_there_is_no_button_and_a_forged_press_asks_for_nothing() -> None:
    browser = writer(slogan_study(most_tries=1))
    press(browser, keywords="storm")
    bring()

    assert "pull-ask" not in html(browser)
    assert "You have used all requests for this slogan." in fields(browser.get()).text
    response = press(browser, keywords="more")
    assert "There are no more suggestions for this text" in fields(browser.client.get(response["Location"])).text
    assert Pull.objects.count() == 1


def test_late_suggestions_are_asked_again_then_come_from_the_pool_then_not_at_all() -> None:
    browser = writer(slogan_study())
    press(browser, keywords="storm")
    pass_time(6)
    assert "This is taking longer than usual" in fields(browser.get()).text
    pass_time(5)
    assert "From the pool of model-a." in html(browser)
    press(browser, keywords="rain")
    assert waits(browser)
    pass_time(6)
    assert waits(browser)
    pass_time(5)

    assert "No suggestion came this time." in fields(browser.get()).text

    sources = Offer.objects.order_by("number", "side").values_list("source", flat=True)
    assert list(sources) == ["pool", "pool", "none", "none"]
    assert browser.send(slogan="On my own.").status_code == 303


def test_the_poll_says_when_to_look_and_stores_nothing() -> None:
    browser = writer(slogan_study())
    assert poll(browser) == {"reload": True}
    press(browser, keywords="storm")
    assert poll(browser)["title"] == "2 suggestions are being written"
    bring()

    assert poll(browser) == {"reload": True}
    assert not Offer.objects.exists()


def test_used_suggestions_are_stored_with_the_page() -> None:
    browser = writer(slogan_study())
    press(browser, keywords="storm")
    bring()
    browser.get()
    press(browser, keywords="rain")
    bring(2, first="Rain is a rumour.")
    browser.get()

    assert browser.send(keywords="rain", used="1/1 2/1 1/1", slogan="Dry in any storm, always.").status_code == 303

    found = {(row.number, row.side): (row.chosen, row.switches) for row in Offer.objects.all()}
    assert found == {(1, "1"): (True, 1), (1, "2"): (False, 0), (2, "1"): (False, 1), (2, "2"): (False, 0)}


def test_a_suggestion_that_was_copied_by_hand_counts_as_used() -> None:
    """As somebody without JavaScript uses one."""
    browser = writer(slogan_study())
    press(browser, keywords="storm")
    bring()
    browser.get()

    browser.send(keywords="storm", slogan="  It holds. ")

    assert Offer.objects.get(chosen=True).side == "2"


def test_a_whole_hit_becomes_ratings() -> None:
    study = slogan_study(
        statements=[{"topic": "catchy", "question": "Catchy."}],
        suggestion_statements=[{"topic": "suggestions_liked", "question": "Liked."}],
        survey_questions=[{"topic": "difficulty", "question": "Difficult?"}],
    )
    browser = writer(study)
    press(browser, keywords="storm")
    bring(first="<b>Dry</b> in any storm.")
    assert "&lt;b&gt;Dry&lt;/b&gt;" in html(browser)
    browser.send(keywords="storm", used="1/1", slogan="<b>Dry</b> in any storm!")
    assert "&lt;b&gt;Dry&lt;/b&gt;" in html(browser), "the page after it shows the slogan"
    browser.send(catchy="6")
    browser.send(enjoyed="7", suggestions_liked="5", use_again="3", difficulty="Nothing was.")

    rows = {row.question: row.text or row.value for row in Rating.objects.all()}
    assert rows == {
        "slogan": "<b>Dry</b> in any storm!",
        "keywords": "storm",
        "used": 1,
        "tries": 1,
        "source": 1,
        "suggested": "<b>Dry</b> in any storm.",
        "fate": 2,
        "catchy": 6,
        "enjoyed": 7,
        "suggestions_liked": 5,
        "use_again": 3,
        "difficulty": "Nothing was.",
    }


def test_the_export_of_offers_has_what_was_typed_at_each_press() -> None:
    study = slogan_study()
    browser = writer(study)
    for number, keywords in enumerate(("storm", "=rain"), start=1):
        press(browser, keywords=keywords, slogan="Let it")
        bring(number)
        browser.get()

    rows = read_jsonl(exported(study, "offers", "jsonl"))

    assert [(row["number"], json.loads(str(row["typed"]))) for row in rows] == [
        (number, {"keywords": keywords, "slogan": "Let it"})
        for number, keywords in ((1, "storm"), (1, "storm"), (2, "=rain"), (2, "=rain"))
    ]


# --- twice, at once, too late, forged ---


def test_a_press_for_a_step_that_was_sent_asks_for_nothing() -> None:
    browser = writer(slogan_study())
    form = browser.form()
    browser.send(slogan="Bread before dawn.")

    url = reverse("work_suggest", args=[browser.token])
    response = browser.client.post(url, {"form": form, "keywords": "late"})

    assert response["Location"] == f"{browser.url}?already"
    assert not Pull.objects.exists()


def test_a_press_on_a_page_without_the_button_asks_for_nothing() -> None:
    browser = writer(slogan_study(suggestions=False))

    response = press(browser, keywords="storm")

    assert response["Location"] == f"{browser.url}?already"
    assert not Suggestion.objects.exists()


@pytest.mark.parametrize("method", ["get", "head"])
def test_the_address_of_the_button_leads_to_the_page(method: str) -> None:
    browser = writer(slogan_study())

    response = getattr(browser.client, method)(reverse("work_suggest", args=[browser.token]))

    assert (response.status_code, response["Location"]) == (303, browser.url)


def test_forged_and_foreign_presses_are_refused() -> None:
    study = slogan_study()
    mine, other = writer(study), writer(study)
    url = reverse("work_suggest", args=[mine.token])

    assert mine.client.post(url, {"form": "forged"}).status_code == 404
    assert mine.client.post(reverse("work_suggest", args=["forged"]), {"form": mine.form()}).status_code == 404
    mine.client.post(url, {"form": other.form(), "keywords": "storm", "slogan": "Rain"})
    assert not Pull.objects.exists(), "the form belongs to somebody else"


def test_ten_thousand_characters_are_saved_and_asked_about() -> None:
    browser = writer(slogan_study())
    long = "x" * 10_000

    assert press(browser, keywords=long, slogan="y" * (MAX_CHARS + 5)).status_code == 303

    typed = Pull.objects.get().typed
    assert (len(typed["keywords"]), len(typed["slogan"])) == (10_000, MAX_CHARS)
    assert fields(browser.get()).values["keywords"] == long


def test_a_missing_suggester_never_stops_a_writer() -> None:
    study = slogan_study()
    Suggester.objects.filter(name="model-b").update(name="gone")
    browser = writer(study)
    press(browser, keywords="storm")
    answer(Suggestion.objects.get(), "Dry in any storm.")

    assert "Dry in any storm." in html(browser)
    assert sorted(Offer.objects.values_list("source", flat=True)) == ["live", "none"]


def test_two_suggestions_from_one_suggester_are_two_requests() -> None:
    browser = writer(slogan_study(suggesters=["model-a", "model-a", "model-a"]))
    press(browser, keywords="storm")

    seeds = set(Suggestion.objects.values_list("seed", flat=True))
    assert len(seeds) == 3


def test_a_press_is_never_changed() -> None:
    browser = writer(slogan_study())
    press(browser, keywords="storm")

    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Pull.objects.update(typed={})
