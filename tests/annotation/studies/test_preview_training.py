"""Trying the training in the console: the workers' pages, judged as theirs, and nothing stored with the study."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study, TriedPage
from tests.annotation.console_helpers import as_role
from tests.annotation.pages import fields
from tests.annotation.training_helpers import RIGHT, WRONG, training_study
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def address(study: Study) -> str:
    return reverse("console_training_preview", args=[study.slug])


def answer(client: Client, study: Study, answers: dict[str, str]) -> str:
    """Sends the page that is due; the page about the answers, or the same one with its errors."""
    reply = client.post(address(study), {"form": "training", **answers})
    if reply.status_code == 303:
        reply = client.get(reply["Location"].partition("#")[0])
    return fields(reply).text


def shown(client: Client, study: Study) -> str:
    return fields(client.get(address(study))).text


def test_a_round_that_fails_and_one_that_passes() -> None:
    study = training_study(settings={"training_show_right": True})
    client = as_role("viewer", study)
    first = shown(client, study)
    assert "Buzz buzz buzz." in first
    assert "You need 2 of 2 right to start the task. This is try 1 of 2." in first
    assert "Nothing is kept with the study." in first
    explained = answer(client, study, WRONG)
    assert "Not all of your answers were right" in explained
    assert "Nothing happens." in explained
    assert "An owl sold maps of the wind." in shown(client, study)
    assert "Right: 1 of 2. Needed: 2." in answer(client, study, RIGHT["t2"])
    assert "This is your last try." in shown(client, study)
    answer(client, study, RIGHT["t1"])
    assert "You have passed the practice." in answer(client, study, RIGHT["t2"])
    assert "This is the end of the training" in shown(client, study)
    assert not TriedPage.objects.exists()


def test_it_begins_again_when_asked_and_when_the_study_changes() -> None:
    study = training_study()
    client = as_role("viewer", study)
    answer(client, study, RIGHT["t1"])
    assert "An owl sold" in shown(client, study)
    assert "Buzz buzz buzz." in fields(client.get(address(study) + "?begin", follow=True)).text
    answer(client, study, RIGHT["t1"])
    Study.objects.filter(pk=study.pk).update(title="Another title")
    assert "Buzz buzz buzz." in shown(client, study)


def test_a_missing_answer_is_named_and_what_was_given_stays() -> None:
    study = training_study()
    client = as_role("viewer", study)
    page = client.post(address(study), {"form": "training", "lively": "2"}).content.decode()
    assert "Please check one answer. Nothing is lost." in page
    [chosen] = re.findall(r"<input[^>]*\bchecked\b[^>]*>", page)
    assert 'name="lively"' in chosen and 'value="2"' in chosen
    assert "Buzz buzz buzz." in shown(client, study)


def test_the_preview_leads_there_and_a_study_without_training_has_none() -> None:
    study = training_study()
    client = as_role("viewer", study)
    for name in ("console_preview", "console_questionnaires"):
        assert address(study) + "?begin" in client.get(reverse(name, args=[study.slug])).content.decode()
    plain = make_study()
    client = as_role("viewer", plain)
    assert client.get(address(plain)).status_code == 404
    assert address(plain) not in client.get(reverse("console_preview", args=[plain.slug])).content.decode()
