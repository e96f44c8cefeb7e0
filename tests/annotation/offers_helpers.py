"""A writing study whose suggesters answer when the test says so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Offer, Study
from generation.models import Suggestion
from generation.suggestions import serving
from tests.annotation.pages import WorkerBrowser
from tests.factories import make_participant, make_study
from tests.generation.support.toy_suggestions import make_pool, make_suggester

FIRST = "The door was open when we came home."
TEXTS = {"1": "Behind it stood a very old piano.", "2": "The wind pushed it shut again at once."}
PICKED = {"pick": "1", "pick_history": "1", "turn": f"{TEXTS['1']} It was out of tune."}
LAST = dict.fromkeys(("satisfied", "collaborative", "useful", "connected", "inspiring"), "4") | {
    "why_chosen": "It was the stranger of the two.",
    "looked_for": "Something that I did not expect.",
}


def story_study(*, rounds: int = 1, pool: bool = True, record_edits: bool = False, **values: Any) -> Study:
    """Two suggesters, model-a and model-b, with pools for every round."""
    config = {"rounds": rounds, "record_edits": record_edits}
    for name in ("model-a", "model-b"):
        suggester = make_suggester(name, wait_seconds=10.0)
        if pool:
            make_pool(suggester, *(f"A line from the pool of {name}, number {at}." for at in range(1, rounds + 1)))
    return make_study(task_type="cyoa", items=1, ratings_per_item=20, config=config, **values)


def writer(study: Study, *, begun: bool = True) -> WorkerBrowser:
    """Somebody on the first page, or with ``begun`` on the second, which waits for suggestions."""
    browser = WorkerBrowser(make_participant(study=study))
    if begun:
        assert browser.send(turn=FIRST).status_code == 303
    return browser


def asked(side: str, *, again: bool = False) -> Suggestion:
    """The newest request for a side."""
    found = Suggestion.objects.filter(key__endswith=f"/{side}{'/again' if again else ''}")
    return found.latest("pk")


def answer(row: Suggestion, text: str) -> None:
    """Answer as a model that wrote ``text``; empty: nothing usable."""
    made = {"model": {"name": "toy"}, "decoder": "ancestral", "seed": row.seed + 1}
    result = serving.Result(row.pk, text, "" if text else "Nonsense.", 1, raw_text=text, parameters=made)
    Suggestion.objects.filter(pk=row.pk).update(leased_by="test")
    serving.store(name="test", results=[result], now=timezone.now())


def answer_all(texts: Mapping[str, str] = TEXTS) -> None:
    for side, text in texts.items():
        answer(asked(side), text)


def pass_time(seconds: float) -> None:
    """Make all requests this much older."""
    for row in Suggestion.objects.all():
        Suggestion.objects.filter(pk=row.pk).update(
            asked_at=row.asked_at - timedelta(seconds=seconds), deadline=row.deadline - timedelta(seconds=seconds)
        )


def is_waiting(browser: WorkerBrowser) -> bool:
    return 'id="waiting"' in browser.get().content.decode()


def shown_texts(browser: WorkerBrowser) -> list[str]:
    """The suggestions on the page, in their order there."""
    html = browser.get().content.decode()
    return [part.partition("</span>")[0] for part in html.split('class="line" dir="auto">')[1:]]


def offers(study: Study) -> dict[str, Offer]:
    """The offers of the newest page that showed any, by side."""
    rows = list(Offer.objects.filter(study=study).order_by("-step"))
    return {row.side: row for row in rows if row.step == rows[0].step}


def assignment_of(study: Study) -> Assignment:
    return Assignment.objects.get(hit__study=study)


def poll(browser: WorkerBrowser, step: int = 1) -> dict[str, Any]:
    response = browser.client.get(reverse("work_offers", args=[browser.token]), {"step": step})
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found
