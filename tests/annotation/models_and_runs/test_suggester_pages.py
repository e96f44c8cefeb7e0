"""Suggesters in the console: made, tried, stopped, their pools filled; and who waits for them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import Membership
from generation.models import PoolText, Suggester, Suggestion
from generation.registry.registration import ensure_embedded_model, retire_model
from generation.suggestions.suggester_uses import hold_suggesters
from generation.suggestions.weights import note_weights
from tests.annotation.console_helpers import make_user, signed_in
from tests.annotation.offers_helpers import LAST, PICKED, TEXTS, answer, answer_all, is_waiting, story_study, writer
from tests.annotation.pages import fields
from tests.factories import make_study
from tests.generation.support.finished_runs import make_run
from tests.generation.support.toy_suggestions import make_model, make_pool, make_suggester

pytestmark = pytest.mark.django_db
LIST, NEW = "/console/suggesters/", "/console/suggesters/new/"
FORM = {
    "name": "model-a", "model": "toy", "decoder": "top_p=0.9", "template": "{story}", "priming": "",
    "least_characters": "20", "most_characters": "260", "one_sentence": "on", "max_new_tokens": "40",
    "wait_seconds": "8", "tries": "3", "word_list": "",
}  # fmt: skip


@pytest.fixture
def ana() -> Client:
    return signed_in(make_user("ana"))


def text(client: Client, url: str, **options: Any) -> str:
    response = client.get(url, **options)
    assert response.status_code == 200
    return fields(response).text


def mine(name: str = "model-a", **values: Any) -> Suggester:
    return make_suggester(name, created_by="ana", **values)


def test_an_empty_list_says_what_a_suggester_is(ana: Client) -> None:
    page = text(ana, LIST)
    assert "No suggesters yet" in page
    assert "Nobody is waiting right now." in page
    assert "No process is writing suggestions" in page


def test_a_suggester_is_made_by_a_form(ana: Client) -> None:
    make_model()

    assert ana.post(NEW, FORM).status_code == 302

    made = Suggester.objects.get()
    assert (made.name, made.decoder, made.wait_seconds, made.created_by) == ("model-a", "top_p=0.9", 8.0, "ana")
    assert (made.limits["max_new_tokens"], made.limits["stop"], made.limits["min_words"]) == (40, "sentence", 4)
    page = text(ana, f"{LIST}model-a/")
    assert "20 to 260 characters" in page
    assert "The pool is empty" in page


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"decoder": "tempreature=1"}, "tempreature"),
        ({"template": "once upon"}, "It has no field"),
        ({"least_characters": "300"}, "the minimum cannot exceed the maximum"),
        ({"name": "taken"}, "There is already a suggester taken."),
        ({"model": "gone"}, "Select a valid choice"),
        ({"wait_seconds": "0"}, "greater than or equal to 0.5"),
    ],
)
def test_errors_are_shown_and_what_was_typed_stays(ana: Client, change: dict[str, str], told: str) -> None:
    mine("taken")

    response = ana.post(NEW, FORM | {"priming": "Once there was."} | change)

    assert response.status_code == 422
    page = fields(response)
    assert told in page.text
    assert page.values["priming"].strip() == "Once there was."
    assert Suggester.objects.count() == 1


def test_the_list_shows_pools_waits_and_the_live_studies_one_may_see(ana: Client) -> None:
    suggester = mine()
    make_pool(suggester, "One text.", "Another text.")
    study, hidden = make_study(slug="seen"), make_study(slug="hidden")
    Membership.objects.create(study=study, user_id=int(ana.session["_auth_user_id"]), role="viewer")
    for each in (study, hidden):
        hold_suggesters(names=["model-a"], user=each.slug)

    page = text(ana, LIST)

    assert "seen, 1 other study" in page
    assert "hidden" not in page
    assert "seen, 1 other study" in text(ana, f"{LIST}model-a/")


def test_writers_who_wait_are_counted(ana: Client) -> None:
    study = story_study()
    for _ in range(2):
        assert is_waiting(writer(study))

    page = text(ana, f"{LIST}waiting/")

    assert page.count("2 writers, the first for") == 2


def test_trying_shows_the_text_when_it_comes(ana: Client) -> None:
    mine()
    response = ana.post(f"{LIST}model-a/try/", {"story": "It rained on Monday."})
    url = response["Location"]
    assert "is being written" in text(ana, url)

    answer(Suggestion.objects.get(), "So we stayed at home all day.")

    assert "So we stayed at home all day." in text(ana, url)
    assert "So we stayed at home all day." in text(ana, url, headers={"HX-Request": "true"})
    assert Suggestion.objects.get().prompt == "It rained on Monday."


def test_nobody_else_reads_what_somebody_tried(ana: Client) -> None:
    mine()
    url = ana.post(f"{LIST}model-a/try/", {"story": "My secret draft."})["Location"]

    for other in (make_user("ben"), make_user("root", is_superuser=True)):
        assert signed_in(other).get(url).status_code == 404
        assert signed_in(other).get(url, headers={"HX-Request": "true"}).status_code == 404


def test_a_writers_suggestion_cannot_be_read_as_one_that_was_tried(ana: Client) -> None:
    assert is_waiting(writer(story_study()))
    row = Suggestion.objects.select_related("suggester").first()
    assert row is not None

    assert ana.get(f"{LIST}{row.suggester.name}/try/{row.pk}/").status_code == 404


def test_a_pool_is_filled_from_a_file(ana: Client) -> None:
    mine()
    file = SimpleUploadedFile("p.csv", b"round,text\n1,The lights went out at nine.\n0,Short.\n")

    response = ana.post(f"{LIST}model-a/pool/", {"file": file}, follow=True)

    assert list(PoolText.objects.values_list("round", "text")) == [(1, "The lights went out at nine.")]
    page = fields(response).text
    assert "1 text added, 0 already in the pool." in page
    assert "1 text not used: shorter than 20 characters." in page


def test_a_pool_is_filled_from_a_run_of_the_same_model(ana: Client) -> None:
    run = make_run({"top_p=0.9": [["They walked home in the rain."]]}, name="lines")
    run.created_by = "ana"
    run.save()
    model = run.samples.first().model  # type: ignore[union-attr]
    mine(model=model.name, decoder="top_p=0.9")

    assert ana.post(f"{LIST}model-a/pool/", {"run": "lines"}).status_code == 302
    assert PoolText.objects.get().text == "They walked home in the rain."


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"text\n\xff\xfe", "It is not UTF-8 text."),
        (b"words\nx\n", "It has no column text"),
        (b"round,text\nfirst,The lights went out at nine.\n", "Line 2, column round: It is 'first'."),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_the_servers_paths(
    ana: Client, content: bytes, told: str
) -> None:
    mine()

    response = ana.post(f"{LIST}model-a/pool/", {"file": SimpleUploadedFile("p.csv", content)})

    assert response.status_code == 422
    page = fields(response).text
    assert told in page
    assert "/tmp" not in page and "pool-" not in page  # noqa: S108 - what must not be shown


def test_neither_and_both_sources_are_refused(ana: Client) -> None:
    mine()
    response = ana.post(f"{LIST}model-a/pool/")
    assert response.status_code == 422
    assert "Choose a run or a file." in fields(response).text


def test_a_suggester_is_changed_and_stopped_by_who_made_it(ana: Client) -> None:
    mine()
    change = {name: value for name, value in FORM.items() if name != "name"} | {"decoder": "greedy"}
    assert ana.post(f"{LIST}model-a/change/", change).status_code == 302
    assert ana.post(f"{LIST}model-a/active/").status_code == 302

    found = Suggester.objects.get()
    assert (found.decoder, found.active) == ("greedy", False)


def test_a_suggester_in_use_refuses_the_change_and_names_the_study(ana: Client) -> None:
    mine()
    hold_suggesters(names=["model-a"], user="stories")
    change = {name: value for name, value in FORM.items() if name != "name"} | {"decoder": "greedy"}

    response = ana.post(f"{LIST}model-a/change/", change)

    assert response.status_code == 422
    assert "Suggester model-a is used by stories, which is live." in fields(response).text
    assert Suggester.objects.get().decoder == "ancestral"


@pytest.mark.parametrize("path", ["change/", "active/", "pool/"])
def test_others_see_and_try_a_suggester_but_do_not_change_it(path: str) -> None:
    mine()
    other, root = signed_in(make_user("ben")), signed_in(make_user("root", is_superuser=True))

    assert text(other, f"{LIST}model-a/")
    assert other.post(f"{LIST}model-a/{path}", {}).status_code == 404
    assert root.post(f"{LIST}model-a/{path}", {}).status_code in (302, 422)


def test_a_submission_shows_its_suggestions_with_what_became_of_them() -> None:
    root, study = signed_in(make_user("root", is_superuser=True)), story_study()
    browser = writer(study)
    assert is_waiting(browser)
    answer_all()
    browser.send(**PICKED | {"pick_history": "1 2 1"})
    browser.send(**LAST)

    page = text(root, reverse("console_submission", args=[study.slug, study.submissions.get().pk]))

    assert "Suggestions shown" in page
    assert "chosen, switched to once" in page
    assert TEXTS["2"] in page


@pytest.mark.parametrize("path", ["", "waiting/", "new/", "model-a/", "model-a/change/"])
def test_strangers_are_sent_to_the_sign_in_page(path: str) -> None:
    mine()
    response = Client().get(f"{LIST}{path}")
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("console_login"))


def test_the_settings_of_a_writing_study_offer_the_active_suggesters(ana: Client) -> None:
    settings = reverse("console_new_settings", args=["cyoa"])
    assert "There are no suggesters on this server yet." in text(ana, settings)
    make_model()
    mine("nucleus")
    mine("stopped", active=False)
    page = ana.get(settings).content.decode()
    assert "Suggesters on this server: nucleus." in page
    assert '<datalist id="suggesters"><option value="nucleus"></datalist>' in page
    assert 'list="suggesters"' in page
    assert (
        "suggesters" not in ana.get(reverse("console_new_settings", args=["likert"])).content.decode().split("<h1")[1]
    )


def test_the_model_that_comes_with_the_server_can_be_chosen_at_once(ana: Client) -> None:
    page = ana.get(NEW).content.decode()
    assert '<option value="smollm2-135m"' in page
    assert reverse("console_models") in page.partition('for="id_model"')[2].partition("</select>")[0]

    assert ana.post(NEW, FORM | {"model": "smollm2-135m"}).status_code == 302

    made = Suggester.objects.select_related("model").get()
    assert (made.model.name, made.model.source) == ("smollm2-135m", "embedded")
    assert ana.get(NEW).content.decode().count('<option value="smollm2-135m"') == 1


def test_the_model_that_comes_with_the_server_is_not_offered_once_it_is_retired(ana: Client) -> None:
    model = ensure_embedded_model()
    retire_model(model_id=model.pk)
    assert '<option value="smollm2-135m"' not in ana.get(NEW).content.decode()
    assert ana.post(NEW, FORM | {"model": "smollm2-135m"}).status_code == 422


def changed_model(name: str = "model-a") -> Suggester:
    """A suggester whose model had other files when a process opened it again."""
    suggester = mine(name)
    for commit in ("a" * 40, "b" * 40):
        note_weights(suggester_id=suggester.pk, now={"commit": commit})
    return suggester


def test_the_page_says_that_the_model_changed_and_lets_its_owner_accept_that(ana: Client) -> None:
    changed_model()
    url = f"{LIST}model-a/"
    page = text(ana, url)
    assert "The model has changed" in page
    assert "a" * 40 in page and "b" * 40 in page
    assert "Model changed" in text(ana, LIST)
    bob = signed_in(make_user("bob"))
    assert f'action="{url}weights/"' not in bob.get(url).content.decode()
    assert bob.post(f"{url}weights/").status_code == 404

    assert ana.post(f"{url}weights/").status_code == 302

    assert "The model has changed" not in text(ana, url)
    assert Suggester.objects.get().origin == {"commit": "b" * 40}


def test_a_changed_model_of_a_live_study_cannot_be_accepted(ana: Client) -> None:
    changed_model()
    hold_suggesters(names=["model-a"], user="stories")
    url = f"{LIST}model-a/"
    assert "This is possible once" in text(ana, url)
    assert "Bring the old files back, or close the study first." in fields(ana.post(f"{url}weights/", follow=True)).text
    assert Suggester.objects.get().origin == {"commit": "a" * 40}
