"""The workers' site in the language of the browser, or in the one that a worker chose."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from common import languages
from marketplace.services.accounts import sign_in_links
from marketplace.services.hits import assignments
from marketplace.services.refusals import Refusal
from tests.marketplace.support.work_site import (
    html_question,
    make_assignment,
    make_hit,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-CH, de;q=0.9, en;q=0.8"}


def test_the_site_speaks_the_browsers_language() -> None:
    client = signed_in(make_worker())
    make_hit(title="Sort replies", reward=Decimal("1.50"))
    page = client.get(reverse("market_home"), headers=GERMAN).content.decode()
    assert '<html lang="de">' in page and "<h1>Aufgaben</h1>" in page and "1,50 $" in page
    assert "1 Gruppe von Aufgaben" in page and "Sort replies" in page
    assert '"Five minutes left.": "Noch f\\u00fcnf Minuten."' in page
    english = client.get(reverse("market_home")).content.decode()
    assert "<h1>Tasks</h1>" in english and "$1.50" in english and 'id="words"' not in english
    assert languages.spoken_code() == "en"


def test_a_choice_is_kept_and_counts_more_than_the_browser() -> None:
    client = Client()
    address = reverse("market_sign_in")
    response = client.post(reverse("market_language"), {"language": "ja", "next": address})
    assert response.status_code == 302 and response["Location"] == address
    page = client.get(address, headers=GERMAN)
    assert '<html lang="ja">' in page.content.decode() and "ログイン" in page.content.decode()
    assert {"Accept-Language", "Cookie"} <= set(page["Vary"].split(", "))


@pytest.mark.parametrize("language", ["", "tlh", "de\n"])
def test_a_language_that_does_not_exist_changes_nothing(language: str) -> None:
    client = Client()
    response = client.post(reverse("market_language"), {"language": language, "next": "https://elsewhere.example/"})
    assert response["Location"] == reverse("market_home") and "market_language" not in response.cookies


def test_forms_and_refusals_are_worded_too() -> None:
    worker = make_worker()
    client = signed_in(worker)
    page = client.post(reverse("market_account"), {"email": "nobody", "new_password": "short"}, headers=GERMAN)
    text = page.content.decode()
    assert "E-Mail-Adresse" in text and "Neues Passwort" in text
    assert "Bitte gültige E-Mail-Adresse eingeben." in text  # Django's own words
    assert "Dieses Passwort ist zu kurz. Es muss mindestens 10 Zeichen enthalten." in text
    done = make_assignment(worker, question=html_question("?"))
    assignments.submit(assignment_id=done.assignment_id, worker=worker, answers={"mood": "good"})
    refused = client.post(
        reverse("market_accept", args=[done.hit.hit_type.type_id]), follow=True, headers=GERMAN
    ).content.decode()
    assert "Von diesen Aufgaben gibt es keine mehr für Sie." in refused


def test_the_wire_stays_in_english() -> None:
    """A service words a refusal in the language of the page that called it, and in English for the API."""
    worker = make_worker()
    done = make_assignment(worker, question=html_question("?"))
    assignments.submit(assignment_id=done.assignment_id, worker=worker, answers={"mood": "good"})
    with languages.speaking("de"), pytest.raises(Refusal, match="Sie haben diese Aufgabe schon erledigt"):
        assignments.accept(worker=worker, hit=done.hit)
    with pytest.raises(Refusal, match="You have already done this task"):
        assignments.accept(worker=worker, hit=done.hit)


def test_a_link_by_e_mail_is_in_the_language_in_which_it_was_requested() -> None:
    worker = make_worker()
    assert worker.user is not None
    worker.user.email = "worker@example.org"
    worker.user.save()
    sign_in_links.send_links("worker@example.org", "https://example.org", "de")
    (message,) = mail.outbox
    assert message.subject == "Ihr Link zum Anmelden"
    assert "Er funktioniert einmal, 15 Minuten lang." in message.body
